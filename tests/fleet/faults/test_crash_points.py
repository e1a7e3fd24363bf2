"""A matcher or a node that is killed right after each single step that it takes."""

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
    "sharded": {
        "feed and frames": ["read 1", "apply 1", "answer 2", "send 2", "apply 40"],
        "snapshots and commits": [
            "commit 2",
            "commit-frames 1",
            "gather 1",
            "chunk 1",
            "swap 1",
            "swap 2",
        ],
    },
    "replicated": {
        "a node's": ["apply 1", "answer-events 2", "write-matches 3", "commit-events 2", "swap 1"],
    },
}


@pytest.fixture(scope="module")
def order(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("order") / "die-after"


@pytest.fixture(scope="module")
def mortal(
    request: pytest.FixtureRequest,
    make_fleet: MakeFleet,
    broker: str,
    redis_url: str,
    order: Path,
) -> Iterator[Fleet]:
    fleet = make_fleet(
        "steps", broker, redis_url, collection={"layout": request.param}, settings=OFTEN
    )
    fleet.patience_s = 150.0
    fleet.entry, fleet.variables = "tests.fleet.mortal_worker", {"DIE_AFTER": str(order)}
    fleet.start_all()
    yield fleet
    fleet.stop()


def test_every_step_has_its_turn():
    orders = [order for lives in LIVES.values() for some in lives.values() for order in some]
    named = {order.split()[0] for order in orders}
    assert named == STEPS.keys()


def assert_started_from_snapshots(fleet: Fleet) -> None:
    """Every life but those before the shard's first snapshot, as the log tells."""
    log = fleet.log(fleet.holder)
    for shard in fleet.shards:
        after = log.partition(f"shard {shard}: snapshot up to offset")[2]
        assert f"shard {shard}: no snapshot to start from" not in after
        assert re.search(
            rf"shard {shard}: \d+ subscriptions up to offset \d+ from a snapshot", after
        )


@pytest.mark.parametrize(
    ("mortal", "lives"),
    [(layout, name) for layout, lives in LIVES.items() for name in lives],
    indirect=["mortal"],
)
def test_a_worker_killed_after_each_of_its_steps_loses_nothing(
    mortal: Fleet, order: Path, lives: str
):
    """What it restores is what its offset says: answers name it, and the oracle checks them."""
    holder, orders = mortal.holder, LIVES[mortal.declared.layout][lives]
    starts = mortal.starts(holder)
    with streaming(mortal, seed=1, pause_s=0.3) as stream:
        stream.wait_answers(30)
        order.write_text("\n".join(orders))
        mortal.kill(holder)  # each one that follows takes an order
        wanted = starts + 1 + len(orders)
        eventually(lambda: mortal.starts(holder) >= wanted, mortal.diagnosis, 240)
        mortal.wait_ready(holder)
        stream.wait_answers(50)
    assert_started_from_snapshots(mortal)
    random_steps(mortal, seed=2, steps=60)
    mortal.check_all(repeats=True)
