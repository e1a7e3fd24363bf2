"""A matcher that is killed right after each single step that it takes."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fleet.conftest import MakeFleet
from tests.fleet.fleet import SOON_MISSED, Fleet
from tests.fleet.mortal_worker import STEPS
from tests.fleet.steps import random_steps
from tests.fleet.stream import streaming
from tests.fleet.traffic import eventually

OFTEN = {"snapshots": {"every_s": 0.3, "least_changes": 1}, **SOON_MISSED}
# Steps and how often they are taken before: the first of them while it restores.
LIVES = {
    "feed and frames": ["read 1", "apply 1", "answer 2", "send 2", "apply 40"],
    "snapshots and commits": [
        "commit 2",
        "commit-frames 1",
        "gather 1",
        "chunk 1",
        "swap 1",
        "swap 2",
    ],
}


@pytest.fixture(scope="module")
def order(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("order") / "die-after"


@pytest.fixture(scope="module")
def mortal(make_fleet: MakeFleet, broker: str, redis_url: str, order: Path) -> Iterator[Fleet]:
    fleet = make_fleet("steps", broker, redis_url, settings=OFTEN)
    fleet.patience_s = 150.0
    fleet.entry, fleet.variables = "tests.fleet.mortal_worker", {"DIE_AFTER": str(order)}
    fleet.start_all()
    yield fleet
    fleet.stop()


def test_every_step_of_a_matcher_has_its_turn():
    named = {order.split()[0] for orders in LIVES.values() for order in orders}
    assert named == STEPS.keys()


def assert_started_from_snapshots(fleet: Fleet) -> None:
    """Every life but those before the shard's first snapshot, as the log tells."""
    log = fleet.log("matcher")
    for shard in fleet.shards:
        after = log.partition(f"shard {shard}: snapshot up to offset")[2]
        assert f"shard {shard}: no snapshot to start from" not in after
        assert re.search(
            rf"shard {shard}: \d+ subscriptions up to offset \d+ from a snapshot", after
        )


@pytest.mark.parametrize("lives", LIVES)
def test_a_matcher_killed_after_each_of_its_steps_loses_nothing(
    mortal: Fleet, order: Path, lives: str
):
    """What it restores is what its offset says: answers name it, and the oracle checks them."""
    starts = mortal.starts("matcher")
    with streaming(mortal, seed=1, pause_s=0.3) as stream:
        stream.wait_answers(30)
        order.write_text("\n".join(LIVES[lives]))
        mortal.kill("matcher")  # each one that follows takes an order
        wanted = starts + 1 + len(LIVES[lives])
        eventually(lambda: mortal.starts("matcher") >= wanted, mortal.diagnosis, 240)
        mortal.wait_ready("matcher")
        stream.wait_answers(50)
    assert_started_from_snapshots(mortal)
    random_steps(mortal, seed=2, steps=60)
    mortal.check_all(repeats=True)
