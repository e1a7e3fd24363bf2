"""`bases`: the newest optimal index of each shard, which the Spark job builds.

Key: the shard's number; partition: the shard's own.  Compacted: the latest record of a shard is the
base to take.  A base speaks for the records of `subscriptions` below `next_offset` and lies in the
base store as several blobs (`storage.array_blob`), written before the record is:

    <topic>/<topic id>/<shard>/<next offset>/tree-<i>   the SOPT-R-tree of attribute i, for matchers
                                            /state     keys and columns, for the job's next base

The ids in a tree are offsets.  Kind `ranked`: every tree has every subscription, so that the walk
of one attribute meets all that may match.  Kind `relaxed`: the tree of an attribute has the
subscriptions that constrain it, with their weights there as scores.
"""

import zlib
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta, Struct

from storage import array_blob
from topics.codecs.json_record import BadRecord, decode

VERSION = 1  # of this record and of the blobs that it names

TREE_MAGIC, STATE_MAGIC = b"PTRE", b"PSTA"
TREE_ARRAYS = ("ids", "lows", "highs", "scores", "arranged", "edges", "branching")
EXPECTED = "a base that a job of this collection has announced"

Count = Annotated[int, Meta(ge=0)]
Parts = Sequence[bytes | memoryview]


class StoredBlob(Struct, frozen=True, forbid_unknown_fields=True):
    """A blob in the base store."""

    name: Annotated[str, Meta(description="under which the store has it")]
    size: Count = msgspec.field(name="bytes")
    crc32: Annotated[str, Meta(pattern="^[0-9a-f]{8}$", description="of all its bytes, hex")]

    @classmethod
    def of(cls, name: str, parts: Parts) -> "StoredBlob":
        return cls(name, sum(map(len, parts)), _crc32(parts))

    def verify(self, data: array_blob.Buffer) -> None:
        """Raise `BlobError` unless these are the bytes that were announced."""
        if len(data) != self.size:
            reason: array_blob.Reason = "truncated" if len(data) < self.size else "corrupt"
            got = f"got {len(data)} bytes of {self.name}, expected {self.size}"
            raise array_blob.BlobError(reason, got)
        if (got := _crc32([data])) != self.crc32:
            problem = f"got checksum {got} of {self.name}, expected {self.crc32}"
            raise array_blob.BlobError("corrupt", problem)


class TreeBlob(StoredBlob, frozen=True, forbid_unknown_fields=True, kw_only=True):
    attribute: str


class BaseName(Struct, frozen=True):
    """What tells one base from all others; the blobs' names follow from it."""

    topic: str
    topic_id: str
    shard: int
    next_offset: int

    def __str__(self) -> str:
        # Kafka's topic ids are base64, whose slash would be a folder.
        safe = self.topic_id.replace("/", "_").replace("+", "-")
        return f"{self.topic}/{safe}/{self.shard}/{self.next_offset:020d}"

    @property
    def state(self) -> str:
        return f"{self}/state"

    def tree(self, attribute: int) -> str:
        return f"{self}/tree-{attribute}"


class Base(Struct, frozen=True, forbid_unknown_fields=True):
    """The newest base of a shard and where to find it."""

    version: Annotated[int, Meta(description="of this record and of the blobs that it names")]
    kind: str
    topic: Annotated[str, Meta(description="whose records it was built from")]
    topic_id: Annotated[str, Meta(description="changes when the topic is made anew")]
    shard: Count
    next_offset: Annotated[Count, Meta(description="the first offset that is not in the base")]
    subscriptions: Count
    store: Annotated[str, Meta(description="address of the base store, without its password")]
    trees: Annotated[list[TreeBlob], Meta(description="one an attribute, in their order")]
    state: StoredBlob

    @property
    def name(self) -> BaseName:
        return BaseName(self.topic, self.topic_id, self.shard, self.next_offset)


def encode_record(base: Base) -> bytes:
    return msgspec.json.encode(base)


def decode_record(value: bytes | None) -> Base:
    """The base, or `BadRecord`; one of a newer version is refused as well."""
    base: Base = decode(_DECODER, value, EXPECTED)
    if base.version != VERSION:
        raise BadRecord("version", f"got {base.version}, expected {VERSION}")
    return base


def encode_tree(name: BaseName, attribute: str, arrays: Mapping[str, np.ndarray]) -> Parts:
    """`arrays` are those of `SOPTArrays`, by field."""
    head = {**msgspec.structs.asdict(name), "attribute": attribute}
    return array_blob.encode(TREE_MAGIC, VERSION, head, arrays)


def decode_tree(name: BaseName, attribute: str, data: array_blob.Buffer) -> dict[str, np.ndarray]:
    """The arrays of the tree of one attribute, views of `data`; `BlobError` if it is no such."""
    head, arrays = array_blob.decode(TREE_MAGIC, VERSION, data)
    array_blob.require_head(head, {**msgspec.structs.asdict(name), "attribute": attribute})
    return {field: arrays[field] for field in TREE_ARRAYS}


def encode_state(
    name: BaseName, layout: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> Parts:
    """`layout` says how the arrays are to be read; a state of another layout is refused."""
    return array_blob.encode(
        STATE_MAGIC, VERSION, {**msgspec.structs.asdict(name), **layout}, arrays
    )


def decode_state(
    name: BaseName, layout: Mapping[str, Any], data: array_blob.Buffer
) -> dict[str, np.ndarray]:
    head, arrays = array_blob.decode(STATE_MAGIC, VERSION, data)
    array_blob.require_head(head, {**msgspec.structs.asdict(name), **layout})
    return arrays


def _crc32(parts: Sequence[array_blob.Buffer]) -> str:
    checksum = 0
    for part in parts:
        checksum = zlib.crc32(part, checksum)
    return f"{checksum:08x}"


_DECODER = msgspec.json.Decoder(Base)
