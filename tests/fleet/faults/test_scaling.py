"""One, two and three workers that hold shards: four matchers' shards, or four partitions of nodes.

A matcher's shard moves with its index, feed and snapshots.  Nodes hold all shards, and of what is
for one of them alone, snapshots and dead letters, it moves who writes them.
"""

import threading
from collections import defaultdict
from collections.abc import Iterator
from functools import partial

import pytest
import redis

from tests.fleet.conftest import MakeFleet
from tests.fleet.fleet import LAYOUTS, READY_S, SOON_MISSED, Fleet
from tests.fleet.stream import streaming
from tests.fleet.traffic import eventually
from workers.snapshots import NoSnapshot, SnapshotStore

SHARDS = 4  # and partitions of `events`


@pytest.fixture(scope="module", params=LAYOUTS)
def fleet(
    request: pytest.FixtureRequest, make_fleet: MakeFleet, broker: str, redis_url: str
) -> Iterator[Fleet]:
    fleet = make_fleet(
        "scaling",
        broker,
        redis_url,
        collection={
            "shards": SHARDS,
            "partitions": {"events": SHARDS},
            "layout": request.param,
        },
        settings={"snapshots": {"every_s": 0.5, "least_changes": 1}, **SOON_MISSED},
    )
    fleet.patience_s = 90.0
    fleet.start_all()
    yield fleet
    fleet.stop()


def workers(fleet: Fleet) -> list[str]:
    return [fleet.holder, f"{fleet.holder}-2", f"{fleet.holder}-3"]


def wait_snapshots(fleet: Fleet) -> None:
    """Every shard has one."""
    written = partial(fleet.metric, fleet.holder, "podium_snapshots_total", result="written")
    eventually(lambda: written() >= 2 * SHARDS, fleet.diagnosis, 60)


def wait_shared(fleet: Fleet, *workers: str) -> None:
    """All is held, each part by one of these, and each of these has its share."""

    def shared() -> bool:
        counts = [fleet.held(worker) for worker in workers]
        return sum(counts) == SHARDS and max(counts) - min(counts) <= 1

    eventually(shared, fleet.diagnosis, 60)


def test_the_work_spreads_over_three_and_comes_back_to_one_under_load(fleet: Fleet):
    """A shard is taken over from its snapshot."""
    first, second, third = workers(fleet)

    def from_snapshots() -> float:
        return fleet.metric(second, "podium_restores_total", start="snapshot")

    with streaming(fleet, seed=1) as stream:
        stream.wait_answers(100)
        wait_snapshots(fleet)
        fleet.start(second)
        fleet.wait_ready(second)
        wait_shared(fleet, first, second)
        eventually(lambda: from_snapshots() >= SHARDS / 2, fleet.diagnosis, READY_S)
        stream.wait_answers(100)
        fleet.start(third)
        fleet.wait_ready(third)
        wait_shared(fleet, first, second, third)
        stream.wait_answers(100)
        answered = partial(fleet.metric, third, "podium_stage_seconds_count", stage="answering")
        eventually(lambda: answered() > 0, fleet.diagnosis, fleet.patience_s)
        for worker in (second, third):
            assert fleet.terminate(worker)[0] == 0
            stream.wait_answers(100)
        wait_shared(fleet, first)
    # A feed that is still reading when its shard moves may write a dead letter that the next one
    # writes as well; answers are not repeated.
    fleet.check_all(letters_repeat=True)
    fleet.check_that_none_has_died()


@pytest.mark.long  # with one shard each in `test_killed.py`
def test_the_share_of_a_killed_worker_is_taken_over_by_the_others(fleet: Fleet):
    first, second, third = workers(fleet)
    with streaming(fleet, seed=3) as stream:
        fleet.start(second, third)
        fleet.wait_ready(second, third)
        wait_shared(fleet, first, second, third)
        stream.wait_answers(100)
        fleet.kill(second, restart=False)
        wait_shared(fleet, first, third)
        stream.wait_answers(100)
        fleet.revive(second)
        fleet.wait_ready(second)
        stream.wait_answers(100)
        for worker in (second, third):
            fleet.terminate(worker)
    fleet.check_all(repeats=True)


class PointerWatch(threading.Thread):
    """Sees the pointers of all shards again and again."""

    def __init__(self, fleet: Fleet, redis_url: str) -> None:
        super().__init__()
        self._store = SnapshotStore(redis.Redis.from_url(redis_url), "podium", fleet.declared.name)
        self._shards, self._stopping = fleet.shards, threading.Event()
        self.offsets: dict[int, list[int]] = defaultdict(list)
        self.holders: dict[int, str] = {}

    def run(self) -> None:
        while not self._stopping.wait(0.005):
            for shard, pointer in self._store.ls(self._shards).items():
                if not isinstance(pointer, NoSnapshot):
                    self.offsets[shard].append(pointer.next_offset)
                    self.holders[shard] = pointer.holder

    def __enter__(self) -> "PointerWatch":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self.join()


def test_a_worker_that_wakes_up_without_its_share_takes_no_snapshot_back(
    fleet: Fleet, redis_url: str
):
    first, second, _ = workers(fleet)
    with streaming(fleet, seed=4) as stream, PointerWatch(fleet, redis_url) as watch:
        fleet.start(second)
        fleet.wait_ready(second)
        wait_shared(fleet, first, second)
        stream.wait_answers(100)
        with fleet.frozen(second):
            wait_shared(fleet, first)  # its session has timed out
            eventually(lambda: len(set(watch.holders.values())) == 1, fleet.diagnosis, 60)
            stream.wait_answers(100)
        stream.wait_answers(200)
        wait_shared(fleet, first, second)
        fleet.terminate(second)
        wait_shared(fleet, first)
    assert watch.offsets.keys() == set(fleet.shards)
    for offsets in watch.offsets.values():
        assert offsets == sorted(offsets)
    fleet.check_all(repeats=True)
    fleet.check_that_none_has_died()
