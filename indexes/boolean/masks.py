"""Tests of 64 members at once: a mask with a bit for each of them that passes."""

from typing import Any

import numpy as np
from numba import config
from numba.core import types
from numba.extending import intrinsic

from indexes.kernels.decorators import fused
from indexes.kernels.vectors import BYTE, LONG, NUMBER, Vectors, constant, vector

__all__ = [
    "BLOCK", "CHUNK", "admitting", "agreeing", "first_bits", "mask_of", "passing_words",
]  # fmt: skip

CHUNK = 64  # bytes tested together; so many may be read from any of them on
BLOCK = 16  # words tested together
_BYTES, _WORDS = vector(BYTE, CHUNK), vector(NUMBER, BLOCK)


def first_bits(v: Vectors, mask: Any, length: int) -> Any:
    """As many bits of a mask as an argument says."""
    unwanted = v.builder.sub(LONG(CHUNK), v.given(length))
    return v.builder.and_(mask, v.builder.lshr(LONG(-1), unwanted))


@intrinsic
def _admitting(typing_context: Any, lows: Any, highs: Any, at: Any, length: Any, code: Any) -> Any:
    """Bit i says whether lows[at + i] <= code <= highs[at + i]; `length` bits, 1 to `CHUNK`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        v = Vectors(context, builder, signature, arguments)
        codes, place = v.repeated(v.given(4, types.uint8), _BYTES), v.given(2)
        above = builder.icmp_unsigned("<=", v.load(_BYTES, 0, place), codes)
        below = builder.icmp_unsigned("<=", codes, v.load(_BYTES, 1, place))
        return first_bits(v, v.mask(builder.and_(above, below)), 3)

    return types.int64(lows, highs, at, length, code), generate


@intrinsic
def _agreeing(typing_context: Any, prints: Any, at: Any, length: Any, own: Any) -> Any:
    """Bit i says whether prints[at + i] is `own` or 0; `length` bits, 1 to `CHUNK`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        v = Vectors(context, builder, signature, arguments)
        prints = v.load(_BYTES, 0, v.given(1))
        same = builder.icmp_unsigned("==", prints, v.repeated(v.given(3, types.uint8), _BYTES))
        anything = builder.icmp_unsigned("==", prints, constant(_BYTES, 0))
        return first_bits(v, v.mask(builder.or_(same, anything)), 2)

    return types.int64(prints, at, length, own), generate


@intrinsic
def _passing_words(typing_context: Any, words: Any, at: Any, seen: Any) -> Any:
    """Bit i says whether an event passes the test words[at + i]; `BLOCK` bits.

    A word is a position in `seen` << 16 | low << 8 | high; what is there has to be between.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        v = Vectors(context, builder, signature, arguments)
        tests = v.load(_WORDS, 0, v.given(1))
        codes = v.gather(_WORDS, 2, builder.lshr(tests, constant(_WORDS, 16)))
        bytes_ = constant(_WORDS, 255)
        lows = builder.and_(builder.lshr(tests, constant(_WORDS, 8)), bytes_)
        above = builder.icmp_unsigned("<=", lows, codes)
        below = builder.icmp_unsigned("<=", codes, builder.and_(tests, bytes_))
        return v.mask(builder.and_(above, below))

    return types.int64(words, at, seen), generate


@fused
def _mask_of(word):
    """A mask that was kept as a word."""
    return np.int64(word)


def _admitting_plainly(lows: Any, highs: Any, at: int, length: int, code: int) -> int:
    """Without the compiler."""
    tests = zip(lows[at : at + length], highs[at : at + length], strict=True)
    return sum(1 << i for i, (low, high) in enumerate(tests) if low <= code <= high)


def _agreeing_plainly(prints: Any, at: int, length: int, own: int) -> int:
    return sum(1 << i for i, print in enumerate(prints[at : at + length]) if print in (0, own))


def _passing_plainly(words: Any, at: int, seen: Any) -> int:
    tests = enumerate(words[at : at + BLOCK].tolist())
    return sum(1 << i for i, w in tests if w >> 8 & 255 <= seen[w >> 16] <= w & 255)


# Set by NUMBA_DISABLE_JIT.
_plain = getattr(config, "DISABLE_JIT", 0)
admitting: Any = _admitting_plainly if _plain else _admitting
agreeing: Any = _agreeing_plainly if _plain else _agreeing
passing_words: Any = _passing_plainly if _plain else _passing_words
mask_of: Any = int if _plain else _mask_of
