"""`traceparent` and `tracestate` (W3C Trace Context): carried from an event to its match record.

Frames and partials have them in columns, of those events only that belong to a trace:

    traced rows i4[t] | trace lengths i4[2 t] | … | trace texts

A text is the value of `traceparent`, then that of `tracestate`, null where there is none.  Of the
shards that are asked about an event the lowest alone carries its trace.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from topics.codecs.byte_strings import ByteStrings
from topics.codecs.columns import CodecError, Count, check_lengths
from topics.headers import TRACEPARENT, TRACESTATE, Header

Trace = tuple[bytes, bytes | None]
"""The values of both headers."""

FIELDS = [("traced", "Q"), ("trace_bytes", "Q")]
NUMBERS: list[tuple[str, str, Count]] = [
    ("traced_rows", "<i4", "traced"),
    ("trace_lengths", "<i4", lambda header: 2 * header.traced),
]
TEXTS: list[tuple[str, str, Count]] = [("trace_texts", "u1", "trace_bytes")]

# Later versions may say more behind the flags.
_PARENT = re.compile(rb"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
_MOST_PARENT_BYTES, _MOST_STATE_BYTES = 128, 512


def trace_of(headers: Sequence[Header]) -> Trace | None:
    """The trace that a record belongs to; what is no `traceparent` is left out, as W3C says."""
    given = dict(headers)
    parent, state = given.get(TRACEPARENT), given.get(TRACESTATE)
    if parent is None or len(parent) > _MOST_PARENT_BYTES:
        return None
    found = _PARENT.match(parent)
    if not found or (found.end() < len(parent) and not _goes_on(parent, found.end())):
        return None
    return parent, None if state is None or len(state) > _MOST_STATE_BYTES else state


def _goes_on(parent: bytes, end: int) -> bool:
    return not parent.startswith(b"00") and parent[end : end + 1] == b"-"


class Traces(NamedTuple):
    rows: np.ndarray  # i4[t]  the events that belong to a trace, ascending
    texts: ByteStrings  # two of each of them

    @classmethod
    def of(cls, traces: Sequence[Trace | None]) -> "Traces":
        """
        >>> Traces.of([None, (b"00-1", None)]).headers()
        {1: [('traceparent', b'00-1')]}
        """
        if not any(traces):
            return NO_TRACES
        rows = [row for row, trace in enumerate(traces) if trace]
        texts = [text for trace in traces if trace for text in trace]
        return cls(np.array(rows, np.int32), ByteStrings.pack(texts))

    def where(self, chosen: np.ndarray) -> "Traces":
        """Those of the chosen of its rows."""
        if chosen.all():
            return self
        texts = self.texts.unpack()
        kept = [text for i in np.flatnonzero(chosen) for text in texts[2 * i : 2 * i + 2]]
        return Traces(self.rows[chosen], ByteStrings.pack(kept))

    def moved(self, wanted: np.ndarray) -> "Traces":
        """As the rows of those events alone that are wanted, among which all of its own are."""
        if self is NO_TRACES:
            return self
        return self._replace(rows=np.searchsorted(wanted, self.rows).astype(np.int32))

    def headers(self) -> dict[int, list[Header]]:
        """By event."""
        if self is NO_TRACES:
            return {}
        texts = iter(self.texts.unpack())
        return {row: list(_named(next(texts), next(texts))) for row in self.rows.tolist()}

    def as_columns(self) -> dict[str, Any]:
        """What `FIELDS`, `NUMBERS` and `TEXTS` name."""
        return {
            "traced": len(self.rows),
            "trace_bytes": self.texts.data.size,
            "traced_rows": self.rows,
            "trace_lengths": self.texts.lengths,
            "trace_texts": self.texts.data,
        }

    @classmethod
    def from_columns(cls, read: Any, events: int) -> "Traces":
        """Of a record that was read; `CodecError` if these are no traces of its events."""
        if not read.traced:
            return NO_TRACES
        check_lengths("traces", read.trace_lengths, read.trace_bytes)
        rows = read.traced_rows
        if rows[0] < 0 or rows[-1] >= events or (np.diff(rows) <= 0).any():
            raise CodecError(f"got traces of rows {rows[:10].tolist()}, expected some of {events}")
        return cls(rows, ByteStrings(read.trace_lengths, read.trace_texts))


def _named(parent: bytes | None, state: bytes | None) -> Iterator[Header]:
    yield TRACEPARENT, parent
    if state is not None:
        yield TRACESTATE, state


NO_TRACES = Traces(np.empty(0, np.int32), ByteStrings.pack([]))
