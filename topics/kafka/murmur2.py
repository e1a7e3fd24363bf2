"""The hash of keys, compiled."""

import numpy as np
from numba import njit

__all__ = ["partitions_of_keys"]


@njit(cache=True)
def partitions_of_keys(data, ends, partitions):
    chosen = np.empty(len(ends), np.int32)
    start = 0
    for i in range(len(ends)):
        chosen[i] = (_murmur2(data, start, ends[i]) & 0x7FFFFFFF) % partitions
        start = ends[i]
    return chosen


@njit(cache=True)
def _murmur2(data, start, end):
    """32-bit MurmurHash2 with Kafka's seed.  The masks keep 64-bit arithmetic at 32 bits."""
    mask, multiplier = 0xFFFFFFFF, 0x5BD1E995
    h = 0x9747B28C ^ (end - start)
    at = start
    while at + 4 <= end:
        word = (
            np.int64(data[at])
            | np.int64(data[at + 1]) << 8
            | np.int64(data[at + 2]) << 16
            | np.int64(data[at + 3]) << 24
        )
        word = _times(word, multiplier)
        word = _times(word ^ (word >> 24), multiplier)
        h = _times(h, multiplier) ^ word
        at += 4
    if at < end:
        for i in range(end - at):
            h ^= np.int64(data[at + i]) << (8 * i)
        h = _times(h, multiplier)
    h ^= h >> 13
    h = _times(h, multiplier)
    return (h ^ (h >> 15)) & mask


@njit(cache=True)
def _times(a, b):
    """a * b modulo 2**32 without overflowing int64: split a in halves of 16 bits."""
    low, high = a & 0xFFFF, a >> 16
    return (low * b + ((high * b & 0xFFFF) << 16)) & 0xFFFFFFFF
