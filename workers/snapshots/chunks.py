"""A blob in pieces that Redis takes well: no value is larger than `chunk_bytes`."""

import time
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import redis

from workers.snapshots.errors import NoSnapshot, SnapshotFailed

_ALIGNMENT = 64
# The client copies what it reads several times, with the GIL held: in pieces that stay in the
# processor's cache it takes half of the time, and other threads wait for one piece only.
_PIECE_BYTES = 1024 * 1024
# How long an upload rests after a chunk, in times of what that took, and at most.
_REST = 3.0
_MOST_REST_S = 0.02


class Deadline:
    """The time that a whole transfer may take; each command has a time-out of its own."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._end = seconds, time.monotonic() + seconds

    def passed(self) -> bool:
        return time.monotonic() > self._end

    def __str__(self) -> str:
        return f"{self._seconds:g} s"


def cut(parts: Iterable[memoryview | bytes], chunk_bytes: int) -> Iterator[memoryview]:
    """Chunks of `chunk_bytes`, the last one shorter; copied only where parts meet in one."""
    gathered: list[memoryview] = []
    room = chunk_bytes
    for part in parts:
        rest = memoryview(part)
        while len(rest):
            taken, rest = rest[:room], rest[room:]
            gathered.append(taken)
            room -= len(taken)
            if room == 0:
                yield _joined(gathered)
                gathered, room = [], chunk_bytes
    if gathered:
        yield _joined(gathered)


def _joined(pieces: list[memoryview]) -> memoryview:
    if len(pieces) == 1:
        return pieces[0]
    # By numpy, which leaves the GIL alone meanwhile; `b"".join` would not.
    return np.concatenate([np.frombuffer(piece, np.uint8) for piece in pieces]).data


def upload(
    client: redis.Redis, chunks: Iterable[tuple[str, memoryview]], expire_s: int, deadline: Deadline
) -> None:
    """One command after the other: more on their way at a time are not faster.

    With rests between them, so that the worker's frames do not have to share the processors and
    the network with a transfer all the time.
    """
    for key, chunk in chunks:
        began = time.monotonic()
        client.set(key, chunk, ex=expire_s)
        time.sleep(min(_REST * (time.monotonic() - began), _MOST_REST_S))
        if deadline.passed():
            raise SnapshotFailed("slow", f"not written within {deadline}")


def download(
    client: redis.Redis, keys: Sequence[str], lengths: Sequence[int], deadline: Deadline
) -> memoryview:
    """The chunks in one buffer; `NoSnapshot` if one is missing or has another length."""
    with client.pipeline(transaction=False) as pipeline:
        for key in keys:
            pipeline.strlen(key)
        found = pipeline.execute()
    _check_lengths(keys, found, lengths)  # before memory is taken for them
    buffer = _aligned(sum(lengths))
    at = 0
    for key, length in zip(keys, lengths, strict=True):
        _fill(buffer[at : at + length], client, key)
        at += length
        if deadline.passed():
            raise NoSnapshot("unreachable", f"not read within {deadline}")
    return buffer.data


def _fill(buffer: np.ndarray, client: redis.Redis, key: str) -> None:
    for start in range(0, len(buffer), _PIECE_BYTES):
        room = buffer[start : start + _PIECE_BYTES]
        piece: bytes = client.getrange(key, start, start + len(room) - 1)  # type: ignore[assignment]
        _check_lengths([key], [start + len(piece)], [start + len(room)])
        room[:] = np.frombuffer(piece, np.uint8)


def _check_lengths(keys: Sequence[str], found: Sequence[int], expected: Sequence[int]) -> None:
    for key, got, wanted in zip(keys, found, expected, strict=True):
        if got != wanted:
            raise NoSnapshot("truncated", f"got {got} bytes in {key}, expected {wanted}")


def _aligned(length: int) -> np.ndarray:
    room = np.empty(length + _ALIGNMENT, np.uint8)
    start = -room.ctypes.data % _ALIGNMENT
    return room[start : start + length]
