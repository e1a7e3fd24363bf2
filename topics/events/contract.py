"""`events`: what happens, to be matched with the subscriptions.

Key: any; it becomes the key of the match record.  Value: a flat JSON object of attributes, so
that an existing topic can be matched as it is: fields that the collection does not name are
ignored.  Headers: `podium-k` (how many matches), `podium-after` (a consistency token).

    {"age": 28, "credit_score": {"value": 441, "weight": 0.3}, "page": "/home"}

Most kinds are matched with numbers, which become a matrix; kind `boolean` with numbers, strings
and weights (`topics.events.mixed`).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta, Struct

from topics.codecs.attribute_struct import struct_of
from topics.codecs.json_record import BadRecord, decode
from topics.events.mixed import MixedColumns, MixedRows
from topics.frames import fingerprint
from topics.tokens import AFTER, parse_token

K = "podium-k"
EXPECTED = 'an object of attributes such as {"age": 28}'


class Weighted(Struct, frozen=True, forbid_unknown_fields=True):
    """A value with the weight that it carries in kinds that score by the event."""

    value: float
    weight: Annotated[float, Meta(ge=0)] = 1.0


AttributeValue = float | Weighted | None
"""A number, a weighted number, or null, which is the same as absent."""


class Options(NamedTuple):
    """What an event's headers ask for."""

    k: int
    after: Mapping[int, int]  # subscription offset to wait for, by shard


class NumberRows:
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

    def numbers(self, columns: np.ndarray) -> np.ndarray:
        return columns

    def packed_bytes(self, row: tuple) -> int:
        """About how much room an event takes in a frame."""
        return 8 * len(row)


class EventContract:
    """Decodes the events of one collection: `row` one by one, `columns` many at once."""

    def __init__(
        self, kind: str, attributes: Sequence[str], k: int, max_k: int, shards: int
    ) -> None:
        self.max_k, self.shards = max_k, shards
        self.fingerprint = fingerprint(kind, attributes)
        self._no_options = Options(k, {})
        reader = MixedRows(attributes) if kind == "boolean" else NumberRows(attributes)
        self.row: Callable[[bytes | None], Any] = reader.row
        self.columns: Callable[[Sequence[Any]], np.ndarray | MixedColumns] = reader.columns
        self.numbers: Callable[[Any], np.ndarray] = reader.numbers  # of columns: f8[m, d]
        self.packed_bytes: Callable[[Any], int] = reader.packed_bytes

    def options(self, headers: Sequence[tuple[str, bytes | None]] | None) -> Options:
        if not headers:
            return self._no_options
        k, after = self._no_options
        for name, value in headers:
            if name == K:
                k = self._parse_k(_text(K, value))
            elif name == AFTER:
                after = self._parse_after(_text(AFTER, value))
        return Options(k, after)

    def _parse_k(self, text: str) -> int:
        if not text.isascii() or not text.isdigit() or len(text) > 9 or int(text) > self.max_k:
            raise BadRecord(K, f"got {text[:40]!r}, expected a whole number from 0 to {self.max_k}")
        return int(text)

    def _parse_after(self, text: str) -> Mapping[int, int]:
        if text.count(",") >= self.shards:
            parts = text.count(",") + 1
            raise BadRecord(AFTER, f"got {parts} parts, expected at most one a shard")
        try:
            after = parse_token(text)
        except ValueError as error:
            raise BadRecord(AFTER, str(error)) from None
        if unknown := [shard for shard in after if shard >= self.shards]:
            raise BadRecord(
                AFTER, f"got shard {unknown[0]}, expected one of 0 to {self.shards - 1}"
            )
        return after


def _text(name: str, value: bytes | None) -> str:
    try:
        return (value or b"").decode()
    except UnicodeDecodeError:
        raise BadRecord(name, f"got {value!r:.60}, expected text") from None
