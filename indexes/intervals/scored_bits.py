"""Which bit of a word is set: one machine instruction in compiled code.

A word is an int64 > 0.  (An intrinsic's first parameter is the compiler's, which type checkers
cannot know.)
"""

import numpy as np
from numba import types
from numba.extending import intrinsic, overload

__all__ = ["highest_bit", "lowest_bit"]


def lowest_bit(word):
    """
    >>> lowest_bit(0b10100)
    2
    """
    return (int(word) & -int(word)).bit_length() - 1


def highest_bit(word):
    """
    >>> highest_bit(0b10100)
    4
    """
    return int(word).bit_length() - 1


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


@overload(lowest_bit)
def _compiled_lowest_bit(word):
    return lambda word: _trailing_zeros(np.int64(word))  # type: ignore[call-arg]


@overload(highest_bit)
def _compiled_highest_bit(word):
    return lambda word: 63 - _leading_zeros(np.int64(word))  # type: ignore[call-arg]
