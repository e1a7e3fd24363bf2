"""Four shards on one, two and three matchers: each moves with its index, feed and snapshots."""

import threading
from collections import defaultdict
from collections.abc import Iterator
from functools import partial

import pytest
import redis

from tests.fleet.conftest import MakeFleet
from tests.fleet.fleet import READY_S, SOON_MISSED, Fleet
from tests.fleet.stream import streaming
from tests.fleet.traffic import eventually
from workers.snapshots import NoSnapshot, SnapshotStore

SHARDS = 4
MATCHERS = ("matcher", "matcher-2", "matcher-3")


@pytest.fixture(scope="module")
def fleet(make_fleet: MakeFleet, broker: str, redis_url: str) -> Iterator[Fleet]:
    fleet = make_fleet(
        "scaling",
        broker,
        redis_url,
        collection={"shards": SHARDS},
        settings={"snapshots": {"every_s": 0.5, "least_changes": 1}, **SOON_MISSED},
    )
    fleet.patience_s = 90.0
    fleet.start_all()
    yield fleet
    fleet.stop()


def held(fleet: Fleet, matcher: str) -> int:
    """How many shards the matcher holds, as its log tells."""
    log = fleet.log(matcher).rpartition(" start ---")[2]
    return log.count(": ours") - log.count(": gone")


def wait_snapshots(fleet: Fleet) -> None:
    """Every shard has one."""
    written = partial(fleet.metric, "matcher", "podium_snapshots_total", result="written")
    eventually(lambda: written() >= 2 * SHARDS, fleet.diagnosis, 60)


def wait_shared(fleet: Fleet, *matchers: str) -> None:
    """All shards are held, each by one of these, and each of these has its share."""

    def shared() -> bool:
        counts = [held(fleet, matcher) for matcher in matchers]
        return sum(counts) == SHARDS and max(counts) - min(counts) <= 1

    eventually(shared, fleet.diagnosis, 60)


def test_shards_spread_over_three_matchers_and_come_back_to_one_under_load(fleet: Fleet):
    """A shard that moves is taken over from its snapshot."""

    def from_snapshots() -> float:
        return fleet.metric("matcher-2", "podium_restores_total", start="snapshot")

    with streaming(fleet, seed=1) as stream:
        stream.wait_answers(100)
        wait_snapshots(fleet)
        fleet.start("matcher-2")
        fleet.wait_ready("matcher-2")
        wait_shared(fleet, *MATCHERS[:2])
        eventually(lambda: from_snapshots() >= SHARDS / 2, fleet.diagnosis, READY_S)
        stream.wait_answers(100)
        fleet.start("matcher-3")
        fleet.wait_ready("matcher-3")
        wait_shared(fleet, *MATCHERS)
        stream.wait_answers(100)
        answered = partial(fleet.metric, "matcher-3", "podium_frames_total")
        eventually(lambda: answered() > 0, fleet.diagnosis, fleet.patience_s)
        for matcher in MATCHERS[1:]:
            assert fleet.terminate(matcher)[0] == 0
            stream.wait_answers(100)
        wait_shared(fleet, "matcher")
    # A feed that is still reading when its shard moves may write a dead letter that the next one
    # writes as well; answers are not repeated.
    fleet.check_all(letters_repeat=True)
    fleet.check_that_none_has_died()


@pytest.mark.long  # with one shard each in `test_killed.py`
def test_the_shards_of_a_killed_matcher_are_taken_over_by_the_others(fleet: Fleet):
    with streaming(fleet, seed=3) as stream:
        fleet.start(*MATCHERS[1:])
        fleet.wait_ready(*MATCHERS[1:])
        wait_shared(fleet, *MATCHERS)
        stream.wait_answers(100)
        fleet.kill("matcher-2", restart=False)
        wait_shared(fleet, "matcher", "matcher-3")
        stream.wait_answers(100)
        fleet.revive("matcher-2")
        fleet.wait_ready("matcher-2")
        stream.wait_answers(100)
        for matcher in MATCHERS[1:]:
            fleet.terminate(matcher)
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


def test_a_matcher_that_wakes_up_without_its_shards_takes_no_snapshot_back(
    fleet: Fleet, redis_url: str
):
    with streaming(fleet, seed=4) as stream, PointerWatch(fleet, redis_url) as watch:
        fleet.start("matcher-2")
        fleet.wait_ready("matcher-2")
        wait_shared(fleet, *MATCHERS[:2])
        stream.wait_answers(100)
        with fleet.frozen("matcher-2"):
            wait_shared(fleet, "matcher")  # its session has timed out
            eventually(lambda: len(set(watch.holders.values())) == 1, fleet.diagnosis, 60)
            stream.wait_answers(100)
        stream.wait_answers(200)
        wait_shared(fleet, *MATCHERS[:2])
        fleet.terminate("matcher-2")
        wait_shared(fleet, "matcher")
    assert watch.offsets.keys() == set(fleet.shards)
    for offsets in watch.offsets.values():
        assert offsets == sorted(offsets)
    fleet.check_all(repeats=True)
    fleet.check_that_none_has_died()
