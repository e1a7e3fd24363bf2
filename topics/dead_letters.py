"""`subscriptions.dlq`, `events.dlq`: records that broke their contract, as they came.

Key, value and headers are the original's, to the byte; the headers below are added, so
that the record can be found (`podium-topic`, `podium-partition`, `podium-offset`), mended
(`podium-error`, `podium-error-field`) and sent again.

Only a record that its producer had compressed can be larger than this topic takes.  Of such a one
the first MiB of key and value are kept, and `podium-cut` says how long they were.  Of a batch that
cannot be read at all nothing is kept; `podium-error` names its offsets.
"""

from collections.abc import Sequence
from typing import NamedTuple

VERSION = 1  # of this set of headers, in `podium-version`

# What is kept in full; the topic takes 5 MiB, these headers included.
MOST_BYTES = 4 * 1024 * 1024 + 512 * 1024
KEPT_BYTES = 1024 * 1024
_FRAMING_BYTES = 10  # of a header: two lengths, as Kafka writes them, at most

Header = tuple[str, bytes | None]


class DeadLetter(NamedTuple):
    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[Header]
    error: str
    field: str

    @property
    def source(self) -> str:
        return f"{self.topic}[{self.partition}]@{self.offset}"

    @property
    def nbytes(self) -> int:
        """As Kafka counts it, or a little more."""
        headers = sum(
            len(name.encode()) + len(value or b"") + _FRAMING_BYTES for name, value in self.headers
        )
        return len(self.key or b"") + len(self.value or b"") + headers

    def fitting(self) -> "DeadLetter":
        """The letter as it is, or what can be kept of one that is too large."""
        return self if self.nbytes <= MOST_BYTES else self.cut()

    def cut(self, kept: int = KEPT_BYTES) -> "DeadLetter":
        """So much of key and value, and how long they were."""
        sizes = f"key {len(self.key or b'')} bytes, value {len(self.value or b'')} bytes"
        return self._replace(
            key=self.key and self.key[:kept],
            value=self.value and self.value[:kept],
            headers=[("podium-cut", sizes.encode())],
        )

    def annotated_headers(self) -> list[Header]:
        return [
            *self.headers,
            # JSON can spell half a surrogate pair, which UTF-8 cannot.
            ("podium-error", self.error.encode(errors="backslashreplace")),
            ("podium-error-field", self.field.encode(errors="backslashreplace")),
            ("podium-topic", self.topic.encode()),
            ("podium-partition", str(self.partition).encode()),
            ("podium-offset", str(self.offset).encode()),
            ("podium-version", str(VERSION).encode()),
        ]
