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

from topics import headers
from topics.codecs.json_record import BadRecord
from topics.headers import Header
from topics.limits import DEAD_LETTER_KEPT_CUT, DEAD_LETTER_KEPT_WHOLE

VERSION = 1  # of this set of headers

_FRAMING_BYTES = 10  # of a header: two lengths, as Kafka writes them, at most


class DeadLetter(NamedTuple):
    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[Header]
    error: str
    field: str

    @classmethod
    def of(
        cls,
        topic: str,
        partition: int,
        offset: int,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[Header],
        bad: BadRecord,
    ) -> "DeadLetter":
        """Of the record that was read at this place."""
        return cls(topic, partition, offset, key, value, headers, str(bad), bad.field)

    @property
    def source(self) -> str:
        return f"{self.topic}[{self.partition}]@{self.offset}"

    @property
    def nbytes(self) -> int:
        """As Kafka counts it, or a little more."""
        of_headers = sum(
            len(name.encode()) + len(value or b"") + _FRAMING_BYTES for name, value in self.headers
        )
        return len(self.key or b"") + len(self.value or b"") + of_headers

    def fitting(self) -> "DeadLetter":
        """The letter as it is, or what can be kept of one that is too large."""
        return self if self.nbytes <= DEAD_LETTER_KEPT_WHOLE else self.cut()

    def cut(self, kept: int = DEAD_LETTER_KEPT_CUT) -> "DeadLetter":
        """So much of key and value, and how long they were."""
        sizes = f"key {len(self.key or b'')} bytes, value {len(self.value or b'')} bytes"
        return self._replace(
            key=self.key and self.key[:kept],
            value=self.value and self.value[:kept],
            headers=[(headers.CUT, sizes.encode())],
        )

    def annotated_headers(self) -> list[Header]:
        return [
            *self.headers,
            # JSON can spell half a surrogate pair, which UTF-8 cannot.
            (headers.ERROR, self.error.encode(errors="backslashreplace")),
            (headers.ERROR_FIELD, self.field.encode(errors="backslashreplace")),
            (headers.TOPIC, self.topic.encode()),
            (headers.PARTITION, str(self.partition).encode()),
            (headers.OFFSET, str(self.offset).encode()),
            (headers.VERSION, str(VERSION).encode()),
        ]
