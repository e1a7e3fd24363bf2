"""From two readings of the workers' metrics to what `podium top` shows."""

import numpy as np
import pytest
from prometheus_client import CollectorRegistry, Gauge, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from podium.stack.status.flow import Look, Worker, view
from workers.process.stages import EventSeconds


class Process:
    """What one worker would serve."""

    def __init__(self, name: str) -> None:
        self.worker = Worker(name, f"{name}:1")
        self._registry = CollectorRegistry()
        labels = ("collection", "stage")
        self.stages = EventSeconds("podium_stage_seconds", "x", labels, self._registry)
        self.whole = EventSeconds("podium_end_to_end_seconds", "x", labels[:1], self._registry)
        self.busy = Gauge("podium_busy_share", "x", labels[:1], registry=self._registry)
        places = ["collection", "topic", "partition"]
        self.records = Gauge("podium_lag_records", "x", places, registry=self._registry)
        self.seconds = Gauge("podium_lag_seconds", "x", places, registry=self._registry)

    def samples(self):
        text = generate_latest(self._registry).decode()
        return [s for family in text_string_to_metric_families(text) for s in family.samples]


@pytest.fixture
def fleet():
    return [Process("router"), Process("matcher-1"), Process("matcher-2")]


def looked(fleet, at):
    return Look(at, {process.worker.name: process.samples() for process in fleet})


def seen(fleet, before, after):
    return view([process.worker for process in fleet], before, after)


def test_the_stage_that_takes_the_most_of_an_events_way_is_named(fleet):
    router, first, second = fleet
    for matcher in (first, second):  # what was before the first look does not count
        matcher.stages.observe("ads", "answering", seconds=9.0, events=1000)
    before = looked(fleet, 10.0)
    router.stages.observe("ads", "framing", seconds=0.001, events=100)
    first.stages.observe("ads", "answering", seconds=0.004, events=100)
    second.stages.observe("ads", "answering", seconds=0.008, events=100)
    router.whole.observe("ads", seconds=np.linspace(0.01, 0.03, 100))
    second.busy.labels("ads").set(0.97)
    shown = seen(fleet, before, looked(fleet, 12.0))
    (flow,) = shown.flows
    assert (flow.collection, flow.events_per_s) == ("ads", 50.0)
    assert flow.p50_ms == pytest.approx(20, abs=5)
    framing, answering = flow.stages
    assert (framing.stage, framing.workers, framing.mean_ms) == ("framing", ["router"], 1.0)
    assert (answering.workers, answering.mean_ms) == (["matcher-1", "matcher-2"], 6.0)
    assert answering.events_per_s == 100.0
    assert answering.share == pytest.approx(6 / 7, abs=0.001)
    assert flow.sentence.startswith("slowest is answering, finding the best subscriptions")
    assert "86% of an event's way" in flow.sentence
    assert flow.sentence.endswith("matcher-2 is busy 97% of the time")


def test_a_worker_that_has_begun_anew_counts_from_nothing(fleet):
    router = fleet[0]
    router.stages.observe("ads", "framing", seconds=0.1, events=500)
    before = looked(fleet, 0.0)
    fleet[0] = Process("router")
    fleet[0].stages.observe("ads", "framing", seconds=0.002, events=30)
    (flow,) = seen(fleet, before, looked(fleet, 1.0)).flows
    (row,) = flow.stages
    assert (row.events_per_s, row.mean_ms) == (30.0, 2.0)


def test_where_nothing_moves_the_lag_is_said(fleet):
    matcher = fleet[1]
    before = looked(fleet, 0.0)
    matcher.records.labels("ads", "frames", "1").set(40)
    matcher.seconds.labels("ads", "frames", "1").set(12.5)
    flow = seen(fleet, before, looked(fleet, 2.0)).flows[0]
    assert flow.stages == []
    assert flow.p99_ms is None
    said = "no event has moved in the last 2.0 s; matcher-1 is 12.5 s behind frames[1]"
    assert flow.sentence == f"{said}, and not growing"


def test_one_that_does_not_answer_is_shown_as_such(fleet):
    after = looked(fleet[:2], 1.0)
    rows = seen(fleet, looked(fleet, 0.0), after).workers
    assert [(row.name, row.busy) for row in rows] == [
        ("router", 0.0),
        ("matcher-1", 0.0),
        ("matcher-2", None),
    ]
