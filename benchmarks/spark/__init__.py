"""The Spark job that builds bases, measured: see `__main__`.

    lab         sizes, topics full of subscriptions, runs of the job
    run         one session and one job in it, as a process of its own
    rebuild     time by subscriptions, shards and executors
    batches     what a micro-batch costs that has next to nothing to do
    baselines   the same work for one shard without Spark, in one thread

`python -m benchmarks.spark [--quick] [--only NAME] [--out DIR]`
"""
