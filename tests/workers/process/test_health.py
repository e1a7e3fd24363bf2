import json
import threading
from collections.abc import Callable
from contextlib import closing
from http.client import HTTPConnection

import pytest

from workers.process import metrics
from workers.process.health import STUCK_AFTER_S, Health, Probe, serve


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def health(clock: Clock) -> Health:
    return Health(["broker", "router"], now=clock)


@pytest.fixture
def ask(health: Health) -> Callable[[str], tuple[int, str]]:
    """The status and body of a path of the health port."""
    port = serve(health, "127.0.0.1", 0)

    def get(path: str) -> tuple[int, str]:
        with closing(HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()

    return get


def test_a_worker_starts_with_a_reason_for_each_part(health):
    assert health.reasons == {"broker": "starting", "router": "starting"}


def test_a_worker_is_ready_when_no_part_has_a_reason_left(health):
    health.ready("router")
    assert health.reasons == {"broker": "starting"}
    health.ready("broker")
    assert health.reasons == {}


def test_a_part_may_lose_and_regain_its_health(health):
    health.ready("broker")
    health.not_ready("broker", "no answer")
    health.not_ready("broker", "still no answer")
    assert health.reasons["broker"] == "still no answer"
    health.ready("broker")
    health.ready("broker")
    assert "broker" not in health.reasons


def test_a_part_that_nobody_announced_counts_too(health):
    health.not_ready("shards", "restoring 0 (17 records behind)")
    assert health.reasons["shards"] == "restoring 0 (17 records behind)"


def test_reasons_are_a_copy(health):
    health.reasons.clear()
    assert len(health.reasons) == 2


def test_a_change_is_logged_once(health, caplog):
    caplog.set_level("INFO")
    for _ in range(3):
        health.not_ready("broker", "no answer")
    for _ in range(3):
        health.ready("broker")
    health.ready("router")
    assert [record.getMessage() for record in caplog.records] == [
        "broker: no answer",
        "broker: fine again",
    ]


def test_a_part_that_is_degraded_leaves_the_worker_ready(health):
    health.ready("broker")
    health.ready("router")
    health.degraded("redis", "no answer")
    assert health.reasons == {}
    assert health.degradations == {"redis": "no answer"}
    health.ready("redis")
    assert health.degradations == {}


def test_a_degradation_is_logged_once_and_so_is_its_end(health, caplog):
    caplog.set_level("INFO")
    for _ in range(3):
        health.degraded("redis", "no answer")
    for _ in range(3):
        health.ready("redis")
    assert [record.getMessage() for record in caplog.records] == [
        "redis: no answer",
        "redis: fine again",
    ]


def test_a_degradation_is_news_for_as_long_as_it_was_said_lately(health, clock):
    assert health.degraded_within("redis", 10) is None
    health.degraded("redis", "no answer")
    clock.now += 10
    assert health.degraded_within("redis", 10) == "no answer"
    clock.now += 1
    assert health.degraded_within("redis", 10) is None
    health.degraded("redis", "no answer")
    assert health.degraded_within("redis", 10) == "no answer"
    health.ready("redis")
    assert health.degraded_within("redis", 10) is None


def test_a_loop_is_stuck_when_it_has_not_come_round_for_long(health, clock):
    assert not health.stuck
    clock.now += STUCK_AFTER_S
    assert not health.stuck
    clock.now += 0.001
    assert health.stuck
    health.beat()
    assert not health.stuck
    clock.now += STUCK_AFTER_S
    assert not health.stuck


def test_readyz_says_no_with_the_reasons_and_then_yes(health, ask):
    health.not_ready("broker", 'no answer from "kafka:9092"')
    status, body = ask("/readyz")
    assert status == 503
    assert json.loads(body) == {
        "ready": False,
        "reasons": {"broker": 'no answer from "kafka:9092"', "router": "starting"},
        "degraded": {},
    }
    health.ready("broker")
    health.ready("router")
    status, body = ask("/readyz")
    assert (status, json.loads(body)) == (200, {"ready": True, "reasons": {}, "degraded": {}})
    health.degraded("redis", "no answer")
    status, body = ask("/readyz")
    assert status == 200
    assert json.loads(body) == {"ready": True, "reasons": {}, "degraded": {"redis": "no answer"}}


def test_livez_is_about_the_main_loop_only(health, clock, ask):
    status, body = ask("/livez")
    assert (status, json.loads(body)) == (200, {"stuck": False})
    clock.now += STUCK_AFTER_S + 1
    status, body = ask("/livez")
    assert (status, json.loads(body)) == (503, {"stuck": True})
    health.beat()
    assert ask("/livez")[0] == 200


def test_metrics_are_served_in_the_text_format(ask):
    metrics.EVENTS.labels("counted here").inc(3)
    status, body = ask("/metrics")
    assert status == 200
    assert 'podium_events_total{collection="counted here"} 3.0' in body.splitlines()


@pytest.mark.parametrize("path", ["/", "/ready", "/livez/more", "/tables"])
def test_another_path_is_not_found_and_says_what_there_is(ask, path):
    status, body = ask(path)
    assert status == 404
    assert body == "expected /livez, /readyz or /metrics\n"


def test_many_may_ask_at_once(health, ask):
    statuses: list[int] = []
    askers = [threading.Thread(target=lambda: statuses.append(ask("/readyz")[0])) for _ in range(8)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join(10)
    assert statuses == [503] * 8


class Service:
    """What a probe asks: fails while it is told to, and says when it was asked."""

    def __init__(self) -> None:
        self.fails = False
        self.asked = threading.Semaphore(0)

    def __call__(self) -> None:
        self.asked.release()
        if self.fails:
            raise ConnectionError("no answer from kafka:9092")

    def wait_for(self, times: int) -> None:
        for _ in range(times):
            assert self.asked.acquire(timeout=10)


def test_a_probe_reports_failure_and_recovery(health):
    service = Service()
    service.fails = True
    probe = Probe(health, "broker", service, every_s=0.01)
    probe.start()
    try:
        service.wait_for(2)  # when it asks again, it has reported the first answer
        assert health.reasons["broker"] == "no answer from kafka:9092; trying again"
        service.fails = False
        service.wait_for(3)
        assert "broker" not in health.reasons
    finally:
        probe.stop()
    probe.join(10)
    assert not probe.is_alive()


def test_a_probe_of_what_is_not_needed_leaves_the_worker_ready(health):
    service = Service()
    service.fails = True
    probe = Probe(health, "redis", service, every_s=0.01, needed=False)
    probe.start()
    try:
        service.wait_for(2)
        assert health.degradations["redis"] == "no answer from kafka:9092; trying again"
        assert "redis" not in health.reasons
        service.fails = False
        service.wait_for(3)
        assert health.degradations == {}
    finally:
        probe.stop()
    probe.join(10)


class NoWait(threading.Event):
    """Notes how long it should have waited; set after some rounds."""

    def __init__(self, rounds: int) -> None:
        super().__init__()
        self.waits: list[float] = []
        self._rounds = rounds

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.waits.append(timeout)
        if len(self.waits) == self._rounds:
            self.set()
        return self.is_set()


def test_a_probe_asks_less_and_less_often_while_it_fails(health):
    outcomes = iter(["no", "no", "no", "no", "no", "no", "yes", "yes", "no", "no"])

    def ask() -> None:
        if next(outcomes) == "no":
            raise ConnectionError("no answer")

    probe = Probe(health, "broker", ask, every_s=2.0)
    probe._stopping = waiting = NoWait(rounds=10)
    probe.run()
    assert waiting.waits == [4.0, 8.0, 10.0, 10.0, 10.0, 10.0, 2.0, 2.0, 4.0, 8.0]


def test_a_probe_backs_off_no_further_than_it_is_told(health):
    def ask() -> None:
        raise ConnectionError("no answer")

    probe = Probe(health, "redis", ask, every_s=2.0, longest_s=3.0)
    probe._stopping = waiting = NoWait(rounds=3)
    probe.run()
    assert waiting.waits == [3.0, 3.0, 3.0]
