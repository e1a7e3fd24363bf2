"""The pointer of a shard: which generation of chunks is its snapshot."""

from typing import Annotated, Any

import msgspec

from workers.snapshots.errors import NoSnapshot
from workers.snapshots.snapshot import SnapshotHead


class Pointer(msgspec.Struct, frozen=True):
    """What Redis says about a shard's snapshot, without reading it."""

    name: str
    epoch: int
    next_offset: int
    chunks: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
    chunk_bytes: Annotated[int, msgspec.Meta(ge=1)]
    bytes: Annotated[int, msgspec.Meta(ge=1)]
    holder: str  # the worker that wrote it
    head: SnapshotHead

    @property
    def lengths(self) -> list[int]:
        return [self.chunk_bytes] * (self.chunks - 1) + [
            self.bytes - self.chunk_bytes * (self.chunks - 1)
        ]


def parse_pointer(key: str, fields: dict[bytes, bytes]) -> Pointer:
    """`NoSnapshot` unless the fields are those of a pointer, and agree with each other."""
    name = fields.get(b"name", b"")
    try:
        values: dict[str, Any] = {name.decode(): value.decode() for name, value in fields.items()}
        if "head" in values:
            values["head"] = msgspec.json.decode(values["head"])
        pointer = msgspec.convert(values, Pointer, strict=False)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise NoSnapshot("corrupt", f"{key} cannot be read: {error}", name) from error
    if pointer.next_offset != pointer.head.next_offset:
        raise NoSnapshot(
            "corrupt",
            f"{key}: got next offset {pointer.next_offset}, expected {pointer.head.next_offset}"
            " as in its head",
            name,
        )
    if not 0 < pointer.lengths[-1] <= pointer.chunk_bytes:
        raise NoSnapshot(
            "corrupt",
            f"{key}: got {pointer.bytes} bytes, expected as many as fill"
            f" {pointer.chunks} chunks of {pointer.chunk_bytes}",
            name,
        )
    return pointer
