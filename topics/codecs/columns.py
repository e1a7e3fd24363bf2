"""Numpy columns behind a fixed header: the shape that frames, partials and mixed events share.

    magic 4s | version u16 | 0 u16 | header fields | column | column | … | bytes | bytes | …

Little-endian.  The header's size is a multiple of 8 and columns go from wide items to narrow
ones, so that every column is aligned and decoding makes views, not copies.  How long each
column is follows from the header's counts.  A `RecordLayout` is the table of a codec's fields and
columns, which writing and reading both follow.

One record of the topics holds several of them, because a record costs its reader more than what is
in it:

    PODB | version u16 | 0 u16 | count u64 | length u64[count] | packed | packed | …

each filled up with zeros to a multiple of 8, and its length counted without them.
"""

import struct
from collections import namedtuple
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

PREAMBLE = struct.Struct("<4sHH")
BUNDLE_MAGIC, BUNDLE_VERSION = b"PODB", 1
_BUNDLE = struct.Struct("<Q")

Count = str | Callable[[Any], int]
"""How many items a column has: the name of a header field, or a function of the header."""


class CodecError(ValueError):
    """The bytes are not what this version reads; the text says what was got and expected."""


class RecordLayout:
    """The fields of a header, with their codes of `struct`, and the columns behind it.

    >>> points = RecordLayout(b"PNTS", 1, [("points", "Q")], [("xs", "<f8", "points")])
    >>> points.read(points.write(points=2, xs=np.array([0.5, 1.5]))).xs.tolist()
    [0.5, 1.5]
    """

    def __init__(
        self,
        magic: bytes,
        version: int,
        fields: Sequence[tuple[str, str]],
        columns: Sequence[tuple[str, str, Count]],
    ) -> None:
        self._magic, self._version = magic, version
        self._header = struct.Struct("<" + "".join(code for _, code in fields))
        if self._header.size % 8:
            raise ValueError(f"{magic!r}: got a header of {self._header.size} bytes, expected 8·n")
        names = [name for name, _ in fields]
        self._of_header = len(names)
        self._fields: Any = namedtuple("_fields", names)  # type: ignore[misc]
        self._columns = [(name, np.dtype(dtype), count) for name, dtype, count in columns]
        names += [name for name, *_ in columns]
        self._all: Any = namedtuple("_all", names)  # type: ignore[misc]

    def write(self, **values: Any) -> bytes:
        """Every field and every column by its name."""
        given = self._all(**values)
        header = self._header.pack(*given[: self._of_header])
        return _joined(self._magic, self._version, header, given[self._of_header :])

    def read(self, data: bytes | memoryview) -> Any:
        """Fields and columns as attributes, the columns as views; `CodecError` if they do not fit.

        The data must end with the last column.
        """
        start = PREAMBLE.size + self._header.size
        fields = self._fields(*_opened(data, self._magic, self._version, self._header))
        columns = []
        for name, dtype, count in self._columns:
            length = getattr(fields, count) if isinstance(count, str) else count(fields)
            if start + length * dtype.itemsize > len(data):
                raise CodecError(
                    f"got {len(data)} bytes, expected more: a column of {length} is cut ({name})"
                )
            columns.append(np.frombuffer(data, dtype, length, start))
            start += columns[-1].nbytes
        if start != len(data):
            raise CodecError(f"got {len(data)} bytes, expected {start}")
        return self._all(*fields, *columns)


def _joined(magic: bytes, version: int, header: bytes, columns: Sequence[np.ndarray]) -> bytes:
    parts: list[bytes | memoryview] = [PREAMBLE.pack(magic, version, 0), header]
    parts.extend(np.ascontiguousarray(column).data.cast("B") for column in columns if column.size)
    return b"".join(parts)


def _opened(data: bytes | memoryview, magic: bytes, version: int, header: struct.Struct) -> tuple:
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
    return _joined(BUNDLE_MAGIC, BUNDLE_VERSION, header, [lengths]) + b"".join(padded)


def unbundle(data: bytes) -> list[memoryview]:
    """The parts of a bundle, without copying them."""
    (count,) = _opened(data, BUNDLE_MAGIC, BUNDLE_VERSION, _BUNDLE)
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
