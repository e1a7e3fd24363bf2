"""Values as bytes without an order: what an equality asks for, told apart within one code."""

import struct
from typing import Any

from numba import config
from numba.core import cgutils, types
from numba.extending import intrinsic

__all__ = ["ANY", "fingerprint", "fingerprint_of"]

ANY = 0  # the fingerprint of no value, for predicates that admit several
_MIXER = 0x9E3779B97F4A7C15


@intrinsic
def _fingerprint(typing_context: Any, value: Any) -> Any:
    """From 1 to 255, the same for equal numbers: the highest bits of a product."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = cgutils.ir.IntType(64)
        number = context.cast(builder, arguments[0], signature.args[0], types.float64)
        # Minus zero equals zero, and becomes it by this addition.
        plain = builder.fadd(number, cgutils.ir.DoubleType()(0.0))
        bits = builder.bitcast(plain, word)
        folded = builder.xor(bits, builder.lshr(bits, word(32)))
        byte = builder.lshr(builder.mul(folded, word(_MIXER)), word(56))
        return builder.select(builder.icmp_unsigned("==", byte, word(ANY)), word(1), byte)

    return types.int64(value), generate


def fingerprint_of(value: float) -> int:
    """The same without the compiler."""
    bits = struct.unpack("<Q", struct.pack("<d", value + 0.0))[0]
    return (((bits ^ bits >> 32) * _MIXER & (1 << 64) - 1) >> 56) or 1


# Set by NUMBA_DISABLE_JIT.
fingerprint: Any = fingerprint_of if getattr(config, "DISABLE_JIT", 0) else _fingerprint
