"""Several knapsacks filled at once, each for another rate."""

from typing import Any

import numpy as np
from numba import config
from numba.core import cgutils, types
from numba.extending import intrinsic

from indexes.kernels.vectors import LONG, SINGLE, Vectors, constant, vector

__all__ = ["LANES", "MOST_COUNTED", "fill_knapsacks"]

LANES = 8  # knapsacks
MOST_COUNTED = 8  # things of which the dearest are kept apart; with more allowed, all go in
_FEW = 4  # for which keeping the dearest apart is quicker than for the most
_SINGLES = vector(SINGLE, LANES)


def _fill(v: Vectors, size: Any, room: Any, dearest: int) -> Any:
    """What goes into each: of the counted the dearest, as many as there is room for."""
    b, nothing = v.builder, constant(_SINGLES, 0.0)
    kept = [cgutils.alloca_once_value(b, nothing) for _ in range(dearest)]
    fixed, all_of_them = (cgutils.alloca_once_value(b, nothing) for _ in range(2))
    with cgutils.for_range(b, size) as loop:
        price = v.load(_SINGLES, 2, b.mul(loop.index, LONG(LANES)))
        value = b.fmul(v.repeated(b.load(v.place(0, loop.index)), _SINGLES), price)
        paid = b.fmul(v.repeated(b.load(v.place(1, loop.index)), _SINGLES), price)
        b.store(b.fadd(b.load(fixed), paid), fixed)
        b.store(b.fadd(b.load(all_of_them), value), all_of_them)
        for one in kept:
            known = b.load(one)
            dearer = b.fcmp_ordered(">", value, known)
            b.store(b.select(dearer, value, known), one)
            value = b.select(dearer, known, value)
    counted = nothing
    for i, one in enumerate(kept):
        fits = b.icmp_signed("<", LONG(i), room)
        counted = b.fadd(counted, b.select(fits, b.load(one), nothing))
    boundless = b.icmp_signed(">", room, LONG(dearest))
    return b.fadd(b.load(fixed), b.select(boundless, b.load(all_of_them), counted))


@intrinsic
def _fill_knapsacks(
    typing_context: Any,
    counted: Any,
    fixed: Any,
    prices: Any,
    size: Any,
    room: Any,
    filled: Any,
) -> Any:
    """Add to filled[lane] the value of things 0 to size - 1; return the lane with the least.

    A thing is worth prices[i, lane] times fixed[i], which is in every knapsack, and times
    counted[i], of which the dearest are in, `room` of them.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        v = Vectors(context, builder, signature, arguments)
        size, room = v.given(3, types.intp), v.given(4)
        bounds = cgutils.alloca_once(builder, _SINGLES)
        few = builder.icmp_signed("<=", room, LONG(_FEW))
        with builder.if_else(few) as branches:
            for branch, dearest in zip(branches, (_FEW, MOST_COUNTED), strict=True):
                with branch:
                    more = _fill(v, size, room, dearest)
                    builder.store(builder.fadd(v.load(_SINGLES, 5, LONG(0)), more), bounds)
        result = builder.load(bounds)
        v.store(result, 5, LONG(0))
        least = v.repeated(v.call(f"llvm.vector.reduce.fmin.v{LANES}f32", SINGLE, result), _SINGLES)
        return v.lowest_bit(v.mask(builder.fcmp_unordered("<=", result, least)))

    return types.int64(counted, fixed, prices, size, room, filled), generate


def _fill_plainly(counted: Any, fixed: Any, prices: Any, size: int, room: int, filled: Any) -> int:
    """Without the compiler."""
    filled += fixed[:size] @ prices[:size]
    values = np.sort(counted[:size, None] * prices[:size], axis=0)[::-1]
    filled += values[: room if room <= MOST_COUNTED else size].sum(axis=0)
    return int(np.argmin(filled))


# Set by NUMBA_DISABLE_JIT.
fill_knapsacks: Any = _fill_plainly if getattr(config, "DISABLE_JIT", 0) else _fill_knapsacks
