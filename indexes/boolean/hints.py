"""Hints: a byte of a predicate by which an event that lacks what it asks for is told at once.

The hint of an equality is a hash of its column and value, that of any other predicate a hash of its
column.  An event writes the hints that its own columns and values meet into a set of 256 bits; a
member whose hint is not among them does not match.  Sets are looked up for many members at a time
where the processor can shuffle bytes; elsewhere every hint passes, and the tests that follow tell.
"""

from typing import Any

import numpy as np
from numba import config
from numba.core import types
from numba.extending import intrinsic

from indexes.boolean.fingerprints import ANY
from indexes.boolean.masks import CHUNK, first_bits
from indexes.kernels.decorators import fused
from indexes.kernels.vectors import BYTE, LONG, Vectors, constant, listed, vector

__all__ = ["ANYTHING", "SET_BYTES", "clear_asked", "hint_of", "meeting", "write_asked"]

ANYTHING = 0  # the hint of no predicate
SET_BYTES = 32
_MIXER = 0x9E3779B1
_HALF = SET_BYTES // 2
_LANES = vector(BYTE, SET_BYTES)


@fused
def hint_of(column, print):
    """From 1 to 255, the same for equal arguments; `print` is the value's fingerprint or ANY."""
    mixed = ((column << 8 | print) * _MIXER) & 0xFFFFFFFF
    return max(mixed >> 24, 1)


@fused
def _ask(asked, hint):
    asked[hint >> 3] |= np.uint8(1 << (hint & 7))


@fused
def write_asked(asked, column, print):
    """Add the hints that a column of an event meets, with the fingerprint of its value."""
    _ask(asked, hint_of(column, ANY))
    _ask(asked, hint_of(column, print))


@fused
def clear_asked(asked):
    for at in range(SET_BYTES):
        asked[at] = 0
    asked[0] = 1  # ANYTHING


def _shuffled(v: Vectors, table: Any, places: Any) -> Any:
    """For each place, a number from 0 to 15 in its low bits, what a table of 16 bytes has there."""
    both = [*range(_HALF), *range(_HALF)]
    twice = v.builder.shuffle_vector(table, table, listed(both))
    return v.call("llvm.x86.avx2.pshuf.b", _LANES, twice, places)


def _found(v: Vectors, hints: Any) -> Any:
    """Which of 32 hints are in the set that is the last argument."""
    b, low = v.builder, vector(BYTE, _HALF)
    tables = [v.load(low, 3, LONG(place)) for place in (0, _HALF)]
    bits = listed([1 << (i & 7) for i in range(_HALF)], BYTE)
    place = b.and_(b.lshr(hints, constant(_LANES, 3)), constant(_LANES, 15))
    below, above = (_shuffled(v, table, place) for table in tables)
    kept = b.select(b.icmp_signed("<", hints, constant(_LANES, 0)), above, below)
    bit = _shuffled(v, bits, b.and_(hints, constant(_LANES, 7)))
    return v.mask(b.icmp_unsigned("!=", b.and_(kept, bit), constant(_LANES, 0)))


@intrinsic
def _meeting(typing_context: Any, hints: Any, at: Any, length: Any, asked: Any) -> Any:
    """Bit i says whether hints[at + i] is in the set; `length` bits, 1 to `CHUNK`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        v = Vectors(context, builder, signature, arguments)
        mask = LONG(-1)
        if v.can("avx2"):
            places = [builder.add(v.given(1), LONG(i)) for i in (0, SET_BYTES)]
            low, high = (_found(v, v.load(_LANES, 0, place)) for place in places)
            mask = builder.or_(low, builder.shl(high, LONG(SET_BYTES)))
        return first_bits(v, mask, 2)

    return types.int64(hints, at, length, asked), generate


def _meeting_plainly(hints: Any, at: int, length: int, asked: Any) -> int:
    """Without the compiler."""
    found = enumerate(hints[at : at + length].tolist())
    return sum(1 << i for i, hint in found if asked[hint >> 3] >> (hint & 7) & 1)


# Set by NUMBA_DISABLE_JIT.
meeting: Any = _meeting_plainly if getattr(config, "DISABLE_JIT", 0) else _meeting
assert CHUNK == 2 * SET_BYTES
