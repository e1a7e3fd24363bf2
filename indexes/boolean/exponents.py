"""The power of two below a number, read off its bits."""

import math
from typing import Any

from numba import config
from numba.core import cgutils, types
from numba.extending import intrinsic

__all__ = ["exponent_of"]

_FRACTION, _BIAS = 52, 1023  # bits of a float64's fraction, and what its exponent is kept with


@intrinsic
def _exponent_of(typing_context: Any, number: Any) -> Any:
    """log2 of a positive normal number, rounded down."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = cgutils.ir.IntType(64)
        real = context.cast(builder, arguments[0], signature.args[0], types.float64)
        shifted = builder.lshr(builder.bitcast(real, word), word(_FRACTION))
        return builder.sub(shifted, word(_BIAS))

    return types.int64(number), generate


def _exponent_plainly(number: float) -> int:
    """Without the compiler: the exponent of a mantissa in [1/2, 1), less one."""
    return math.frexp(number)[1] - 1


# Set by NUMBA_DISABLE_JIT.
exponent_of: Any = _exponent_plainly if getattr(config, "DISABLE_JIT", 0) else _exponent_of
