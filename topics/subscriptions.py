"""`subscriptions`: what people want to be matched with.

Key: the subscription's id, so that one partition, and so one shard, sees all its records in
order.  Value: JSON as below; null unsubscribes.  Compacted: the latest record of each id is
the truth, and the offset of that record is the subscription's id inside its shard.

    {"where": {"age": [20, 35], "visits": {"ge": 3, "lt": 9}}, "score": 7.5}
"""

import math
from collections.abc import Sequence
from typing import Annotated, NamedTuple

import msgspec
import numpy as np
from msgspec import UNSET, Meta, Struct, UnsetType

from topics.bad_record import BadRecord, decode, refuse_oversized
from topics.partitioning import partitions_of

# Ids travel with every hit through the fleet, as JSON text, so they are kept short.  JSON spells
# a quote or a backslash with two bytes and a control character with six.
MAX_ID_BYTES = 256
MAX_ID_TEXT_BYTES = 2 * MAX_ID_BYTES + 2
EXPECTED = 'an object such as {"where": {"age": [20, 35]}, "score": 7.5}'


class Bounds(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An interval by its ends, all of which hold."""

    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None


Interval = (
    Annotated[
        tuple[float | None, float | None],
        Meta(description="[low, high], both included; null is no end"),
    ]
    | Bounds
)


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
        fields = [f"a{i}" for i in range(len(self.attributes))]
        where = msgspec.defstruct(
            "Where",
            [(field, Interval | UnsetType, UNSET) for field in fields],
            rename=dict(zip(fields, self.attributes, strict=True)),
            forbid_unknown_fields=True,
        )
        record = msgspec.defstruct(
            "RankedSubscription", [("where", where), ("score", float)], forbid_unknown_fields=True
        )
        self._decoder = msgspec.json.Decoder(record)

    def parse(self, value: bytes) -> tuple[list[float], list[float], float]:
        """Lows, highs and score of one record, or `BadRecord`."""
        record = decode(self._decoder, value, EXPECTED)
        lows, highs = [], []
        for name, interval in zip(
            self.attributes, msgspec.structs.astuple(record.where), strict=True
        ):
            low, high = (math.nan, math.nan) if interval is UNSET else _ends(name, interval)
            lows.append(low)
            highs.append(high)
        return lows, highs, record.score

    def columns(self, rows: Sequence[tuple[list[float], list[float], float]]) -> RankedColumns:
        shape = (len(rows), len(self.attributes))
        return RankedColumns(
            np.array([low for low, _, _ in rows], np.float64).reshape(shape),
            np.array([high for _, high, _ in rows], np.float64).reshape(shape),
            np.array([score for _, _, score in rows], np.float64),
        )


def check_ids(
    records: Sequence[tuple[bytes | None, bytes | None]], partition: int, partitions: int
) -> list[BadRecord | None]:
    """What is wrong with the key or size of each (key, value) of one partition, or None."""
    homes = partitions_of([key or b"" for key, _ in records], partitions)
    verdicts: list[BadRecord | None] = []
    for (key, value), home in zip(records, homes.tolist(), strict=True):
        try:
            refuse_oversized(key, value)
            _check_id(key, partition, home)
        except BadRecord as bad:
            verdicts.append(bad)
        else:
            verdicts.append(None)
    return verdicts


def _check_id(key: bytes | None, partition: int, home: int) -> None:
    if not key:
        got = "null" if key is None else "an empty key"
        raise BadRecord("key", f"got {got}, expected the subscription's id")
    if len(key) > MAX_ID_BYTES:
        raise BadRecord("key", f"got {len(key)} bytes, expected at most {MAX_ID_BYTES}")
    text_bytes = _text_bytes(key)
    if text_bytes > MAX_ID_TEXT_BYTES:
        raise BadRecord(
            "key",
            f"got {text_bytes} bytes of JSON text, expected at most {MAX_ID_TEXT_BYTES};"
            " leave control characters out",
        )
    if home != partition:
        raise BadRecord(
            "key",
            f"got partition {partition} when murmur2 gives {home}; in librdkafka clients"
            " (kcat, confluent-kafka) set partitioner=murmur2_random",
        )


def _text_bytes(key: bytes) -> int:
    try:
        return len(msgspec.json.encode(key.decode()))
    except UnicodeDecodeError:
        raise BadRecord("key", f"got {key[:40]!r}, expected UTF-8 text") from None


def _ends(name: str, interval: tuple[float | None, float | None] | Bounds) -> tuple[float, float]:
    """Closed ends: an open end moves to the next float64 inside, a missing one to infinity."""
    if isinstance(interval, tuple):
        low = -math.inf if interval[0] is None else interval[0]
        high = math.inf if interval[1] is None else interval[1]
    else:
        low, high = _closed(interval)
    if low > high:
        got = msgspec.json.encode(interval).decode()
        raise BadRecord(f"where.{name}", f"got {got}, expected low <= high")
    return low, high


def _closed(bounds: Bounds) -> tuple[float, float]:
    low = -math.inf if bounds.ge is None else bounds.ge
    high = math.inf if bounds.le is None else bounds.le
    if bounds.gt is not None:
        low = max(low, math.nextafter(bounds.gt, math.inf))
    if bounds.lt is not None:
        high = min(high, math.nextafter(bounds.lt, -math.inf))
    return low, high
