"""What `podium spark` says before it starts Spark; the runs are in tests/spark_streaming."""

import pytest

from topics.kinds import KINDS


@pytest.mark.parametrize("job", [("sopt-bases", "--once"), ("backfill", "--parquet", "out")])
def test_missing_topics_are_named_with_what_to_run(podium, undeclared, job):
    ended = podium("spark", *job, *undeclared.options)
    assert ended.code == 1
    assert f"topic {undeclared.topic('subscriptions')} does not exist" in ended.err
    assert f"podium topics create --collection {undeclared.name}" in ended.err


def test_a_broker_that_does_not_answer_is_unreachable(podium, undeclared, monkeypatch):
    monkeypatch.setattr("spark_streaming.driver.topic_admin._REPLY_S", 2.0)
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


@pytest.fixture
def collection_of(undeclared, tmp_path):
    """Options that name a collection of a kind, whose topics do not exist."""

    def options(kind):
        (tmp_path / "other").mkdir()
        other = tmp_path / "other" / "places.yaml"
        other.write_text(f"name: places\nkind: {kind}\n")
        return "--collection", str(other), "--brokers", undeclared.brokers

    return options


def test_a_kind_without_bases_is_refused(podium, collection_of):
    ended = podium("spark", "sopt-bases", *collection_of("boolean"))
    assert ended.code == 2
    assert "got kind boolean, expected one of ranked, relaxed: sopt-bases is for" in ended.err


def test_a_collection_that_a_worker_paints_is_refused(podium, collection_of):
    ended = podium("spark", "paint-batch", *collection_of("range_topk"))
    assert ended.code == 2
    assert "collection places: painter: live; a worker paints it, and no job may" in ended.err
    assert "set painter: batch" in ended.err


def test_a_kind_without_lists_is_refused(podium, collection_of):
    ended = podium("spark", "paint-batch", *collection_of("boolean"))
    assert ended.code == 2
    assert "got kind boolean, expected one of range_topk: paint-batch is for" in ended.err


def test_a_collection_named_twice_is_refused(podium, collection_of):
    named = collection_of("range_topk")
    ended = podium("spark", "paint-batch", *named, *named[:2])
    assert ended.code == 2
    assert "collection places: named more than once" in ended.err


def test_several_collections_are_all_looked_at_before_spark_starts(podium, undeclared, tmp_path):
    for name, declared in {"lists": "painter: batch", "places": "painter: live"}.items():
        (tmp_path / f"{name}.yaml").write_text(f"name: {name}\nkind: range_topk\n{declared}\n")
    lists, places = (
        ("--collection", str(tmp_path / f"{name}.yaml")) for name in ("lists", "places")
    )
    brokers = "--brokers", undeclared.brokers
    ended = podium("spark", "paint-batch", *lists, *places, *brokers)
    assert ended.code == 1
    assert "topic podium.lists.objects does not exist" in ended.err
    ended = podium("spark", "paint-batch", *places, *lists, *brokers)
    assert ended.code == 2
    assert "collection places: painter: live" in ended.err


def test_a_kind_that_does_not_exist_is_refused(podium, collection_of):
    ended = podium("spark", "sopt-bases", *collection_of("spatial"))
    assert ended.code == 2
    assert (
        "kind: got 'spatial', expected one of ranked, relaxed, boolean, spatial_text" in ended.err
    )


def test_a_backfill_is_for_every_kind_that_the_fleet_matches(podium, collection_of):
    ended = podium("spark", "backfill", "--parquet", "out", *collection_of("boolean"))
    assert ended.code == 1
    assert "topic podium.places.subscriptions does not exist" in ended.err


def test_a_backfill_of_a_kind_that_has_no_events_is_refused(podium, collection_of, monkeypatch):
    eventless = KINDS["boolean"]._replace(topics=("subscriptions", "subscriptions.dlq"))
    monkeypatch.setitem(KINDS, "boolean", eventless)
    ended = podium("spark", "backfill", "--parquet", "out", *collection_of("boolean"))
    assert ended.code == 2
    assert (
        "got kind boolean, expected one of ranked, relaxed, spatial_text: backfill is for"
        in ended.err
    )
