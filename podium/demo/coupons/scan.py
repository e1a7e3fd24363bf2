"""The slow and obvious way to answer: look at every coupon, sort those that hold.

This is what the fleet is checked with, so it shares no code with it: records are read with `json`,
words are what a regular expression finds, distances are haversines.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import Stemmer

from podium.demo.scan import FOREVER, Hit, LogRecord

EARTH_M = 6_371_008.8
_METRES_A_DEGREE = EARTH_M * math.pi / 180
_WORD = re.compile(r"[^\W_]+")
_ROOM = 1.01  # by which a first look is too generous


class Ledger(NamedTuple):
    """Every coupon that ever was, a row a record, from its own offset to the next of its key.

    A row holds nowhere but within `reach` of its middle, in degrees.
    """

    ids: list[str]
    documents: list[dict[str, Any]]
    words: list[dict[str, list[str]]]  # by the field that they are of
    shards: np.ndarray  # i8[n]
    since: np.ndarray  # i8[n]  the record's offset
    until: np.ndarray  # i8[n]  offset of the record that replaced it, or FOREVER
    middles: np.ndarray  # f8[n, 2]
    reach: np.ndarray  # f8[n, 2]


class Words:
    """Texts to stems, each in order."""

    def __init__(self, language: str | None) -> None:
        self._stem = Stemmer.Stemmer(language).stemWord if language else str

    def of(self, text: str) -> list[str]:
        return [self._stem(word) for word in _WORD.findall(text.lower())]


def read_log(partitions: Sequence[Sequence[LogRecord]], words: Words) -> Ledger:
    """`partitions[shard]` are the records of one partition in the order of their offsets."""
    ids: list[str] = []
    documents: list[dict[str, Any]] = []
    times: list[tuple[int, int]] = []  # shard and offset
    until: list[int] = []
    for shard, records in enumerate(partitions):
        row_of: dict[bytes, int] = {}
        for offset, key, value in records:
            if (replaced := row_of.pop(key, None)) is not None:
                until[replaced] = offset
            if value is not None:
                row_of[key] = len(ids)
                ids.append(key.decode())
                documents.append(json.loads(value))
                times.append((shard, offset))
                until.append(FOREVER)
    shards, since = np.array(times, np.int64).reshape(-1, 2).T
    spans = np.array([_span(document) for document in documents]).reshape(-1, 4)
    return Ledger(
        ids,
        documents,
        [_asked(document, words) for document in documents],
        shards,
        since,
        np.array(until, np.int64),
        spans[:, :2],
        spans[:, 2:],
    )


def _asked(document: Mapping[str, Any], words: Words) -> dict[str, list[str]]:
    fields = {name: document.get(name, []) for name in ("tokens", "any", "none")}
    asked = {name: words.of(" ".join(given)) for name, given in fields.items()}
    return asked | {"phrase": words.of(document.get("phrase", ""))}


def _span(document: Mapping[str, Any]) -> tuple[float, float, float, float]:
    """The middle of an area and how far it reaches, in longitude and latitude."""
    if "box" in document:
        west, south, east, north = document["box"]
        east += 360.0 * (east < west)
        return (west + east) / 2, (south + north) / 2, (east - west) / 2, (north - south) / 2
    if "circle" in document["area"]:
        x, y, metres = document["area"]["circle"]
        north = metres / _METRES_A_DEGREE
        return x, y, north / math.cos(math.radians(min(89.0, abs(y) + north))), north
    (ring,) = document["area"]["coordinates"]
    first = ring[0][0]
    xs, ys = [first + across(x, first) for x, _ in ring], [y for _, y in ring]
    west, east, south, north = min(xs), max(xs), min(ys), max(ys)
    return (west + east) / 2, (south + north) / 2, (east - west) / 2, (north - south) / 2


def top_k(
    ledger: Ledger, event: Mapping[str, Any], words: Words, as_of: Mapping[int, int], k: int
) -> list[tuple[float, int]]:
    """Scores and rows of the best k, by score, then the older offset, then the lower shard."""
    said = words.of(event["text"])
    found = []
    for row in _near(ledger, event["point"], as_of).tolist():
        score = _score(ledger.documents[row], ledger.words[row], event, said)
        if score is not None:
            found.append((-score, int(ledger.since[row]), int(ledger.shards[row]), row))
    return [(-negated, row) for negated, _, _, row in sorted(found)[:k]]


def agree(one: Sequence[Hit], other: Sequence[Hit]) -> bool:
    """The same coupons in the same order; distances may differ in the last digits."""
    return len(one) == len(other) and all(
        a == b and math.isclose(x, y, rel_tol=1e-9)
        for (a, x), (b, y) in zip(one, other, strict=True)
    )


def _near(ledger: Ledger, point: Sequence[float], as_of: Mapping[int, int]) -> np.ndarray:
    """Live rows that may hold at a point."""
    states = np.array([as_of[shard] for shard in range(len(as_of))], np.int64)[ledger.shards]
    live = (ledger.since <= states) & (ledger.until > states)
    off = np.abs(ledger.middles - np.array(point))
    off[:, 0] = np.abs((off[:, 0] + 180.0) % 360.0 - 180.0)
    rows: np.ndarray = np.flatnonzero(live & (off <= _ROOM * ledger.reach + 1e-9).all(axis=1))
    return rows


def _score(
    document: Mapping[str, Any],
    asked: Mapping[str, list[str]],
    event: Mapping[str, Any],
    said: Sequence[str],
) -> float | None:
    """None where something does not hold."""
    point, words = event["point"], set(said)
    if not words.issuperset(asked["tokens"]) or words.intersection(asked["none"]):
        return None
    if asked["any"] and words.isdisjoint(asked["any"]):
        return None
    if not _in_a_row(asked["phrase"], said) or not _is_inside(document, point):
        return None
    for name, (low, high) in document.get("where", {}).items():
        value = event.get(name)
        if (
            value is None
            or (low is not None and value < low)
            or (high is not None and value > high)
        ):
            return None
    score = float(document["score"])
    if "decay" not in document:
        return score
    far = metres(*document["area"]["circle"][:2], *point)
    return float(score * 2.0 ** (-far / document["decay"]["metres"]))


def _in_a_row(phrase: Sequence[str], said: Sequence[str]) -> bool:
    size = len(phrase)
    return any(list(said[i : i + size]) == phrase for i in range(len(said) - size + 1))


def _is_inside(document: Mapping[str, Any], point: Sequence[float]) -> bool:
    if "box" in document:
        x, y, reach_x, reach_y = _span(document)
        return abs(across(point[0], x)) <= reach_x and abs(point[1] - y) <= reach_y
    if "circle" in document["area"]:
        x, y, radius = document["area"]["circle"]
        return metres(x, y, *point) <= radius
    (ring,) = document["area"]["coordinates"]
    corners = [(across(x, point[0]), y - point[1]) for x, y in ring]
    crossed = 0  # edges that a ray from the point to the east meets
    for (x1, y1), (x2, y2) in pairwise(corners):
        if (y1 > 0) != (y2 > 0):
            crossed += x1 - y1 * (x2 - x1) / (y2 - y1) > 0
    return crossed % 2 == 1


def across(x: float, other: float) -> float:
    """How far a longitude is east of another one, from -180 to 180.

    >>> across(-179.0, 180.0)
    1.0
    """
    return (x - other + 180.0) % 360.0 - 180.0


def metres(x1: float, y1: float, x2: float, y2: float) -> float:
    """Along the great circle.

    >>> round(metres(0.0, 0.0, 0.0, 90.0))
    10007557
    """
    south, north = math.radians(y1), math.radians(y2)
    h = math.sin((north - south) / 2) ** 2
    h += math.cos(south) * math.cos(north) * math.sin(math.radians(x2 - x1) / 2) ** 2
    return 2 * EARTH_M * math.asin(min(1.0, math.sqrt(h)))
