"""Many subscriptions parsed at once, where they are written in the usual way.

What is not usual, such as a bad record, is left to the contract, which looks at each record by
itself and knows what to say about it.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain
from math import inf, nan
from operator import attrgetter

import msgspec
import numpy as np

from topics.codecs.json_record import struct_of

__all__ = ["UsualIntervals", "usual_intervals"]

Ends = tuple[float | None, float | None]
_NOT_CONSTRAINED = (inf, -inf)  # no number of JSON is infinite


@lru_cache(maxsize=16)
def usual_intervals(attributes: tuple[str, ...]) -> "UsualIntervals":
    return UsualIntervals(attributes)


class UsualIntervals:
    """Ranked subscriptions whose intervals are all written as [low, high]."""

    def __init__(self, attributes: tuple[str, ...]) -> None:
        # Nothing of this can be part of a cycle, and telling the collector so saves half the time.
        where = struct_of(
            "Where", attributes, Ends, _NOT_CONSTRAINED, forbid_unknown_fields=True, gc=False
        )
        record = msgspec.defstruct(
            "Ranked", [("where", where), ("score", float)], forbid_unknown_fields=True, gc=False
        )
        self._decoder = msgspec.json.Decoder(record)
        self._ends = [attrgetter(f"where.{field}") for field in where.__struct_fields__]

    def columns(self, values: Sequence[bytes]) -> tuple[np.ndarray, ...] | None:
        """Lows, highs and scores; None if these have to be parsed one by one."""
        lines = b"\n".join(values)
        if not _is_an_object_a_line(lines, len(values)):
            return None
        try:
            records = self._decoder.decode_lines(lines)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        if len(records) != len(values):
            return None
        lows, highs = np.empty((2, len(values), len(self._ends)))
        for j, ends_of in enumerate(self._ends):
            lows[:, j], highs[:, j] = _closed(map(ends_of, records), len(records))
        if (lows > highs).any():
            return None
        scores = np.fromiter(map(attrgetter("score"), records), np.float64, len(records))
        return (lows, highs, scores)


def _is_an_object_a_line(lines: bytes, count: int) -> bool:
    """Whether no value has a line break, and each begins and ends as an object does.

    A document that is cut short is then never completed by the next line: behind a brace that
    closes, none that opens may follow.
    """
    breaks = count - 1
    return (
        lines[:1] == b"{"
        and lines[-1:] == b"}"
        and lines.count(b"\n") == breaks
        and lines.count(b"}\n{") == breaks
    )


def _closed(ends: Iterable[Ends], count: int) -> tuple[np.ndarray, np.ndarray]:
    """Lows and highs: a missing end becomes infinite, and NaN where nothing is constrained."""
    # numpy makes a NaN of None.
    flat = np.fromiter(chain.from_iterable(ends), np.float64, 2 * count)
    lows, highs = flat[::2], flat[1::2]
    free = lows == inf
    lows, highs = np.where(np.isnan(lows), -inf, lows), np.where(np.isnan(highs), inf, highs)
    return np.where(free, nan, lows), np.where(free, nan, highs)
