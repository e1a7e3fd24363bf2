"""Random changes and events, interleaved without waiting, for collections of any shape."""

import random
from collections.abc import Sequence
from typing import Any

from tests.fleet import places
from tests.fleet.fleet import Fleet

NAMES = ["age", "colour"]  # where the collection names none
IDS = [f"ad-{number}" for number in range(14)]


def random_steps(fleet: Fleet, seed: int, steps: int) -> None:
    random_ = random.Random(seed)
    for _ in range(steps):
        step = random_.choices(
            [subscribe, unsubscribe, publish, publish_after_all, misuse], [8, 3, 12, 2, 1]
        )[0]
        step(fleet, random_)


def subscribe(fleet: Fleet, random_: random.Random) -> None:
    if fleet.declared.kind == "spatial_text":
        of = fleet.declared.space, fleet.declared.attributes
        fleet.subscribe_with(random_.choice(IDS), places.subscription(random_, *of))
        return
    if fleet.declared.kind == "boolean":
        fleet.subscribe_with(random_.choice(IDS), expression(random_, fleet.declared.attributes))
        return
    relaxed = fleet.declared.kind == "relaxed"
    names = fleet.declared.attributes
    constrained = random_.sample(names, random_.randint(int(relaxed), len(names)))
    where = {name: interval(random_) for name in constrained}
    if relaxed:
        document = {"where": where, "weights": {name: random_.randint(1, 3) for name in where}}
    else:
        document = {"where": where, "score": random_.randint(0, 3)}
    fleet.subscribe_with(random_.choice(IDS), document)


def expression(random_: random.Random, names: Sequence[str]) -> dict:
    def conjunction() -> dict:
        return {"all": [predicate(random_, names) for _ in range(random_.randint(1, 3))]}

    if random_.random() < 0.7:
        return conjunction()
    return {"any": [conjunction() for _ in range(random_.randint(1, 3))]}


def predicate(random_: random.Random, names: Sequence[str]) -> dict:
    """On a few numbers and strings, weighted coarsely, so that ties are common."""
    operators = ["<", "<=", "=", "!=", ">=", ">", "in", "not in", "between"]
    op = random_.choice(operators)
    of_text = random_.random() < 0.4 and op in ("=", "!=", "in", "not in")
    values = ["red", "blue", ""] if of_text else [0, 1, 2, 3, 2.5]
    value: object = random_.choice(values)
    if op in ("in", "not in"):
        value = random_.choices(values, k=random_.randint(1, 3))
    elif op == "between":
        low = random_.randint(0, 3)
        value = random_.choice([[low, low + 1], [None, low], [low, None]])
    made = {"attr": random_.choice(names or NAMES), "op": op, "value": value}
    return made if random_.random() < 0.3 else {**made, "weight": random_.choice([0, 0.5, 1, 2])}


def interval(random_: random.Random) -> list | dict:
    """Coarse, so that ties and values on an end are common."""
    low = random_.randint(0, 4)
    high = low + random_.randint(0, 2)
    forms = [[low, high], [low, None], [None, high], {"gt": low, "lt": high + 1}, {"ge": low}]
    return random_.choice(forms)


def unsubscribe(fleet: Fleet, random_: random.Random) -> None:
    fleet.unsubscribe(random_.choice(IDS))


def publish(fleet: Fleet, random_: random.Random, after: str | None = None) -> None:
    values: list = [0, 1, 2, 3, 4, 5, 2.5, None]
    if fleet.declared.kind == "boolean":
        values += ["red", "blue", "green", {"value": "red", "weight": 2}]
        values += [{"value": 2, "weight": weight} for weight in (0, 0.5)]
    if fleet.declared.kind == "spatial_text":
        event = places.event(random_, fleet.declared.space, fleet.declared.attributes)
    else:
        event = {
            attribute: random_.choice(values)
            for attribute in (*(fleet.declared.attributes or NAMES), "other")
            if random_.random() < 0.8
        }
    k = random_.choice([None, 0, 1, 2, 5, 20])
    key = random_.choice([None, b"", b"v-1", b"v-2"])
    fleet.publish(event, key, k, after, partition=any_partition(fleet, random_))


def publish_after_all(fleet: Fleet, random_: random.Random) -> None:
    publish(fleet, random_, fleet.token() or None)


def misuse(fleet: Fleet, random_: random.Random) -> None:
    name = (fleet.declared.attributes or NAMES)[0]
    if fleet.declared.kind == "spatial_text" and random_.random() < 0.5:
        fleet.subscribe_with(IDS[0], random_.choice(places.BAD))
    elif random_.random() < 0.5:
        fleet.subscribe(IDS[0], {name: [3, 2]}, 1)
    else:
        event: Any = {name: [3]} if fleet.declared.attributes else [3]
        partition = any_partition(fleet, random_)
        fleet.publish(event, partition=partition, refused=True)


def any_partition(fleet: Fleet, random_: random.Random) -> int:
    return random_.randrange(fleet.declared.partitions.events)
