"""Arrays that begin where a cache line does.

A row of 64 bytes then is one line of memory, where numpy's own arrays, which begin 16 bytes after
a page does, make it two.
"""

import numpy as np

__all__ = ["LINE", "aligned_copy", "aligned_zeros"]

LINE = 64  # bytes


def aligned_zeros(shape: int | tuple[int, ...], dtype: np.typing.DTypeLike) -> np.ndarray:
    size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    room = np.zeros(size + LINE, np.uint8)
    start = -room.ctypes.data % LINE
    return room[start : start + size].view(dtype).reshape(shape)


def aligned_copy(array: np.ndarray) -> np.ndarray:
    copy = aligned_zeros(array.shape, array.dtype)
    copy[...] = array
    return copy
