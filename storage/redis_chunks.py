"""A blob as several values of Redis, its chunks, none of them larger than Redis takes well.

`cut` or `cut_between_parts` makes the chunks, `upload` writes them one after the other, `download`
puts them together again.  Which keys they have, and what says that they are there as a whole, is
up to the caller.
"""

import math
import time
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import redis

_ALIGNMENT = 64  # of `array_blob`: arrays are views of what was downloaded
# The client copies what it reads several times, with the GIL held: in pieces that stay in the
# processor's cache it takes half of the time, and other threads wait for one piece only.
_PIECE_BYTES = 1024 * 1024
# How long an upload rests after a chunk, in times of what that took, and at most.
_REST = 3.0
_MOST_REST_S = 0.02

Part = bytes | memoryview


class WrongLength(LookupError):
    """Redis does not have the bytes that were written: chunks were evicted, dropped or replaced."""


class DeadlinePassed(Exception):
    """The whole of a transfer took too long, though every command was answered in time."""


class Deadline:
    """The time that a whole transfer may take; each command has a time-out of its own."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._end = seconds, time.monotonic() + seconds

    def passed(self) -> bool:
        return time.monotonic() > self._end

    def __str__(self) -> str:
        return f"{self._seconds:g} s"


NO_DEADLINE = Deadline(math.inf)


def cut(parts: Iterable[Part], chunk_bytes: int) -> Iterator[memoryview]:
    """Chunks of `chunk_bytes`, the last one shorter; copied only where parts meet in one.

    The lengths follow from the blob's, so that a reader can check each of them.
    """
    gathered: list[memoryview] = []
    room = chunk_bytes
    for part in parts:
        rest = memoryview(part).cast("B")
        while len(rest):
            taken, rest = rest[:room], rest[room:]
            gathered.append(taken)
            room -= len(taken)
            if room == 0:
                yield _joined(gathered)
                gathered, room = [], chunk_bytes
    if gathered:
        yield _joined(gathered)


def cut_between_parts(parts: Iterable[Part], chunk_bytes: int) -> Iterator[memoryview]:
    """Chunks of at most `chunk_bytes`: large parts are cut, without a copy, small ones joined."""
    gathered: list[memoryview] = []
    size = 0
    for part in parts:
        view = memoryview(part).cast("B")
        if gathered and size + len(view) > chunk_bytes:
            yield _joined(gathered)
            gathered, size = [], 0
        if len(view) >= chunk_bytes:
            yield from (view[at : at + chunk_bytes] for at in range(0, len(view), chunk_bytes))
        elif len(view):
            gathered.append(view)
            size += len(view)
    if gathered:
        yield _joined(gathered)


def _joined(pieces: list[memoryview]) -> memoryview:
    if len(pieces) == 1:
        return pieces[0]
    # By numpy, which leaves the GIL alone meanwhile; `b"".join` would not.
    return np.concatenate([np.frombuffer(piece, np.uint8) for piece in pieces]).data


def upload(
    client: redis.Redis,
    chunks: Iterable[tuple[str, memoryview]],
    expire_s: int | None,
    deadline: Deadline = NO_DEADLINE,
    *,
    rests: bool = False,
) -> list[int]:
    """Write chunks under their keys; their lengths.  `DeadlinePassed` if that takes too long.

    One command after the other: more on their way at a time are not faster.  A chunk that nobody
    makes part of a whole expires after `expire_s`, so that a writer that is killed leaves nothing
    for good.  `rests` lets the processors and the network have pauses between chunks, for a worker
    whose frames would have to share them with the transfer all the time.
    """
    lengths = []
    for key, chunk in chunks:
        began = time.monotonic()
        client.set(key, chunk, ex=expire_s)
        lengths.append(len(chunk))
        if rests:
            time.sleep(min(_REST * (time.monotonic() - began), _MOST_REST_S))
        if deadline.passed():
            raise DeadlinePassed(f"not written within {deadline}")
    return lengths


def download(
    client: redis.Redis,
    keys: Sequence[str],
    size: int,
    lengths: Sequence[int] | None = None,
    deadline: Deadline = NO_DEADLINE,
) -> memoryview:
    """The blob of `size` bytes in one buffer, aligned for `array_blob`.

    `WrongLength` unless the chunks have these lengths, or any that add up to `size` where a reader
    cannot know them; `DeadlinePassed` if the whole takes too long.
    """
    with client.pipeline(transaction=False) as pipeline:
        for key in keys:
            pipeline.strlen(key)
        found: list[int] = pipeline.execute()
    # Before memory is taken for them.
    _check_lengths(keys, found, found if lengths is None else lengths)
    if sum(found) != size:
        raise WrongLength(f"got {sum(found)} bytes in {len(keys)} chunks, expected {size}")
    buffer = _aligned(size)
    at = 0
    for key, length in zip(keys, found, strict=True):
        _fill(buffer[at : at + length], client, key)
        at += length
        if deadline.passed():
            raise DeadlinePassed(f"not read within {deadline}")
    return buffer.data


def _fill(buffer: np.ndarray, client: redis.Redis, key: str) -> None:
    for start in range(0, len(buffer), _PIECE_BYTES):
        room = buffer[start : start + _PIECE_BYTES]
        piece: bytes = client.getrange(key, start, start + len(room) - 1)  # type: ignore[assignment]
        _check_lengths([key], [start + len(piece)], [start + len(room)])
        room[:] = np.frombuffer(piece, np.uint8)  # which leaves the GIL alone


def _check_lengths(keys: Sequence[str], found: Sequence[int], expected: Sequence[int]) -> None:
    for key, got, wanted in zip(keys, found, expected, strict=True):
        if got != wanted:
            raise WrongLength(f"got {got} bytes in {key}, expected {wanted}")


def _aligned(length: int) -> np.ndarray:
    room = np.empty(length + _ALIGNMENT, np.uint8)
    start = -room.ctypes.data % _ALIGNMENT
    return room[start : start + length]
