"""The slow and obvious way to answer: look at every subscription, sort what holds.

This is what the fleet is checked with, so it shares no code with it: the records of the
`subscriptions` topic are read with `json` into the columns of a `Ledger`, one row a record, and an
answer is a few comparisons over all rows.
"""

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

FOREVER = np.iinfo(np.int64).max

Hit = tuple[str, float]  # id, score
Ends = tuple[float | None, float | None]
LogRecord = tuple[int, bytes, bytes | None]  # offset, key, value


class Ledger(NamedTuple):
    """Every subscription that ever was, by shard and offset; rows of one shard lie together.

    A row counts from its own offset on, until the next record of the same key.
    """

    attributes: tuple[str, ...]
    ids: list[str]
    shards: np.ndarray  # i8[n]
    since: np.ndarray  # i8[n]  the record's offset
    until: np.ndarray  # i8[n]  offset of the record that replaced it, or FOREVER
    wanted: np.ndarray  # b1[d, n]  whether the attribute is constrained
    lows: np.ndarray  # f8[d, n]  -inf where there is no end
    highs: np.ndarray  # f8[d, n]
    scores: np.ndarray  # f8[n]

    def where(self, row: int) -> dict[str, Ends]:
        """The intervals of one row, `None` for an end that it does not have."""
        return {
            name: (_end(self.lows[column, row]), _end(self.highs[column, row]))
            for column, name in enumerate(self.attributes)
            if self.wanted[column, row]
        }


def read_log(partitions: Sequence[Sequence[LogRecord]], attributes: Sequence[str]) -> Ledger:
    """`partitions[shard]` are the records of one partition in the order of their offsets."""
    ids: list[str] = []
    shards: list[int] = []
    since: list[int] = []
    until: list[int] = []
    scores: list[float] = []
    intervals: list[tuple[Ends | None, ...]] = []
    for shard, records in enumerate(partitions):
        row_of: dict[bytes, int] = {}
        for offset, key, value in records:
            if (replaced := row_of.pop(key, None)) is not None:
                until[replaced] = offset
            if value is None:
                continue
            document = json.loads(value)
            row_of[key] = len(ids)
            ids.append(key.decode())
            shards.append(shard)
            since.append(offset)
            until.append(FOREVER)
            scores.append(document["score"])
            intervals.append(_intervals(document["where"], attributes))
    lows, highs, wanted = _columns(intervals, len(attributes))
    return Ledger(
        tuple(attributes),
        ids,
        np.array(shards, np.int64),
        np.array(since, np.int64),
        np.array(until, np.int64),
        wanted,
        lows,
        highs,
        np.array(scores, np.float64),
    )


def _intervals(where: Mapping[str, Ends], attributes: Sequence[str]) -> tuple[Ends | None, ...]:
    if not where.keys() <= set(attributes):
        raise ValueError(f"got conditions on {sorted(where)}, expected some of {list(attributes)}")
    return tuple(where.get(name) for name in attributes)


def _columns(
    intervals: Sequence[tuple[Ends | None, ...]], attributes: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    shape = (attributes, len(intervals))
    lows, highs = np.full(shape, -np.inf), np.full(shape, np.inf)
    wanted = np.zeros(shape, bool)
    for row, ends in enumerate(intervals):
        for column, interval in enumerate(ends):
            if interval is None:
                continue
            low, high = interval
            wanted[column, row] = True
            if low is not None:
                lows[column, row] = low
            if high is not None:
                highs[column, row] = high
    return lows, highs, wanted


def top_k(
    ledger: Ledger, event: Mapping[str, float | None], as_of: Mapping[int, int], k: int
) -> list[int]:
    """Rows of the best k, by score, then the older offset, then the lower shard."""
    rows = matching(ledger, event, as_of, as_of)
    order = np.lexsort((ledger.shards[rows], ledger.since[rows], -ledger.scores[rows]))
    best: list[int] = rows[order[:k]].tolist()
    return best


def hits(ledger: Ledger, rows: Sequence[int]) -> list[Hit]:
    return [(ledger.ids[row], float(ledger.scores[row])) for row in rows]


def matching(
    ledger: Ledger,
    event: Mapping[str, float | None],
    from_state: Mapping[int, int],
    to_state: Mapping[int, int],
) -> np.ndarray:
    """Rows that match the event and were live in every state from one to the other.

    A state is the last offset that each shard had applied. An attribute that the event lacks
    satisfies no condition.
    """
    found = []
    for shard, first in from_state.items():
        start, end = np.searchsorted(ledger.shards, [shard, shard + 1])
        part = slice(start, end)
        holds = (ledger.since[part] <= first) & (ledger.until[part] > to_state[shard])
        for column, name in enumerate(ledger.attributes):
            given = event.get(name)
            value = np.nan if given is None else float(given)
            inside = (ledger.lows[column, part] <= value) & (value <= ledger.highs[column, part])
            holds &= inside | ~ledger.wanted[column, part]
        found.append(start + np.flatnonzero(holds))
    return np.concatenate(found)


def _end(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
