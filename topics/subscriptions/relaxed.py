"""Subscriptions of kind `relaxed`: one interval that holds is enough, and each has its weight.

{"where": {"age": [20, 35], "visits": {"ge": 3}}, "weights": {"age": 2.0, "visits": 0.5}}
"""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, NamedTuple

import msgspec
import numpy as np
from msgspec import UNSET, Meta, Struct, UnsetType

from topics.codecs.json_record import BadRecord, decode
from topics.subscriptions.bounds import Interval, by_attribute, ends_of

EXPECTED = 'an object such as {"where": {"age": [20, 35]}, "weights": {"age": 2.0}}'

Weight = Annotated[float, Meta(gt=0)]


class RelaxedSubscription(Struct, frozen=True, forbid_unknown_fields=True):
    """Matches an event when an interval holds; the score is the sum of the weights of those."""

    where: Annotated[
        dict[str, Interval], Meta(min_length=1, description="interval by attribute, at least one")
    ]
    weights: Annotated[
        dict[str, Weight], Meta(min_length=1, description="a weight for each interval, no others")
    ]


class RelaxedColumns(NamedTuple):
    """Parsed subscriptions in columns; NaN where an attribute is not constrained."""

    lows: np.ndarray  # f8[n, d]
    highs: np.ndarray  # f8[n, d]
    weights: np.ndarray  # f8[n, d]


class RelaxedContract:
    """Parses subscriptions of one relaxed collection, attribute by attribute."""

    def __init__(self, attributes: Sequence[str]) -> None:
        self.attributes = tuple(attributes)
        where = by_attribute("Where", Interval, self.attributes)
        weights = by_attribute("Weights", Weight, self.attributes)
        record = msgspec.defstruct(
            "RelaxedSubscription",
            [("where", where), ("weights", weights)],
            forbid_unknown_fields=True,
        )
        self._decoder = msgspec.json.Decoder(record)

    def parse(self, value: bytes) -> tuple[list[float], list[float], list[float]]:
        """Lows, highs and weights of one record, or `BadRecord`."""
        record = decode(self._decoder, value, EXPECTED)
        intervals = msgspec.structs.astuple(record.where)
        weights = msgspec.structs.astuple(record.weights)
        lows, highs = ends_of(self.attributes, intervals)
        return lows, highs, self._weights(intervals, weights)

    def _weights(
        self, intervals: Sequence[object], weights: Sequence[float | UnsetType]
    ) -> list[float]:
        for name, interval, weight in zip(self.attributes, intervals, weights, strict=True):
            if interval is not UNSET and weight is UNSET:
                raise BadRecord(f"weights.{name}", "got nothing, expected a weight as in where")
            if interval is UNSET and weight is not UNSET:
                raise BadRecord(f"weights.{name}", f"got {weight}, expected an interval in where")
        given = [math.nan if weight is UNSET else weight for weight in weights]
        constrained = [weight for weight in given if not math.isnan(weight)]
        if not constrained:
            raise BadRecord("where", "got no interval, expected at least one")
        if math.isinf(sum(constrained)):
            raise BadRecord("weights", f"got {constrained}, expected weights with a finite sum")
        return given

    def columns_at_once(self, values: Sequence[bytes]) -> None:
        return None

    def columns(
        self, rows: Sequence[tuple[list[float], list[float], list[float]]]
    ) -> RelaxedColumns:
        shape = (len(rows), len(self.attributes))
        lows, highs, weights = (
            np.array([row[part] for row in rows], np.float64).reshape(shape) for part in range(3)
        )
        return RelaxedColumns(lows, highs, weights)

    def to_arrays(self, columns: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
        return dict(zip(RelaxedColumns._fields, columns, strict=True))

    def from_arrays(self, arrays: Mapping[str, np.ndarray]) -> RelaxedColumns:
        return RelaxedColumns(*(arrays[name] for name in RelaxedColumns._fields))
