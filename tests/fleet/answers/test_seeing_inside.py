"""What a running fleet tells of itself: `podium explain`, `lag` and `top`, metrics and traces."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.fleet.command_line import explained, files_of, podium
from tests.fleet.conftest import MakeFleet, fleets_of
from tests.fleet.fleet import ROLES, Fleet
from tests.fleet.traffic import Sent, eventually, key_on

ROUTED = {"k": 3, "emit_empty": False, "routing": {"enabled": True, "every_ms": 20}}


@pytest.fixture(scope="module")
def fleet(make_fleet: MakeFleet, broker: str, redis_url: str) -> Iterator[Fleet]:
    """With routing, as then a shard may be left out."""
    with fleets_of(make_fleet, broker, redis_url, {"seen": ROUTED}) as made:
        yield made["seen"]
        made["seen"].check_all()


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


def test_events_without_a_match_record_are_explained(fleet: Fleet, explain: Callable):
    fleet.subscribe("tall", {"age": [200, 300]}, 1)
    alone = fleet.publish({"age": 150}, after=fleet.token())
    marker = fleet.publish({"age": 250}, b"visitor", after=fleet.token())
    fleet.answer_to(marker)
    here = explain(alone, "tall")
    assert here["verdict"] == "failed"
    assert any("no match record" in note for note in here["notes"])

    bad = fleet.publish(b'{"age": "old"}', refused=True)
    fleet.letter_of("events", bad)
    refused = explain(bad, "tall")
    assert refused["verdict"] == "event_in_dead_letters"
    assert "age" in refused["sentence"]

    beyond = fleet.publish({"age": 250}, after="0@999999", refused=True)
    fleet.letter_of("events", beyond)
    assert "podium-after" in explain(beyond, "tall")["sentence"]

    with fleet.frozen("router"):
        asked = fleet.publish({"age": 250}, after=fleet.token())
        waiting = explain(asked, "tall")
    assert waiting["verdict"] == "not_answered_yet"
    assert "the router is at offset" in waiting["sentence"]
    fleet.answer_to(asked)
    assert explain(asked, "tall")["verdict"] == "in_answer"


def test_a_shard_that_the_routes_have_left_out(fleet: Fleet, explain: Callable):
    fleet.clear()
    near, far = (key_on(shard, 2, "routed") for shard in (0, 1))
    fleet.subscribe(near, {"age": [20, 30]}, 1)
    fleet.subscribe(far, {"age": [500, 510]}, 1)
    fleet.ask({"age": 505})

    def left_out() -> Sent | None:
        before = fleet.metric("router", "podium_router_pairs_total", result="left out")
        asked = fleet.publish({"age": 25}, b"visitor", after=f"0@{fleet.ends[0]}")
        fleet.answer_to(asked)
        after = fleet.metric("router", "podium_router_pairs_total", result="left out")
        return asked if after > before else None

    asked = eventually(left_out, "an event that shard 1 is not asked about", 60.0)
    late = key_on(1, 2, "later")
    fleet.subscribe(late, {"age": [20, 30]}, 9)
    fleet.deliver()
    told = explain(asked, late)
    assert told["verdict"] == "left_out_by_routes"
    assert explain(asked, near)["verdict"] == "in_answer"
    assert explain(asked, far)["verdict"] == "failed"


def test_lag_top_and_metrics_tell_of_the_same_events(fleet: Fleet):
    stages = {
        "router": ("event_waiting", "framing"),
        "matcher": ("frame_waiting", "answering", "sending"),
        "merger": ("merging", "writing"),
    }
    before = counts(fleet, stages)
    name, whole = fleet.declared.name, "podium_end_to_end_seconds_count"
    ended = fleet.metric("merger", whole)
    fleet.subscribe("any", {}, 1)
    token = fleet.token()
    fleet.answers_to([fleet.publish({"age": n}, b"%d" % n, after=token) for n in range(200)])
    after = counts(fleet, stages)
    shards = len(fleet.shards)
    assert after["event_waiting"] - before["event_waiting"] == pytest.approx(200)
    assert after["framing"] - before["framing"] == 200
    eventually(
        lambda: fleet.metric("merger", whole) - ended == 200, "200 events from end to end", 30.0
    )
    # With routing a shard may be left out.
    assert 200 <= after["answering"] - before["answering"] <= 200 * shards
    assert counts(fleet, stages)["writing"] - before["writing"] == 200

    eventually(lambda: fleet.metric("router", "podium_busy_share", collection=name), "load", 30.0)
    for role in ROLES:
        assert 0 <= fleet.metric(role, "podium_busy_share", collection=name) <= 1

    files = files_of(fleet)
    lag = eventually(lambda: behind_nothing(files), "everything is committed", 60.0)
    assert {row["topic"].rpartition(".")[2] for row in lag["partitions"]} == {
        "events",
        "frames",
        "partials",
        "subscriptions",
    }

    workers = ",".join(f"127.0.0.1:{fleet.ports[role]}" for role in ROLES)
    moving = eventually(lambda: moving_view(fleet, workers), "events in a view", 60.0)
    assert {row["stage"] for row in moving["stages"]} == {s for of in stages.values() for s in of}
    slowest = max(moving["stages"], key=lambda row: row["share"])
    assert moving["sentence"].startswith(f"slowest is {slowest['stage']}, ")
    assert sum(row["share"] for row in moving["stages"]) == pytest.approx(1, abs=0.01)


def counts(fleet: Fleet, stages: dict[str, tuple[str, ...]]) -> dict[str, float]:
    name = "podium_stage_seconds_count"
    return {
        stage: fleet.metric(role, name, stage=stage)
        for role, its_stages in stages.items()
        for stage in its_stages
    }


def behind_nothing(files: list) -> Any:
    ended = podium("lag", *files, "--every", 0.5, "--json")
    assert ended.code == 0
    return None if any(row["behind"] for row in ended.told["partitions"]) else ended.told


def moving_view(fleet: Fleet, workers: str) -> Any:
    """A view in which events have passed every stage."""
    token = fleet.token()
    for number in range(2000):
        fleet.publish({"age": number % 50}, after=token)
    (flow,) = podium("top", "--workers", workers, "--once", "--every", 3, "--json").told["flows"]
    return flow if len(flow["stages"]) == 7 and flow["p99_ms"] else None
