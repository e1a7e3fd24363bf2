"""`events`: what happens, to be matched with the subscriptions.

Key: any; it becomes the key of the match record.  Value: a flat JSON object of attributes, so
that an existing topic can be matched as it is: fields that the collection does not name are
ignored.  Headers: `podium-k` (how many matches), `podium-after` (a consistency token), and
`traceparent` with `tracestate`, which the match record gets as well.

    {"age": 28, "credit_score": {"value": 441, "weight": 0.3}, "page": "/home"}

Most kinds are matched with numbers, which become a matrix (`topics.events.numbers`), some with
numbers, strings and weights (`topics.events.mixed`) or with places and words
(`topics.events.spatial_text`).
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from topics.codecs.json_record import BadRecord
from topics.headers import AFTER, TRACEPARENT, K, parse_token
from topics.traces import Trace, trace_of


class Options(NamedTuple):
    """What an event's headers ask for."""

    k: int
    after: Mapping[int, int]  # subscription offset to wait for, by shard
    trace: Trace | None = None  # that the event belongs to


class EventForm(Protocol):
    """How the events of a kind are read, and what they are in columns and in a frame."""

    def row(self, value: bytes | None) -> Any:
        """One record's event, or `BadRecord`."""

    def columns(self, rows: Sequence[Any]) -> Any:
        """Many rows at once, as an index takes them."""

    def chosen(self, columns: Any, rows: Sequence[Any], wanted: np.ndarray) -> Any:
        """Columns of those of the rows, by their positions, of which all are in `columns`."""

    def numbers(self, columns: Any) -> np.ndarray:
        """f8[m, d] of the attributes in order, NaN where an event has none: routes know these."""

    def packed_bytes(self, row: Any) -> int:
        """About how much room an event takes in a frame."""

    def pack(self, columns: Any) -> np.ndarray:
        """The payload of a frame: f8[m, d], or u1[n]."""

    def unpack(self, payload: np.ndarray) -> Any:
        """The columns that were packed, perhaps as views; `CodecError` if these are no such."""


class EventContract:
    """How the events of one collection are read: their form, and what their headers ask for."""

    def __init__(self, form: EventForm, fingerprint: int, k: int, max_k: int, shards: int) -> None:
        """`fingerprint` is of the kind and the attributes that `form` is of."""
        self.form, self.fingerprint = form, fingerprint
        self.max_k, self.shards = max_k, shards
        self._no_options = Options(k, {})

    def options(self, headers: Sequence[tuple[str, bytes | None]] | None) -> Options:
        if not headers:
            return self._no_options
        k, after, trace = self._no_options
        for name, value in headers:
            if name == K:
                k = self._parse_k(_text(K, value))
            elif name == AFTER:
                after = self._parse_after(_text(AFTER, value))
            elif name == TRACEPARENT:
                trace = trace_of(headers)
        return Options(k, after, trace)

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
