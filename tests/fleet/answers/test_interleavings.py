"""Changes, bases, snapshots, restarts and events with tokens in any order: no answer is wrong."""

import random
from collections.abc import Callable, Iterator

import pytest

from tests.effort import effort
from tests.fleet import steps
from tests.fleet.conftest import MakeFleet, fleets_of
from tests.fleet.fleet import SOON_MISSED, Fleet
from tests.fleet.job import Job
from topics import kinds

# Two that have bases; the others are killed and started again in `test_bursts`.
SOME = {
    "single": {"kind": "ranked", "attributes": ["age"]},
    "relaxed": {"kind": "relaxed", "attributes": ["age", "visits"]},
}
KINDS = effort(
    short=SOME,
    long={
        **SOME,
        "ranked": {"kind": "ranked", "attributes": ["age", "visits"]},
        "boolean": {"kind": "boolean", "attributes": []},
    },
)
OFTEN = {"snapshots": {"every_s": 0.5, "least_changes": 1}, **SOON_MISSED}
ROUNDS = effort(short=4, long=9)


@pytest.fixture(scope="module")
def fleets(make_fleet: MakeFleet, broker: str, redis_url: str) -> Iterator[dict[str, Fleet]]:
    with fleets_of(make_fleet, broker, redis_url, KINDS, settings=OFTEN) as made:
        for fleet in made.values():
            fleet.patience_s = 150.0
        yield made


def base(fleet: Fleet, job: Job, random_: random.Random) -> None:
    if not kinds.KINDS[fleet.declared.kind].has_bases:
        return
    fleet.deliver()
    fleet.judge()  # reads what is in the topic
    job.announce_newest(random_.choice(fleet.shards), random_.randint(0, 8))


def kill(fleet: Fleet, job: Job, random_: random.Random) -> None:
    fleet.wait_ready("matcher")  # it may have been killed just now
    fleet.kill("matcher")


def restart(fleet: Fleet, job: Job, random_: random.Random) -> None:
    fleet.wait_ready("matcher")
    fleet.terminate("matcher")
    steps.random_steps(fleet, random_.randrange(1000), 20)
    fleet.start("matcher")


def settle(fleet: Fleet, job: Job, random_: random.Random) -> None:
    fleet.wait_ready("matcher")
    fleet.check_all(repeats=True)


def ask(fleet: Fleet, job: Job, random_: random.Random) -> None:
    """An event that must see everything so far."""
    steps.publish_after_all(fleet, random_)


DISTURBANCES: list[Callable[[Fleet, Job, random.Random], None]] = [base, kill, restart, settle, ask]


@pytest.mark.parametrize(
    ("kind", "seed"),
    [
        ("single", 1),
        ("relaxed", 3),
        *(
            pytest.param(kind, seed, marks=pytest.mark.long)
            for kind, seed in (("ranked", 2), ("boolean", 4), ("single", 5))
        ),
    ],
)
def test_every_answer_is_right_under_any_interleaving(
    fleets: dict[str, Fleet], redis_url: str, kind: str, seed: int
):
    fleet, random_ = fleets[kind], random.Random(seed)
    job = Job(fleet, redis_url)
    for round_ in range(ROUNDS):
        steps.random_steps(fleet, 100 * seed + round_, random_.randint(10, 60))
        disturb = random_.choices(DISTURBANCES, [4, 2, 1, 2, 3])[0]
        disturb(fleet, job, random_)
    fleet.wait_ready("matcher")
    fleet.check_all(repeats=True)
