"""How many of 16 bounds are less than a value, in a handful of instructions."""

from typing import Any

import numpy as np
from numba import config
from numba.core import types
from numba.extending import intrinsic

from indexes.kernels.vectors import LONG, REAL, Vectors, vector

__all__ = ["BLOCK", "count_below"]

BLOCK = 16  # bounds compared together; so many may be read from any of them on
_BOUNDS = vector(REAL, BLOCK)


@intrinsic
def _count_below(typing_context: Any, bounds: Any, at: Any, length: Any, value: Any) -> Any:
    """Of bounds[at : at + length], at most `BLOCK` of them."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        v = Vectors(context, builder, signature, arguments)
        values = v.repeated(v.given(3, types.float64), _BOUNDS)
        mask = v.mask(builder.fcmp_ordered("<", v.load(_BOUNDS, 0, v.given(1)), values))
        wanted = builder.sub(builder.shl(LONG(1), v.given(2)), LONG(1))
        return v.call("llvm.ctpop.i64", LONG, builder.and_(mask, wanted))

    return types.int64(bounds, at, length, types.float64), generate


def _count_plainly(bounds: Any, at: int, length: int, value: float) -> int:
    """Without the compiler."""
    return int(np.count_nonzero(bounds[at : at + length] < value))


# Set by NUMBA_DISABLE_JIT.
count_below: Any = _count_plainly if getattr(config, "DISABLE_JIT", 0) else _count_below
