"""Structured Streaming jobs beside the fleet.

    jobs            how a job is started, by `podium spark` or by `spark-submit`
    collection_io   all reading and writing of DataFrames, and where checkpoints lie
    driver/         code that runs in the driver: what a job does, batch by batch
    tasks/          code that runs in Spark's tasks: functions of DataFrames and Arrow batches
    session         the Spark session; `package` is the zip by which executors get our code
    running         around a query: metrics, signals, what its failure means
    kafka_options   the `kafka` settings for Spark's source and for clients in tasks

`jobs` imports `driver`, `driver` imports `collection_io` and `tasks`; none imports back.
"""
