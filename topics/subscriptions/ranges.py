"""Subscriptions of kind `range_topk`: the k best objects whose x is in a range.

{"range": [10, 50], "k": 5}
"""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, NamedTuple

import msgspec
import numpy as np
from msgspec import UNSET, Meta, Struct, UnsetType

from topics.codecs.json_record import BadRecord, decode

EXPECTED = 'an object such as {"range": [10, 50], "k": 5}'

MOST_OBJECTS = 10_000  # that any list may have

Range = Annotated[
    tuple[float | None, float | None],
    Meta(description="[low, high], both included; null is no end"),
]
Count = Annotated[
    int, Meta(ge=1, description="objects that are wanted, at most the collection's k")
]


class RangeSubscription(Struct, frozen=True, forbid_unknown_fields=True):
    """Keeps the k best objects of the range: lowest y, then lowest x, then lowest id."""

    range: Range
    k: Count | UnsetType = UNSET


class RangeColumns(NamedTuple):
    lows: np.ndarray  # f8[n]
    highs: np.ndarray  # f8[n]
    ks: np.ndarray  # i4[n]  the collection's where none is given


_decoder = msgspec.json.Decoder(RangeSubscription)


class RangeContract:
    """Parses subscriptions of a collection with this k; the kind has no attributes."""

    def __init__(self, attributes: Sequence[str] = (), k: int = MOST_OBJECTS) -> None:
        self.attributes = tuple(attributes)
        self._k = k

    def parse(self, value: bytes) -> tuple[float, float, int]:
        record = decode(_decoder, value, EXPECTED)
        low, high = record.range
        low = -math.inf if low is None else low + 0.0  # -0.0 is 0.0
        high = math.inf if high is None else high + 0.0
        if low > high:
            got = msgspec.json.encode(record.range).decode()
            raise BadRecord("range", f"got {got}, expected low <= high")
        k = self._k if record.k is UNSET else record.k
        if k > self._k:
            raise BadRecord("k", f"got {k}, expected 1 to {self._k}, the collection's k")
        return low, high, k

    def columns_at_once(self, values: Sequence[bytes]) -> RangeColumns | None:
        return None

    def columns(self, rows: Sequence[tuple[float, float, int]]) -> RangeColumns:
        return RangeColumns(
            np.array([low for low, _, _ in rows], np.float64),
            np.array([high for _, high, _ in rows], np.float64),
            np.array([k for _, _, k in rows], np.int32),
        )

    def to_arrays(self, columns: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
        return dict(zip(RangeColumns._fields, columns, strict=True))

    def from_arrays(self, arrays: Mapping[str, np.ndarray]) -> RangeColumns:
        return RangeColumns(*(arrays[name] for name in RangeColumns._fields))
