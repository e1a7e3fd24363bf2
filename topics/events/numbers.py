"""Events of numbers, in a matrix: what kinds of intervals are matched with."""

import math
from collections.abc import Sequence
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta, Struct

from topics.codecs.json_record import decode, struct_of

EXPECTED = 'an object of attributes such as {"age": 28}'


class Weighted(Struct, frozen=True, forbid_unknown_fields=True):
    """A value with the weight that it carries in kinds that score by the event."""

    value: float
    weight: Annotated[float, Meta(ge=0)] = 1.0


AttributeValue = float | Weighted | None
"""A number, a weighted number, or null, which is the same as absent."""


class NumberEvents:
    """Decodes the events of one collection to rows of numbers."""

    def __init__(self, attributes: Sequence[str]) -> None:
        self.attributes = tuple(attributes)
        self._decoder = msgspec.json.Decoder(
            struct_of("Event", self.attributes, AttributeValue, math.nan)
        )

    def row(self, value: bytes | None) -> tuple:
        """The attribute values of one event in order, NaN or None where absent."""
        return msgspec.structs.astuple(decode(self._decoder, value, EXPECTED))

    def columns(self, rows: Sequence[tuple]) -> np.ndarray:
        """f8[m, d] with NaN for an absent attribute."""
        shape = (len(rows), len(self.attributes))
        try:
            return np.array(rows, np.float64).reshape(shape)
        except TypeError:  # a weighted value is among them
            plain = [[v.value if isinstance(v, Weighted) else v for v in row] for row in rows]
            return np.array(plain, np.float64).reshape(shape)

    def chosen(self, columns: np.ndarray, rows: Sequence[tuple], wanted: np.ndarray) -> np.ndarray:
        return columns[wanted]

    def numbers(self, columns: np.ndarray) -> np.ndarray:
        return columns

    def packed_bytes(self, row: tuple) -> int:
        """About how much room an event takes in a frame."""
        return 8 * len(row)

    def pack(self, columns: np.ndarray) -> np.ndarray:
        return columns

    def unpack(self, payload: np.ndarray) -> np.ndarray:
        return payload
