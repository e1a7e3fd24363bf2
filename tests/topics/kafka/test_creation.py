import logging
import threading

import pytest
from confluent_kafka.admin import AdminClient

from topics.catalogue import Layout, TopicSpec, catalogue
from topics.kafka.creation import (
    BrokerUnreachable,
    CreationFailed,
    Difference,
    ExistingTopic,
    TopicsDiffer,
    apply,
    examine,
    plan,
)
from topics.kinds import MATCHING_TOPICS

EVENTS = TopicSpec("p.ads.events", 4, {"cleanup.policy": "delete", "retention.ms": "1000"})
SUBSCRIPTIONS = TopicSpec(
    "p.ads.subscriptions", 2, {"cleanup.policy": "compact"}, placed_by_key=True
)


def as_it_should_be(spec, **config):
    return ExistingTopic(spec.partitions, {**spec.config, "other": "left alone", **config})


def test_what_is_missing_is_to_be_created():
    planned = plan([EVENTS, SUBSCRIPTIONS], {EVENTS.name: as_it_should_be(EVENTS)})
    assert planned.create == [SUBSCRIPTIONS]
    assert planned.same == [EVENTS]
    assert planned.different == []


def test_each_difference_is_named_with_the_command_that_mends_it():
    existing = {EVENTS.name: ExistingTopic(2, {"cleanup.policy": "delete", "retention.ms": "9"})}
    planned = plan([EVENTS], existing, "kafka-0:9092")
    assert planned.create == planned.same == []
    assert planned.different == [
        Difference(
            EVENTS.name,
            "partitions",
            "2",
            "4",
            "kafka-topics.sh --bootstrap-server kafka-0:9092 --alter --topic p.ads.events "
            "--partitions 4",
        ),
        Difference(
            EVENTS.name,
            "retention.ms",
            "9",
            "1000",
            "kafka-configs.sh --bootstrap-server kafka-0:9092 --alter --entity-type topics "
            "--entity-name p.ads.events --add-config retention.ms=1000",
        ),
    ]


@pytest.mark.parametrize("partitions", [1, 8])
def test_shards_cannot_be_changed_by_a_command(partitions):
    existing = {SUBSCRIPTIONS.name: ExistingTopic(partitions, SUBSCRIPTIONS.config)}
    (difference,) = plan([SUBSCRIPTIONS], existing).different
    assert f"declare shards: {partitions}" in difference.remedy
    assert "kafka-topics.sh" not in difference.remedy


def test_partitions_cannot_be_taken_away():
    (difference,) = plan([EVENTS], {EVENTS.name: ExistingTopic(9, EVENTS.config)}).different
    assert difference.remedy.startswith("partitions cannot be taken away: declare 9")


def silent():
    logger = logging.getLogger("tests.librdkafka")
    logger.propagate = False
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    return logger


@pytest.fixture
def admin(broker):
    return AdminClient({"bootstrap.servers": broker}, logger=silent())


@pytest.fixture
def specs(unique_name):
    return catalogue(Layout("podium", unique_name("creation")), MATCHING_TOPICS)


def ensure(admin, specs, **options):
    return apply(admin, plan(specs, examine(admin, [spec.name for spec in specs])), **options)


def test_created_topics_are_as_declared_and_creating_twice_is_creating_once(admin, specs):
    first = ensure(admin, specs)
    assert first.create == specs
    existing = examine(admin, [spec.name for spec in specs])
    assert {name: topic.partitions for name, topic in existing.items()} == {
        spec.name: spec.partitions for spec in specs
    }
    assert all(
        existing[spec.name].config[name] == value
        for spec in specs
        for name, value in spec.config.items()
    )
    second = ensure(admin, specs)
    assert second.create == []
    assert second.same == specs


def test_a_topic_that_exists_differently_stays_and_nothing_else_is_created(admin, specs):
    stranger = TopicSpec(specs[1].name, 1, {"retention.ms": "77"})
    ensure(admin, [stranger])
    with pytest.raises(TopicsDiffer) as caught:
        ensure(admin, specs)
    found = {d.what: (d.got, d.wanted) for d in caught.value.differences}
    assert found["partitions"] == ("1", "4")
    assert found["retention.ms"] == ("77", specs[1].config["retention.ms"])
    existing = examine(admin, [spec.name for spec in specs])
    assert list(existing) == [stranger.name]
    assert existing[stranger.name].partitions == 1


def test_settings_that_the_catalogue_does_not_name_are_the_operators(admin, specs):
    spec = specs[1]
    ensure(admin, [TopicSpec(spec.name, spec.partitions, {**spec.config, "segment.ms": "60000"})])
    assert ensure(admin, [spec]).same == [spec]


def test_two_who_create_at_once_both_succeed(admin, broker, specs):
    stale = plan(specs, {})  # both looked before either created
    results, errors = [], []

    def create():
        client = AdminClient({"bootstrap.servers": broker}, logger=silent())
        try:
            results.append(apply(client, stale))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=create) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    created = [spec.name for result in results for spec in result.create]
    assert sorted(created) == sorted(spec.name for spec in specs)


@pytest.mark.parametrize("partitions", [1, 5])
def test_a_topic_that_somebody_created_differently_in_the_meantime_is_reported(
    admin, specs, partitions
):
    stale = plan([specs[0]], {})
    ensure(admin, [TopicSpec(specs[0].name, partitions)])
    with pytest.raises(TopicsDiffer, match=f"got {partitions}, wanted 2"):
        apply(admin, stale)


def test_more_copies_than_brokers_are_refused_with_the_setting_to_change(admin, specs):
    with pytest.raises(CreationFailed, match=r"kafka\.replication is 9, more than the brokers"):
        ensure(admin, specs[:1], replication=9)


def test_looking_does_not_create(admin, specs):
    assert examine(admin, [specs[0].name]) == {}
    assert specs[0].name not in admin.list_topics(timeout=5).topics


def test_a_broker_that_is_not_there_is_one_clear_error(specs):
    nobody = AdminClient({"bootstrap.servers": "127.0.0.1:1"}, logger=silent())
    with pytest.raises(BrokerUnreachable, match=r"no answer within 0\.5 s"):
        examine(nobody, [specs[0].name], timeout_s=0.5)
    with pytest.raises(BrokerUnreachable, match=r"no answer within 0\.5 s"):
        apply(nobody, plan(specs, {}), timeout_s=0.5)
