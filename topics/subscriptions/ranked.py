"""Subscriptions of kind `ranked`: every interval has to hold, and the score is their own.

{"where": {"age": [20, 35], "visits": {"ge": 3, "lt": 9}}, "score": 7.5}
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta, Struct

from topics.codecs.json_record import decode
from topics.subscriptions.bounds import Interval, by_attribute, ends_of
from topics.subscriptions.fast_path import usual_intervals

EXPECTED = 'an object such as {"where": {"age": [20, 35]}, "score": 7.5}'


class RankedSubscription(Struct, frozen=True, forbid_unknown_fields=True):
    """Matches an event when every interval holds; the highest scores are delivered."""

    where: Annotated[dict[str, Interval], Meta(description="interval by attribute; {} is all")]
    score: float


class RankedColumns(NamedTuple):
    """Parsed subscriptions in columns; NaN ends mean that the attribute is not constrained."""

    lows: np.ndarray  # f8[n, d]
    highs: np.ndarray  # f8[n, d]
    scores: np.ndarray  # f8[n]


class RankedContract:
    """Parses subscriptions of one ranked collection, attribute by attribute."""

    def __init__(self, attributes: Sequence[str]) -> None:
        self.attributes = tuple(attributes)
        where = by_attribute("Where", Interval, self.attributes)
        record = msgspec.defstruct(
            "RankedSubscription", [("where", where), ("score", float)], forbid_unknown_fields=True
        )
        self._decoder = msgspec.json.Decoder(record)

    def parse(self, value: bytes) -> tuple[list[float], list[float], float]:
        """Lows, highs and score of one record, or `BadRecord`."""
        record = decode(self._decoder, value, EXPECTED)
        intervals = msgspec.structs.astuple(record.where)
        return *ends_of(self.attributes, intervals), record.score

    def columns_at_once(self, values: Sequence[bytes]) -> RankedColumns | None:
        columns = usual_intervals(self.attributes).columns(values)
        return None if columns is None else RankedColumns(*columns)

    def columns(self, rows: Sequence[tuple[list[float], list[float], float]]) -> RankedColumns:
        shape = (len(rows), len(self.attributes))
        return RankedColumns(
            np.array([low for low, _, _ in rows], np.float64).reshape(shape),
            np.array([high for _, high, _ in rows], np.float64).reshape(shape),
            np.array([score for _, _, score in rows], np.float64),
        )

    def to_arrays(self, columns: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
        return dict(zip(RankedColumns._fields, columns, strict=True))

    def from_arrays(self, arrays: Mapping[str, np.ndarray]) -> RankedColumns:
        return RankedColumns(*(arrays[name] for name in RankedColumns._fields))
