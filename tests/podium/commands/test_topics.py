import json
import time

from confluent_kafka.admin import AdminClient, NewPartitions


def test_a_dry_run_creates_nothing(podium, undeclared):
    ended = podium("topics", "create", "--dry-run", "--json", *undeclared.options)
    assert ended.code == 0
    told = json.loads(ended.out)
    assert [spec["name"] for spec in told["create"]] == [
        undeclared.topic(topic)
        for topic in (
            "subscriptions",
            "events",
            "frames",
            "partials",
            "matches",
            "bases",
            "routes",
            "subscriptions.dlq",
            "events.dlq",
        )
    ]
    again = podium("topics", "create", "--dry-run", *undeclared.options)
    assert again.out.count("would create") == 9


def test_creating_twice_is_creating_once(podium, undeclared):
    first = podium("topics", "create", "--json", *undeclared.options)
    second = podium("topics", "create", "--json", *undeclared.options)
    assert first.code == second.code == 0
    assert len(json.loads(first.out)["created"]) == 9
    assert json.loads(second.out)["created"] == []
    assert len(json.loads(second.out)["same"]) == 9


def test_what_differs_is_reported_with_the_command_to_run(podium, topics):
    events = topics.topic("events")
    admin = AdminClient({"bootstrap.servers": topics.brokers})
    for future in admin.create_partitions([NewPartitions(events, 5)]).values():
        future.result()
    while len(admin.list_topics(timeout=10).topics[events].partitions) < 5:
        time.sleep(0.05)  # the broker's answer is ahead of its own metadata
    ended = podium("topics", "create", *topics.options)
    assert ended.code == 1
    assert f"differs {events}: partitions: got 5, wanted 4" in ended.out
    assert "partitions cannot be taken away" in ended.out
    assert "nothing was created or changed" in ended.err
    (difference,) = json.loads(podium("topics", "create", "--json", *topics.options).out)[
        "different"
    ]
    assert difference["topic"] == events
    listed = json.loads(podium("topics", "ls", "--json", *topics.options).out)
    states = {row["name"]: row["state"] for row in listed}
    assert states.pop(events) == "different"
    assert set(states.values()) == {"as declared"}


def test_the_list_says_what_is_missing(podium, undeclared):
    ended = podium("topics", "ls", *undeclared.options)
    assert ended.code == 0
    assert ended.out.count("missing") == 9
