"""What `podium spark` says before it starts Spark; the runs are in tests/spark_streaming."""

import pytest


@pytest.mark.parametrize("job", [("sopt-bases", "--once"), ("backfill", "--parquet", "out")])
def test_missing_topics_are_named_with_what_to_run(podium, undeclared, job):
    ended = podium("spark", *job, *undeclared.options)
    assert ended.code == 1
    assert f"topic {undeclared.topic('subscriptions')} does not exist" in ended.err
    assert f"podium topics create --collection {undeclared.name}" in ended.err


def test_a_broker_that_does_not_answer_is_unreachable(podium, undeclared, monkeypatch):
    monkeypatch.setattr("spark_streaming.topic_admin._REPLY_S", 2.0)
    ended = podium(
        "spark", "sopt-bases", "--collection", undeclared.file, "--brokers", "127.0.0.1:1"
    )
    assert ended.code == 4
    assert "Kafka does not answer" in ended.err


def test_other_shards_than_the_topic_has_are_refused(podium, topics, tmp_path):
    (tmp_path / "three").mkdir()
    other = tmp_path / "three" / f"{topics.name}.yaml"
    other.write_text(f"name: {topics.name}\nkind: ranked\nattributes: [age]\nshards: 3\n")
    ended = podium("spark", "sopt-bases", "--collection", str(other), "--brokers", topics.brokers)
    assert ended.code == 1
    assert "got 2 partitions, expected 3" in ended.err
    assert "declare shards: 2" in ended.err


@pytest.mark.parametrize("kind", ["boolean", "spatial_text"])
def test_a_kind_without_bases_is_refused(podium, undeclared, tmp_path, kind):
    (tmp_path / "other").mkdir()
    other = tmp_path / "other" / "places.yaml"
    other.write_text(f"name: places\nkind: {kind}\n")
    ended = podium(
        "spark", "sopt-bases", "--collection", str(other), "--brokers", undeclared.brokers
    )
    assert ended.code == 2
    assert f"got kind {kind}, expected one of ranked, relaxed: sopt-bases is for" in ended.err
