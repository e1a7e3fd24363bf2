"""`podium top` of workers that serve metrics; what it makes of them is in `stack/test_flow.py`."""

import json

import pytest
from prometheus_client import CollectorRegistry, Gauge, start_http_server

from workers.process.stages import EventSeconds


class Worker:
    def __init__(self):
        registry = CollectorRegistry()
        labels = ("collection", "stage")
        self.stages = EventSeconds("podium_stage_seconds", "x", labels, registry)
        Gauge("podium_busy_share", "x", ["collection"], registry=registry).labels("ads").set(0.5)
        self._server, self._thread = start_http_server(0, "127.0.0.1", registry)
        self.address = f"127.0.0.1:{self._server.server_port}"

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def worker():
    worker = Worker()
    yield worker
    worker.close()


def test_a_view_for_programs_and_one_for_people(podium, worker):
    worker.stages.observe("ads", "answering", seconds=0.002, events=10)
    options = ("--workers", worker.address, "--once", "--every", 0.1)
    ended = podium("top", "--json", *options)
    told = json.loads(ended.out)
    assert ended.code == 0
    assert told["workers"] == [{"name": worker.address, "busy": 0.5, "memory_bytes": None}]
    (flow,) = told["flows"]
    assert flow["collection"] == "ads"
    assert flow["sentence"].startswith("no event has moved")
    shown = podium("top", *options)
    assert shown.code == 0
    assert "ads: 0 events/s, 0 match records/s" in shown.out
    assert "50%" in shown.out


def test_a_worker_that_does_not_answer_is_named(podium, worker):
    workers = f"{worker.address},127.0.0.1:1"
    ended = podium("top", "--workers", workers, "--once", "--every", 0.1)
    assert ended.code == 1
    assert ended.err == "podium: no answer from 127.0.0.1:1\n"


def test_without_workers_there_is_nothing_to_see(podium, tmp_path):
    ended = podium("top", "--once", "--folder", tmp_path / "nothing")
    assert ended.code == 3
    assert "podium up" in ended.err
    assert podium("top", "--workers", "here", "--once").code == 2
