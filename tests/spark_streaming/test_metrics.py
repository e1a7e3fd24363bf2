import time

from prometheus_client import REGISTRY

from spark_streaming.metrics import ProgressMetrics


def sample(name, **labels):
    return REGISTRY.get_sample_value(name, labels)


def test_a_job_publishes_rate_time_lag_refusals_and_the_age_of_its_bases(spark, make_stage):
    stage = make_stage(shards=1)
    job = {"collection": stage.name, "job": "sopt-bases"}
    listener = ProgressMetrics(spark.streams)
    spark.streams.addListener(listener)
    try:
        stage.send_random(1, count=40)
        stage.send("a", b"nonsense")
        stage.flush()
        stage.run(spark)
        deadline = time.monotonic() + 30  # Spark tells its listeners a little later
        while not sample("podium_spark_batch_seconds_count", **job):
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        spark.streams.removeListener(listener)
    assert sample("podium_spark_batch_seconds_count", **job) == 1
    assert sample("podium_spark_batch_seconds_sum", **job) > 0
    assert sample("podium_spark_offsets_behind", **job) == 0
    assert sample("podium_spark_refused_total", topic="subscriptions", **job) == 1
    assert sample("podium_spark_dead_letters_total", topic="subscriptions", **job) == 1
    shard = {"collection": stage.name, "shard": "0"}
    (base,) = stage.announced()[0]
    assert sample("podium_spark_bases_total", **shard) == 1
    assert sample("podium_spark_base_bytes", **shard) == base.trees[0].size
    assert 0 <= sample("podium_spark_base_age_seconds", **shard) < 60
