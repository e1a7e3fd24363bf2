"""Prefetching: what a search will read next is known some steps before it is needed."""

from typing import Any

from numba import config
from numba.core import cgutils, types
from numba.extending import intrinsic

__all__ = ["prefetch"]


@intrinsic
def _prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Load the cache line of an element, counted in elements from the start of the array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        ir = cgutils.ir
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        at = context.cast(builder, arguments[1], signature.args[1], types.intp)
        place = builder.bitcast(builder.gep(data, [at]), cgutils.voidptr_t)
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, number, number, number])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [place, number(0), number(3), number(1)])  # to read, keep, data
        return context.get_dummy_value()

    return types.void(array, index), generate


def _do_nothing(array: Any, index: int) -> None:
    """Without the compiler."""


# Set by NUMBA_DISABLE_JIT.
prefetch: Any = _do_nothing if getattr(config, "DISABLE_JIT", 0) else _prefetch
