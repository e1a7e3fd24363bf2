"""A snapshot: the arrays of a shard, and a head that says what they are the state of.

Most whole numbers in it are small, or ascend in small steps, and are stored in fewer bytes.  Such
an array has its form, and the type to go back to, in its name:

    ids                as it is
    ids/steps/<i8      each number less the one before, in the narrowest type that holds them
    ids/narrow/<i4     the numbers themselves, in the narrowest type that holds them
"""

from collections.abc import Mapping
from typing import NamedTuple

import msgspec
import numpy as np

from configs.collection import Collection
from storage import array_blob
from storage.array_blob import BlobError
from topics.kinds import reading_of
from workers.snapshots.errors import NoSnapshot

MAGIC = b"PODS"
# Any change of the head or of the arrays' meaning needs another one: the snapshots before it are
# then refused, and workers replay.
VERSION = 4

_DAY_S = 24 * 60 * 60
_CLOCKS_DIFFER_S = 60 * 60
_SHARE_FOR_REPLAY = 0.1  # of the time that unsubscriptions are kept, they must outlive the replay


class SnapshotHead(msgspec.Struct, frozen=True):
    collection: str
    kind: str
    attributes: tuple[str, ...]
    shard: int
    topic_id: str  # Kafka's own of `subscriptions`: a topic made anew has other offsets
    next_offset: int  # everything below is in the arrays, nothing from there on
    subscriptions: int
    made_at: float  # unix seconds
    podium: str  # the version that wrote it
    reading: tuple[str, ...] = ()  # what read the records, with versions: another reads other ones


class Snapshot(NamedTuple):
    head: SnapshotHead
    arrays: dict[str, np.ndarray]


class Expected(NamedTuple):
    """What a snapshot must be to start from; None where it does not matter."""

    kind: str
    attributes: tuple[str, ...]
    topic_id: str | None
    # How long the log keeps an unsubscription: after that compaction may have dropped one that
    # came after the snapshot, and its subscription would stay for ever.
    max_age_s: float
    end_offset: int | None = None  # of the partition
    # Where the partition begins.  Compaction leaves that where it is: it moves when records are
    # deleted, whatever they said.
    start_offset: int = 0
    reading: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        collection: Collection,
        topic_id: str | None,
        end_offset: int | None = None,
        start_offset: int = 0,
    ) -> "Expected":
        kept_s = collection.retention.unsubscriptions_days * _DAY_S
        max_age_s = (1 - _SHARE_FOR_REPLAY) * kept_s
        kind, attributes = collection.kind, collection.attributes
        reading = reading_of(kind, collection.dialect)
        return cls(kind, attributes, topic_id, max_age_s, end_offset, start_offset, reading)


def encode(snapshot: Snapshot) -> list[memoryview | bytes]:
    head = msgspec.to_builtins(snapshot.head)
    return array_blob.encode(MAGIC, VERSION, head, narrowed(snapshot.arrays))


def decode(data: memoryview) -> Snapshot:
    """`NoSnapshot` unless every byte is as it was written."""
    try:
        head, arrays = array_blob.decode(MAGIC, VERSION, data)
        return Snapshot(msgspec.convert(head, SnapshotHead), widened(arrays))
    except BlobError as error:
        raise NoSnapshot(error.reason, str(error)) from error
    except msgspec.ValidationError as error:
        raise NoSnapshot("corrupt", f"the head cannot be read: {error}") from error
    except Exception as error:  # whole, but not what we would write
        raise NoSnapshot("corrupt", f"an array cannot be read: {error}") from error


def check_usable(
    head: SnapshotHead, collection: str, shard: int, expected: Expected, now: float
) -> None:
    """`NoSnapshot` if it is another's, too old, or ahead of what the topic holds."""
    wanted = {
        "collection": collection,
        "shard": shard,
        "kind": expected.kind,
        "attributes": tuple(expected.attributes),
        "topic_id": expected.topic_id,
        "reading": expected.reading,
    }
    for field, value in wanted.items():
        if value is not None and getattr(head, field) != value:
            raise NoSnapshot("foreign", f"got {field} {getattr(head, field)!r}, expected {value!r}")
    if expected.end_offset is not None and head.next_offset > expected.end_offset:
        raise NoSnapshot(
            "foreign",
            f"got next offset {head.next_offset}, expected at most {expected.end_offset}, the end"
            " of the partition: the topic has lost records",
        )
    if head.next_offset < expected.start_offset:
        raise NoSnapshot(
            "gap",
            f"got next offset {head.next_offset}, expected at least {expected.start_offset}, where"
            " the partition begins: what was deleted between may have been unsubscriptions",
        )
    age_s = now - head.made_at
    if not -_CLOCKS_DIFFER_S <= age_s <= expected.max_age_s:
        raise NoSnapshot(
            "too_old",
            f"got one that is {age_s / _DAY_S:.1f} days old, expected at most"
            f" {expected.max_age_s / _DAY_S:.1f}: it may miss an unsubscription",
        )


__all__ = ["narrowed", "widened"]

_NARROW = (np.uint8, np.uint16, np.uint32)


def narrowed(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return dict(_narrowed(name, array) for name, array in arrays.items())


def _narrowed(name: str, array: np.ndarray) -> tuple[str, np.ndarray]:
    if "/" in name:
        raise ValueError(f"got array {name!r}, expected a name without a slash")
    if array.dtype.kind not in "iu" or array.ndim != 1 or not len(array) or array.min() < 0:
        return name, array
    form, numbers = "narrow", array
    if (array[1:] >= array[:-1]).all():
        form, numbers = "steps", np.diff(array, prepend=array.dtype.type(0))
    largest = numbers.max()
    for dtype in _NARROW:
        if largest <= np.iinfo(dtype).max and np.dtype(dtype).itemsize < array.dtype.itemsize:
            return f"{name}/{form}/{array.dtype.newbyteorder('<').str}", numbers.astype(dtype)
    return name, array


def widened(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What `narrowed` was given; `ValueError` if a name is none of its own."""
    return dict(_widened(name, array) for name, array in arrays.items())


def _widened(stored: str, array: np.ndarray) -> tuple[str, np.ndarray]:
    name, *rest = stored.split("/")
    if not rest:
        return name, array
    match rest:
        case ["steps", dtype]:
            numbers = np.cumsum(array, dtype=np.dtype(dtype))
        case ["narrow", dtype]:
            numbers = array.astype(np.dtype(dtype))
        case _:
            raise ValueError(f"got array {stored!r}, expected a known form of {name!r}")
    numbers.flags.writeable = False
    return name, numbers
