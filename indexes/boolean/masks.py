"""Tests of 64 intervals of codes at once: a mask with a bit for each interval that has the code."""

from typing import Any

from numba import config
from numba.core import cgutils, types
from numba.extending import intrinsic

__all__ = ["CHUNK", "admitting", "lowest"]

CHUNK = 64  # intervals tested together; so many may be read from any of them on


@intrinsic
def _admitting(typing_context: Any, lows: Any, highs: Any, at: Any, length: Any, code: Any) -> Any:
    """Bit i says whether lows[at + i] <= code <= highs[at + i]; `length` bits, 1 to `CHUNK`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        ir = cgutils.ir
        byte, mask = ir.IntType(8), ir.IntType(CHUNK)
        bytes_ = ir.VectorType(byte, CHUNK)
        place = context.cast(builder, arguments[2], signature.args[2], types.intp)

        def load(which: int) -> Any:
            data = context.make_array(signature.args[which])(context, builder, arguments[which])
            there = builder.bitcast(builder.gep(data.data, [place]), bytes_.as_pointer())
            return builder.load(there, align=1)

        code = context.cast(builder, arguments[4], signature.args[4], types.uint8)
        single = builder.insert_element(ir.Constant(bytes_, ir.Undefined), code, ir.IntType(32)(0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), CHUNK), [0] * CHUNK)
        codes = builder.shuffle_vector(single, ir.Constant(bytes_, ir.Undefined), zeros)
        holds = builder.and_(
            builder.icmp_unsigned("<=", load(0), codes),
            builder.icmp_unsigned("<=", codes, load(1)),
        )
        size = context.cast(builder, arguments[3], signature.args[3], types.int64)
        wanted = builder.lshr(mask(-1), builder.sub(mask(CHUNK), size))
        return builder.and_(builder.bitcast(holds, mask), wanted)

    return types.int64(lows, highs, at, length, code), generate


@intrinsic
def _lowest(typing_context: Any, mask: Any) -> Any:
    """The place of the lowest bit of a mask that has one."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        ir = cgutils.ir
        word, flag = ir.IntType(CHUNK), ir.IntType(1)
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(word, [word, flag]), "llvm.cttz.i64"
        )
        return builder.call(function, [arguments[0], flag(1)])

    return types.int64(types.int64), generate


def _admitting_plainly(lows: Any, highs: Any, at: int, length: int, code: int) -> int:
    """Without the compiler."""
    tests = zip(lows[at : at + length], highs[at : at + length], strict=True)
    return sum(1 << i for i, (low, high) in enumerate(tests) if low <= code <= high)


def _lowest_plainly(mask: int) -> int:
    return (mask & -mask).bit_length() - 1


# Set by NUMBA_DISABLE_JIT.
_plain = getattr(config, "DISABLE_JIT", 0)
admitting: Any = _admitting_plainly if _plain else _admitting
lowest: Any = _lowest_plainly if _plain else _lowest
