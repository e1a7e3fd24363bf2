"""The slow and obvious way to a list: look at every object, sort those of the range.

This is what the fleet is checked with, so it shares no code with it: the records of `objects` are
read with `json`.
"""

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

Listed = list[tuple[str, float, float]]  # id, x, y
LogRecord = tuple[int, bytes, bytes | None]  # offset, key, value


class Ask(NamedTuple):
    """A list as of an object record; -1: before any."""

    objects: int
    low: float
    high: float
    k: int


def lists_as_of(log: Sequence[LogRecord], asks: Iterable[Ask]) -> dict[Ask, Listed]:
    """All of them in one pass over the log."""
    ids = sorted({key for _, key, _ in log})
    row_of = {key: row for row, key in enumerate(ids)}
    xs, ys = np.full(len(ids), np.nan), np.full(len(ids), np.nan)
    found: dict[Ask, Listed] = {}
    at = 0
    for ask in sorted(set(asks)):
        while at < len(log) and log[at][0] <= ask.objects:
            _, key, value = log[at]
            place = {"x": np.nan, "y": np.nan} if value is None else json.loads(value)
            xs[row_of[key]], ys[row_of[key]] = place["x"], place["y"]
            at += 1
        inside = np.flatnonzero((xs >= ask.low) & (xs <= ask.high))
        # By y, then x, then id, of which rows are the order.
        best = inside[np.lexsort((inside, xs[inside], ys[inside]))][: ask.k].tolist()
        found[ask] = [(ids[row].decode(), float(xs[row]), float(ys[row])) for row in best]
    return found
