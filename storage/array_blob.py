"""Named numpy arrays behind a JSON head, in one run of bytes: the shape of snapshots and bases.

    magic 4s | version u16 | 0 u16 | total u64 | table bytes u64 | table crc32 u32 | zeros 32s
    crc32 u32 | table | array | array | …

Little-endian.  The table and every array start at a multiple of 64 and are filled up with zeros to
the next one, so that decoding makes views, not copies.  The table is JSON,
`{"head": {…}, "arrays": [[name, dtype, shape, crc32], …]}`; where an array lies follows from the
sizes of those before it.  Arrays are in the order of their names and keys of the head are sorted:
equal content gives equal bytes.

Every byte is under a checksum: the first one is that of the 60 bytes before it, the others take in
the zeros after what they check.  Since the lengths have one of their own, a reader can tell bytes
that are missing from bytes that are wrong.  CRC-32 is the fastest checksum of the standard library
by far (4 GB/s, and the GIL is free meanwhile) and finds every error of up to 32 bits in a row.
"""

import struct
import zlib
from collections.abc import Iterable, Mapping
from math import prod
from typing import Annotated, Any, Literal

import msgspec
import numpy as np

Reason = Literal["foreign", "newer", "truncated", "corrupt"]
Buffer = bytes | bytearray | memoryview

ALIGNMENT = 64
DTYPES = frozenset(
    ["|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8"]
)
_PREAMBLE = struct.Struct("<4sHHQQI32x")
_CHECKSUM = struct.Struct("<I")
_TABLE_AT = _PREAMBLE.size + _CHECKSUM.size

_Length = Annotated[int, msgspec.Meta(ge=0)]


class BlobError(ValueError):
    """The bytes are not a blob that this version reads; the text says what was got and expected.

    `reason`: "foreign" is another kind of data or an older version of it, "newer" was written by
    a later Podium, "truncated" lacks its end, "corrupt" has bytes that were not written so.
    """

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class _Entry(msgspec.Struct, array_like=True, frozen=True):
    name: str
    dtype: str
    shape: tuple[_Length, ...]
    crc32: int

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * np.dtype(self.dtype).itemsize


class _Table(msgspec.Struct, frozen=True):
    head: dict[str, Any]
    arrays: list[_Entry]


def encode(
    magic: bytes, version: int, head: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> list[memoryview | bytes]:
    """The blob in parts, to be written one after the other.

    The parts are views of the arrays wherever these are contiguous and little-endian: the arrays
    must not change before the parts are written.
    """
    if len(magic) != 4:
        raise ValueError(f"got magic {magic!r}, expected 4 bytes")
    entries: list[_Entry] = []
    bodies: list[memoryview | bytes] = []
    for name in sorted(arrays):
        array = _portable(name, arrays[name])
        parts = _padded(array.reshape(-1).view(np.uint8).data)
        entries.append(_Entry(name, array.dtype.str, array.shape, _checksum(parts)))
        bodies += parts
    table = _padded(msgspec.json.encode(_Table(dict(head), entries), order="deterministic"))
    table_bytes = sum(map(len, table))
    total = _TABLE_AT + table_bytes + sum(map(len, bodies))
    preamble = _PREAMBLE.pack(magic, version, 0, total, table_bytes, _checksum(table))
    return [preamble + _CHECKSUM.pack(zlib.crc32(preamble)), *table, *bodies]


def decode(magic: bytes, version: int, data: Buffer) -> tuple[dict, dict[str, np.ndarray]]:
    """The head and the arrays, which are read-only views of `data`."""
    view = memoryview(data).toreadonly().cast("B")
    table_bytes, table_checksum = _opened(magic, version, view)
    at = _TABLE_AT + table_bytes
    packed = view[_TABLE_AT:at]
    _verify("the table", packed, table_checksum)
    table = _parsed(packed)
    expected = at + sum(_filled(entry.nbytes) for entry in table.arrays)
    if expected != len(view):
        raise BlobError("corrupt", f"got {len(view)} bytes, expected {expected} by the table")
    arrays = {}
    for entry in table.arrays:
        end = at + _filled(entry.nbytes)
        _verify(f"array {entry.name!r}", view[at:end], entry.crc32)
        arrays[entry.name] = _array(view[at : at + entry.nbytes], entry)
        at = end
    return table.head, arrays


def require_head(head: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """`BlobError` unless the head says so."""
    for field, value in expected.items():
        if head.get(field) != value:
            raise BlobError("foreign", f"{field}: got {head.get(field)!r}, expected {value!r}")


def _portable(name: str, array: np.ndarray) -> np.ndarray:
    """The array itself where it is contiguous and little-endian, else a copy that is."""
    dtype = array.dtype.newbyteorder("<")
    if dtype.str not in DTYPES:
        raise ValueError(
            f"array {name!r} has dtype {array.dtype}, expected one of {', '.join(sorted(DTYPES))}"
        )
    return np.asarray(array, dtype, order="C")


def _filled(length: int) -> int:
    return length + -length % ALIGNMENT


def _padded(part: memoryview | bytes) -> list[memoryview | bytes]:
    zeros = bytes(-len(part) % ALIGNMENT)
    return [piece for piece in (part, zeros) if len(piece)]


def _checksum(parts: Iterable[memoryview | bytes]) -> int:
    checksum = 0
    for part in parts:
        checksum = zlib.crc32(part, checksum)
    return checksum


def _verify(what: str, part: memoryview, expected: int) -> None:
    if (got := zlib.crc32(part)) != expected:
        raise BlobError("corrupt", f"got checksum {got:08x} of {what}, expected {expected:08x}")


def _opened(magic: bytes, version: int, view: memoryview) -> tuple[int, int]:
    """Length and checksum of the table.

    Magic and version are looked at first: a newer version may have its checksum elsewhere.
    """
    if (got_magic := bytes(view[:4])) != magic[: len(view)]:
        raise BlobError("foreign", f"got magic {got_magic!r}, expected {magic!r}")
    if len(view) < _TABLE_AT:
        raise BlobError(
            "truncated", f"got {len(view)} bytes, expected {_TABLE_AT} before the table"
        )
    _, got_version, _, total, table_bytes, table_checksum = _PREAMBLE.unpack_from(view)
    if got_version != version:
        reason: Reason = "newer" if got_version > version else "foreign"
        raise BlobError(reason, f"got version {got_version}, expected {version}")
    (checksum,) = _CHECKSUM.unpack_from(view, _PREAMBLE.size)
    _verify("the preamble", view[: _PREAMBLE.size], checksum)
    if len(view) != total:
        reason = "truncated" if len(view) < total else "corrupt"
        raise BlobError(reason, f"got {len(view)} bytes, expected {total}")
    return table_bytes, table_checksum


def _parsed(packed: memoryview) -> _Table:
    try:
        table = msgspec.json.decode(bytes(packed).rstrip(b"\0"), type=_Table)
    except msgspec.MsgspecError as error:
        raise BlobError("corrupt", f"got a table that cannot be read: {error}") from error
    if unknown := {entry.dtype for entry in table.arrays} - DTYPES:
        raise BlobError("corrupt", f"got dtypes {sorted(unknown)}, expected {sorted(DTYPES)}")
    return table


def _array(view: memoryview, entry: _Entry) -> np.ndarray:
    array = np.frombuffer(view, entry.dtype).reshape(entry.shape)
    if not array.flags.aligned:  # `data` itself starts at an odd address
        array = array.copy()
        array.flags.writeable = False
    return array
