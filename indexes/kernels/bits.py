"""Which bits of a word are set, and how many: one machine instruction in compiled code.

A word is an int64; without the compiler also a Python number of up to 64 bits.  (An intrinsic's
first parameter is the compiler's, which type checkers cannot know.)
"""

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic, overload

__all__ = ["highest_bit", "lowest_bit", "popcount"]

_WORD = (1 << 64) - 1
# Also where the caller does without counting references: not even a call is left.
_FUSED: Any = {"forceinline": True, "_nrt": False}


def lowest_bit(word):
    """The place of the lowest bit of a word that has one.

    >>> lowest_bit(0b10100)
    2
    """
    return (int(word) & -int(word)).bit_length() - 1


def highest_bit(word):
    """The place of the highest bit of a word > 0.

    >>> highest_bit(0b10100)
    4
    """
    return int(word).bit_length() - 1


def popcount(word):
    """How many bits a word has.

    >>> popcount(0b10100)
    2
    """
    return (int(word) & _WORD).bit_count()


@intrinsic
def _trailing_zeros(typing_context, word):
    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], context.get_constant(types.boolean, True))

    return types.int64(types.int64), generate


@intrinsic
def _leading_zeros(typing_context, word):
    def generate(context, builder, signature, arguments):
        return builder.ctlz(arguments[0], context.get_constant(types.boolean, True))

    return types.int64(types.int64), generate


@intrinsic
def _ones(typing_context, word):
    def generate(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.int64(types.int64), generate


@overload(lowest_bit, jit_options=_FUSED)
def _compiled_lowest_bit(word):
    return lambda word: _trailing_zeros(np.int64(word))  # type: ignore[call-arg]


@overload(highest_bit, jit_options=_FUSED)
def _compiled_highest_bit(word):
    return lambda word: 63 - _leading_zeros(np.int64(word))  # type: ignore[call-arg]


@overload(popcount, jit_options=_FUSED)
def _compiled_popcount(word):
    return lambda word: _ones(np.int64(word))  # type: ignore[call-arg]
