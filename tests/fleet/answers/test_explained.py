"""`podium explain` and traces, in every layout."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.fleet.command_line import explained
from tests.fleet.fleet import Fleet
from tests.fleet.traffic import Sent, eventually

TRACE = [
    ("traceparent", b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
    ("tracestate", b"vendor=1"),
]


@pytest.fixture
def explain(fleet: Fleet) -> Callable[..., Any]:
    """What is told of an event and a subscription."""

    def explain(event: Sent, subscription: str) -> Any:
        fleet.deliver(event)
        place = f"{fleet.topic('events')}[{event.place.partition}]@{event.place.offset}"
        told = explained(fleet, place, subscription)
        assert (told["event"], told["subscription"]) == (place, subscription)
        return told

    return explain


def test_an_answer_is_explained_and_carries_its_trace(fleet: Fleet, explain: Callable):
    for number in range(6):
        fleet.subscribe(f"ad-{number}", {"age": [20, 35], "visits": [0, 9]}, number)
    fleet.subscribe("old", {"age": [70, None], "visits": [0, 9]}, 99)
    fleet.subscribe("gone", {"age": [20, 35]}, 50)
    fleet.unsubscribe("gone")
    bad = fleet.send("subscriptions", b'{"where": {}, "score": "high"}', b"bad")
    event = {"age": 28, "visits": 3}
    asked = fleet.publish(event, b"visitor", after=fleet.token(), trace=TRACE)
    fleet.publish(event, b"visitor", after=fleet.token())
    answer = fleet.answer_to(asked)
    assert answer.trace == TRACE
    assert [id for id, _ in answer.hits] == ["ad-5", "ad-4", "ad-3"]

    best = explain(asked, "ad-4")
    assert (best["verdict"], best["rank"], best["score"], best["k"]) == ("in_answer", 2, 4.0, 3)
    assert best["as_of"] == {str(shard): last for shard, last in enumerate(answer.as_of)}
    assert [(c["attribute"], c["got"], c["held"]) for c in best["checks"]] == [
        ("age", 28.0, True),
        ("visits", 3.0, True),
    ]

    beaten = explain(asked, "ad-1")
    assert (beaten["verdict"], beaten["rank"], beaten["kth"]) == ("beaten", 5, 3.0)
    assert beaten["matching"] == 6

    failed = explain(asked, "old")
    assert failed["verdict"] == "failed"
    assert [(c["condition"], c["held"]) for c in failed["checks"]] == [
        ("70.0 or more", False),
        ("0.0 to 9.0", True),
    ]

    assert explain(asked, "gone")["verdict"] == "unsubscribed"
    refused = explain(asked, "bad")
    assert refused["verdict"] == "subscription_in_dead_letters"
    assert "score" in refused["sentence"]
    assert f"@{bad.place.offset} " in refused["sentence"]
    assert "subscriptions.dlq[" in refused["sentence"]
    assert explain(asked, "nobody")["verdict"] == "unknown_subscription"

    late = fleet.subscribe("late", {"age": [20, 35]}, 70)
    fleet.deliver()
    not_in = explain(asked, "late")
    assert not_in["verdict"] == "not_in_yet"
    as_of = answer.as_of[late.place.partition]
    assert f"at offset {as_of}, the subscription is at {late.place.offset}" in not_in["sentence"]


def test_every_stage_counts_every_event(fleet: Fleet):
    def counted(stage: str) -> float:
        name = "podium_stage_seconds_count"
        return sum(fleet.metric(role, name, stage=stage) for role in fleet.roles)

    whole, stages = "podium_end_to_end_seconds_count", ("event_waiting", "writing")
    fleet.ask({"age": 1})
    last = fleet.roles[-1]
    before, ended = [counted(stage) for stage in stages], fleet.metric(last, whole)
    token = fleet.token()
    fleet.answers_to([fleet.publish({"age": n}, b"%d" % n, after=token) for n in range(200)])
    eventually(lambda: fleet.metric(last, whole) - ended == 200, "200 events from end to end", 30.0)
    grown = [counted(stage) - was for stage, was in zip(stages, before, strict=True)]
    assert grown == [pytest.approx(200)] * 2
    name = fleet.declared.name
    eventually(lambda: fleet.metric(last, "podium_busy_share", collection=name), "load", 30.0)
    for role in fleet.roles:
        assert 0 <= fleet.metric(role, "podium_busy_share", collection=name) <= 1
