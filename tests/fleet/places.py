"""Random subscriptions and events of places and words, coarse, so that edges and corners meet."""

import random
from typing import Any

WORDS = ["pizza", "pizzas", "vegan", "happy", "hour", "beer"]
XS = [-180, -179, -1, 0, 1, 2, 90, 178, 179, 180]
YS = [-90, -89, -2, -1, 0, 1, 2, 60, 89, 90]
RADII = {"sphere": [0, 1000, 111_195, 500_000, 5_000_000], "plane": [0, 1, 2, 5.5]}
BAD: list[dict[str, Any]] = [
    {"tokens": ["pizza"]},
    {"box": [0, 1, 2, 0], "tokens": ["pizza"]},
    {"box": [0, 0, 1, 1], "tokens": []},
    {"box": [0, 0, 1, 1], "tokens": ["happy hour"]},
    {"area": {"circle": [0, 0, -1]}, "tokens": ["pizza"]},
]


def subscription(random_: random.Random, space: str, attributes: tuple[str, ...]) -> dict:
    document = area(random_, space)
    if random_.random() < 0.8:
        document["tokens"] = random_.sample(WORDS, random_.choice([1, 1, 2]))
    if "tokens" not in document or random_.random() < 0.2:
        document["phrase"] = " ".join(random_.choices(WORDS, k=random_.randint(1, 2)))
    if random_.random() < 0.2:
        document["any"] = random_.sample(WORDS, 2)
    if random_.random() < 0.2:
        document["none"] = random_.sample(WORDS, 1)
    if random_.random() < 0.7:
        document["score"] = random_.choice([0, 1, 2, 2.5])
    if random_.random() < 0.3:
        document["decay"] = {
            "metres": random_.choice([1000, 1e6]),
            "offset": random_.choice([0, 100]),
        }
        if "circle" not in document.get("area", {}):
            document["decay"]["at"] = point(random_)
    if attributes and random_.random() < 0.3:
        document["where"] = {random_.choice(attributes): random_.choice([[2, None], [1, 3]])}
    return document


def area(random_: random.Random, space: str) -> dict[str, Any]:
    x, y = point(random_)
    chance = random_.random()
    if chance < 0.4:
        return {"box": box(random_, space)}
    if chance < 0.7:
        return {"area": {"circle": [x, y, random_.choice(RADII[space])]}}
    west, south = random_.choice([-170, 0, 175, 178]), random_.choice([-5, 0, 5])
    steps = [(0, 0), (6, 0), (6, 6), (1, 5), (0, 0)]
    ring = [[turned(west + dx, space), south + dy] for dx, dy in steps]
    return {"area": {"type": "Polygon", "coordinates": [ring]}}


def box(random_: random.Random, space: str) -> list[float]:
    west, south = point(random_)
    east = turned(west + random_.choice([0, 1, 3, 200]), space)
    return [west, south, east, min(90, south + random_.choice([0, 1, 3]))]


def point(random_: random.Random) -> list[float]:
    return [random_.choice(XS), random_.choice(YS)]


def turned(x: float, space: str) -> float:
    return x - 360 if x > 180 and space == "sphere" else x


def event(random_: random.Random, space: str, attributes: tuple[str, ...]) -> dict[str, Any]:
    document: dict[str, Any] = {"other": [1]}
    if random_.random() < 0.6:
        document["point"] = point(random_)
    else:
        document["box"] = box(random_, space)
    said = random_.choices(WORDS, k=random_.randint(0, 8))
    if random_.random() < 0.8:
        document["text"] = ", ".join(said).capitalize()
    else:
        document["tokens"] = said
    values = [0, 1, 2, 3, 2.5, None]
    return document | {
        name: random_.choice(values) for name in attributes if random_.random() < 0.8
    }
