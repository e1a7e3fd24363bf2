"""A column of optional byte strings, and how it is cut out of one run of bytes."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class ByteStrings(NamedTuple):
    lengths: np.ndarray  # i4[n]  -1 for null
    data: np.ndarray  # u1[...]  the non-null strings, one after the other

    @classmethod
    def pack(cls, keys: Sequence[bytes | None]) -> "ByteStrings":
        """
        >>> ByteStrings.pack([b"a", None, b"bc"]).unpack()
        [b'a', None, b'bc']
        """
        lengths = np.fromiter(
            (-1 if key is None else len(key) for key in keys), np.int32, len(keys)
        )
        return cls(lengths, np.frombuffer(b"".join(key for key in keys if key), np.uint8))

    def unpack(self) -> list[bytes | None]:
        data, sizes = self.data.tobytes(), np.maximum(self.lengths, 0)
        ends = np.cumsum(sizes)
        return [
            data[start:end] if length >= 0 else None
            for start, end, length in zip(
                (ends - sizes).tolist(), ends.tolist(), self.lengths.tolist(), strict=True
            )
        ]
