"""The key of a subscription: its id, on the partition that murmur2 gives it."""

from collections.abc import Sequence

import msgspec

from topics.codecs.json_record import BadRecord, refuse_oversized
from topics.kafka.partitioner import partitions_of

# Ids travel with every hit through the fleet, as JSON text, so they are kept short.  JSON spells
# a quote or a backslash with two bytes and a control character with six.
MAX_ID_BYTES = 256
MAX_ID_TEXT_BYTES = 2 * MAX_ID_BYTES + 2


def check_ids(
    records: Sequence[tuple[bytes | None, bytes | None]], partition: int, partitions: int
) -> list[BadRecord | None]:
    """What is wrong with the key or size of each (key, value) of one partition, or None."""
    homes = partitions_of([key or b"" for key, _ in records], partitions)
    verdicts: list[BadRecord | None] = []
    for (key, value), home in zip(records, homes.tolist(), strict=True):
        try:
            _check_id(key, partition, home)
            refuse_oversized(key, value)
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
