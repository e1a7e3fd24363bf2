"""`routes`: boxes that hold every subscription of a shard, so that the router can leave it out.

Partition = shard.  A record with the key `<shard>` has all boxes of the shard and begins a
generation; those with the keys `<shard>+1`, `<shard>+2`, … change them, one after another.  The
next generation uses the same keys again, so that the compacted topic stays small.  A reader that
misses one of a generation waits for the next, and meanwhile leaves the shard out of nothing.

Every subscription up to `next_offset` that is live is inside one of the boxes.  An attribute that
a box says nothing about has infinite ends.
"""

from typing import NamedTuple

import msgspec
import numpy as np

from storage import array_blob
from storage.array_blob import BlobError

__all__ = ["BlobError", "RouteRecord", "decode", "encode", "key_of"]

MAGIC, VERSION = b"PRTE", 1


class RouteRecord(NamedTuple):
    topic_id: str  # of the subscriptions
    generation: int
    sequence: int  # 0 has all boxes
    next_offset: int  # of the subscriptions: all below are in
    removed: np.ndarray  # i8[r]  ids of boxes
    ids: np.ndarray  # i8[n]
    lows: np.ndarray  # f8[n, d]
    highs: np.ndarray  # f8[n, d]


class _Head(msgspec.Struct, frozen=True):
    topic_id: str
    generation: int
    sequence: int
    next_offset: int


def key_of(shard: int, sequence: int) -> bytes:
    return f"{shard}+{sequence}".encode() if sequence else str(shard).encode()


def encode(record: RouteRecord) -> bytes:
    head = {name: getattr(record, name) for name in _Head.__struct_fields__}
    arrays = {name: getattr(record, name) for name in ("removed", "ids", "lows", "highs")}
    return b"".join(array_blob.encode(MAGIC, VERSION, head, arrays))


def decode(data: bytes, attributes: int) -> RouteRecord:
    """`BlobError` if it is damaged, of another version, or of other attributes."""
    table, arrays = array_blob.decode(MAGIC, VERSION, data)
    try:
        head = msgspec.convert(table, _Head)
        removed, ids = arrays["removed"], arrays["ids"]
        lows, highs = arrays["lows"], arrays["highs"]
    except (KeyError, msgspec.ValidationError) as error:
        raise BlobError("corrupt", f"got a record without {error}") from None
    if lows.shape != (len(ids), attributes) or highs.shape != lows.shape:
        expected = f"expected two of {len(ids)} boxes over {attributes} attributes"
        raise BlobError("foreign", f"got ends of shapes {lows.shape} and {highs.shape}, {expected}")
    return RouteRecord(
        head.topic_id, head.generation, head.sequence, head.next_offset, removed, ids, lows, highs
    )
