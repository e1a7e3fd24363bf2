"""How many of 16 bounds are less than a value, in a handful of instructions."""

from typing import Any

import numpy as np
from numba import config
from numba.core import cgutils, types
from numba.extending import intrinsic

__all__ = ["BLOCK", "count_below"]

BLOCK = 16  # bounds compared together; so many may be read from any of them on


@intrinsic
def _count_below(typing_context: Any, bounds: Any, at: Any, length: Any, value: Any) -> Any:
    """Of bounds[at : at + length], at most `BLOCK` of them."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        ir, word = cgutils.ir, cgutils.ir.IntType(64)
        block = ir.VectorType(ir.DoubleType(), BLOCK)
        nothing = ir.Constant(block, ir.Undefined)
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        place = context.cast(builder, arguments[1], signature.args[1], types.intp)
        there = builder.bitcast(builder.gep(data, [place]), block.as_pointer())
        single = builder.insert_element(nothing, arguments[3], ir.IntType(32)(0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), BLOCK), [0] * BLOCK)
        values = builder.shuffle_vector(single, nothing, zeros)
        less = builder.fcmp_ordered("<", builder.load(there, align=8), values)
        mask = builder.zext(builder.bitcast(less, ir.IntType(BLOCK)), word)
        size = context.cast(builder, arguments[2], signature.args[2], types.int64)
        wanted = builder.sub(builder.shl(word(1), size), word(1))
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(word, [word]), "llvm.ctpop.i64"
        )
        return builder.call(function, [builder.and_(mask, wanted)])

    return types.int64(bounds, at, length, types.float64), generate


def _count_plainly(bounds: Any, at: int, length: int, value: float) -> int:
    """Without the compiler."""
    return int(np.count_nonzero(bounds[at : at + length] < value))


# Set by NUMBA_DISABLE_JIT.
count_below: Any = _count_plainly if getattr(config, "DISABLE_JIT", 0) else _count_below
