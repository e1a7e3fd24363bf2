import pytest

from topics.catalogue import HOUR_MS, TOPICS, Layout, TopicSpec, catalogue, topic_name
from topics.kinds import LIST_TOPICS, MATCHING_TOPICS

MIB = 1024 * 1024


@pytest.fixture
def by_topic():
    layout = Layout(
        "podium",
        "ads",
        shards=3,
        zones=6,
        events_partitions=5,
        partials_partitions=7,
        matches_partitions=11,
        events_retention_ms=13,
        matches_retention_ms=17,
        frames_retention_ms=19,
        dead_letters_retention_ms=23,
        compaction_lag_ms=29,
        unsubscriptions_retention_ms=31,
    )
    return {
        spec.name.removeprefix("podium.ads."): spec for spec in catalogue(layout, tuple(TOPICS))
    }


def test_every_topic_of_a_collection_is_in_the_catalogue_once(by_topic):
    assert tuple(by_topic) == tuple(TOPICS)


def test_topics_divided_by_shard_or_zone_have_a_partition_for_each(by_topic):
    assert {topic: spec.partitions for topic, spec in by_topic.items()} == {
        "subscriptions": 3,
        "events": 5,
        "objects": 1,
        "frames": 3,
        "partials": 7,
        "messages": 6,
        "matches": 11,
        "progress": 6,
        "bases": 3,
        "routes": 3,
        "subscriptions.dlq": 1,
        "events.dlq": 1,
        "objects.dlq": 1,
    }
    assert [topic for topic, spec in by_topic.items() if spec.placed_by_key] == [
        "subscriptions",
        "frames",
        "messages",
        "progress",
        "bases",
        "routes",
    ]


def test_only_what_is_known_by_its_latest_record_is_compacted(by_topic):
    for topic in ("subscriptions", "objects"):
        assert by_topic[topic].config == {
            "cleanup.policy": "compact",
            "min.compaction.lag.ms": "29",
            "delete.retention.ms": "31",
            "max.message.bytes": str(4 * MIB),
        }
    for topic in ("bases", "routes", "progress"):
        assert by_topic[topic].config["cleanup.policy"] == "compact"
    compacted = ("subscriptions", "objects", "bases", "routes", "progress")
    others = [spec for topic, spec in by_topic.items() if topic not in compacted]
    assert {spec.config["cleanup.policy"] for spec in others} == {"delete"}


def test_matches_that_are_lists_keep_the_latest_of_each_key_and_its_place():
    matches = {
        keeps: {spec.name: spec for spec in catalogue(layout, LIST_TOPICS)}["podium.ads.matches"]
        for keeps in (False, True)
        for layout in [Layout("podium", "ads", keeps_lists=keeps, matches_retention_ms=17)]
    }
    assert matches[True].config == matches[False].config | {"cleanup.policy": "compact,delete"}
    assert matches[True].config["retention.ms"] == "17"
    assert matches[True].placed_by_key
    assert not matches[False].placed_by_key


def test_each_topic_keeps_records_as_long_as_it_was_told(by_topic):
    kept = {topic: spec.config.get("retention.ms") for topic, spec in by_topic.items()}
    assert kept == {
        "subscriptions": None,
        "events": "13",
        "objects": None,
        "frames": "19",
        "partials": "19",
        "messages": "19",
        "matches": "17",
        "progress": None,
        "bases": None,
        "routes": None,
        "subscriptions.dlq": "23",
        "events.dlq": "23",
        "objects.dlq": "23",
    }


def test_a_dead_letter_has_room_for_the_record_and_its_error(by_topic):
    largest = {topic: int(spec.config["max.message.bytes"]) for topic, spec in by_topic.items()}
    assert largest["events.dlq"] > largest["events"] == 4 * MIB
    assert largest["subscriptions.dlq"] > largest["subscriptions"] == 4 * MIB
    assert largest["objects.dlq"] > largest["objects"] == 4 * MIB
    for topic in ("frames", "partials", "messages", "matches"):
        assert largest[topic] == 16 * MIB


def test_the_defaults_are_a_day_of_events():
    events = catalogue(Layout("podium", "ads"), MATCHING_TOPICS)[1]
    assert events.config["retention.ms"] == str(24 * HOUR_MS)


def test_an_unknown_topic_is_refused_by_name():
    with pytest.raises(ValueError, match=r"got topic 'matchs', expected one of subscriptions"):
        topic_name("podium", "ads", "matchs")


@pytest.mark.parametrize("prefix", ["po dium", "", "p" * 250])
def test_a_name_that_kafka_would_refuse_is_refused(prefix):
    with pytest.raises(ValueError, match="expected at most 249"):
        topic_name(prefix, "ads!" if not prefix else "ads", "events")


def test_a_topic_has_at_least_one_partition():
    with pytest.raises(ValueError, match="x: got 0 partitions"):
        TopicSpec("x", 0)
