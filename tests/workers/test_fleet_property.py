"""Random changes and events, interleaved without waiting: every answer agrees with the oracle."""

import random

import pytest

from tests.workers.fleet import Fleet

IDS = [f"ad-{number}" for number in range(14)]
STEPS = 500


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_every_answer_is_the_top_k_of_the_subscriptions_it_names(fleet: Fleet, seed: int):
    random_ = random.Random(seed)
    for _ in range(STEPS):
        step = random_.choices(
            [subscribe, unsubscribe, publish, publish_after_all, misuse], [8, 3, 12, 2, 1]
        )[0]
        step(fleet, random_)
    fleet.check_all()


def subscribe(fleet: Fleet, random_: random.Random) -> None:
    attributes = random_.sample(["age", "visits"], random_.randint(0, 2))
    where = {attribute: interval(random_) for attribute in attributes}
    fleet.subscribe(random_.choice(IDS), where, random_.randint(0, 3))


def interval(random_: random.Random) -> list | dict:
    """Coarse, so that ties and values on an end are common."""
    low = random_.randint(0, 4)
    high = low + random_.randint(0, 2)
    forms = [[low, high], [low, None], [None, high], {"gt": low, "lt": high + 1}, {"ge": low}]
    return random_.choice(forms)


def unsubscribe(fleet: Fleet, random_: random.Random) -> None:
    fleet.unsubscribe(random_.choice(IDS))


def publish(fleet: Fleet, random_: random.Random, after: str | None = None) -> None:
    event = {
        attribute: random_.choice([0, 1, 2, 3, 4, 5, 2.5, None])
        for attribute in ("age", "visits", "other")
        if random_.random() < 0.8
    }
    k = random_.choice([None, 0, 1, 2, 5, 20])
    key = random_.choice([None, b"", b"v-1", b"v-2"])
    fleet.publish(event, key, k, after, partition=random_.randint(0, 3))


def publish_after_all(fleet: Fleet, random_: random.Random) -> None:
    publish(fleet, random_, fleet.token() or None)


def misuse(fleet: Fleet, random_: random.Random) -> None:
    if random_.random() < 0.5:
        fleet.send("subscriptions", b'{"where": {"age": [3, 2]}, "score": 1}', IDS[0].encode())
    else:
        fleet.publish(b'{"age": "three"}', partition=random_.randint(0, 3), refused=True)
