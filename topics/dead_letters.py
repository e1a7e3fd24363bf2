"""`subscriptions.dlq`, `events.dlq`: records that broke their contract, as they came.

Key, value and headers are the original's, to the byte; the headers below are added, so
that the record can be found (`podium-topic`, `podium-partition`, `podium-offset`), mended
(`podium-error`, `podium-error-field`) and sent again.
"""

from collections.abc import Sequence
from typing import NamedTuple

VERSION = 1  # of this set of headers, in `podium-version`

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
