"""Numpy columns behind a fixed header: the shape shared by frames and partials.

    magic 4s | version u16 | 0 u16 | header fields | column | column | … | bytes | bytes | …

Little-endian.  The header's size is a multiple of 8 and columns go from wide items to narrow
ones, so that every column is aligned and decoding makes views, not copies.  How long each
column is follows from the header's counts.

One record of the topics holds several of them, because a record costs its reader more than what is
in it:

    PODB | version u16 | 0 u16 | count u64 | length u64[count] | packed | packed | …

each filled up with zeros to a multiple of 8, and its length counted without them.
"""

import struct
from collections.abc import Sequence

import numpy as np

PREAMBLE = struct.Struct("<4sHH")
BUNDLE_MAGIC, BUNDLE_VERSION = b"PODB", 1
_BUNDLE = struct.Struct("<Q")


class CodecError(ValueError):
    """The bytes are not what this version reads; the text says what was got and expected."""


def join(magic: bytes, version: int, header: bytes, columns: Sequence[np.ndarray]) -> bytes:
    parts: list[bytes | memoryview] = [PREAMBLE.pack(magic, version, 0), header]
    parts.extend(np.ascontiguousarray(column).data.cast("B") for column in columns if column.size)
    return b"".join(parts)


def open_header(
    data: bytes | memoryview, magic: bytes, version: int, header: struct.Struct
) -> tuple:
    if len(data) < PREAMBLE.size + header.size:
        raise CodecError(
            f"got {len(data)} bytes, expected a header of {PREAMBLE.size + header.size}"
        )
    got_magic, got_version, _ = PREAMBLE.unpack_from(data)
    if got_magic != magic:
        raise CodecError(f"got magic {got_magic!r}, expected {magic!r}")
    if got_version != version:
        raise CodecError(f"got version {got_version}, expected {version}")
    return header.unpack_from(data, PREAMBLE.size)


def columns_at(
    data: bytes | memoryview, start: int, layout: Sequence[tuple[str, int]]
) -> list[np.ndarray]:
    """Views of consecutive columns given as (dtype, length); the data must end with them."""
    columns = []
    for dtype, length in layout:
        if start + length * np.dtype(dtype).itemsize > len(data):
            raise CodecError(f"got {len(data)} bytes, expected more: a column of {length} is cut")
        columns.append(np.frombuffer(data, dtype, length, start))
        start += columns[-1].nbytes
    if start != len(data):
        raise CodecError(f"got {len(data)} bytes, expected {start}")
    return columns


def check_lengths(what: str, lengths: np.ndarray, total: int) -> None:
    """`CodecError` unless strings of these lengths, -1 for null, take up so many bytes.

    Compiled code that trusts them would read beyond their ends.
    """
    if lengths.min(initial=0) < -1 or np.maximum(lengths, 0).sum(dtype=np.int64) != total:
        raise CodecError(f"got lengths of {what} that do not add up to {total}")


def bundle(parts: Sequence[bytes]) -> bytes:
    lengths = np.array([len(part) for part in parts], "<u8")
    padded = [part + bytes(-len(part) % 8) for part in parts]
    header = _BUNDLE.pack(len(parts))
    return join(BUNDLE_MAGIC, BUNDLE_VERSION, header, [lengths]) + b"".join(padded)


def unbundle(data: bytes) -> list[memoryview]:
    """The parts of a bundle, without copying them."""
    (count,) = open_header(data, BUNDLE_MAGIC, BUNDLE_VERSION, _BUNDLE)
    if not count:
        raise CodecError("got a bundle of nothing, expected at least one part")
    start = PREAMBLE.size + _BUNDLE.size
    if start + 8 * count > len(data):
        raise CodecError(f"got {len(data)} bytes, expected the lengths of {count} parts")
    lengths = np.frombuffer(data, "<u8", count, start).tolist()
    at, view, parts = start + 8 * count, memoryview(data), []
    for length in lengths:
        parts.append(view[at : at + length])
        at += length + -length % 8
    if at != len(data):
        raise CodecError(f"got {len(data)} bytes, expected {at}")
    return parts
