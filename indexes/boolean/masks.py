"""Tests of 64 members at once: a mask with a bit for each of them that passes."""

from typing import Any

from numba import config
from numba.core import cgutils, types
from numba.extending import intrinsic

__all__ = ["BLOCK", "CHUNK", "admitting", "agreeing", "lowest", "passing_words"]

CHUNK = 64  # bytes tested together; so many may be read from any of them on
BLOCK = 16  # words tested together


class _Chunk:
    """Instructions for a vector of bytes and the mask that testing it leaves."""

    def __init__(self, context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        self._context, self._builder = context, builder
        self._given = tuple(zip(arguments, signature.args, strict=True))
        self._bytes = cgutils.ir.VectorType(cgutils.ir.IntType(8), CHUNK)

    def load(self, array: int, place: int) -> Any:
        """The bytes of an array from a place on, both of them arguments."""
        values, kind = self._given[array]
        data = self._context.make_array(kind)(self._context, self._builder, values).data
        there = self._builder.gep(data, [self._cast(place, types.intp)])
        return self._builder.load(self._builder.bitcast(there, self._bytes.as_pointer()), align=1)

    def repeated(self, byte: int) -> Any:
        """One argument in all places."""
        ir, nothing = cgutils.ir, cgutils.ir.Constant(self._bytes, cgutils.ir.Undefined)
        value = self._cast(byte, types.uint8)
        single = self._builder.insert_element(nothing, value, ir.IntType(32)(0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), CHUNK), [0] * CHUNK)
        return self._builder.shuffle_vector(single, nothing, zeros)

    def mask(self, holds: Any, length: int) -> Any:
        """The first bits, as many as an argument says."""
        whole = cgutils.ir.IntType(CHUNK)
        unwanted = self._builder.sub(whole(CHUNK), self._cast(length, types.int64))
        wanted = self._builder.lshr(whole(-1), unwanted)
        return self._builder.and_(self._builder.bitcast(holds, whole), wanted)

    def _cast(self, argument: int, kind: Any) -> Any:
        value, given = self._given[argument]
        return self._context.cast(self._builder, value, given, kind)


@intrinsic
def _admitting(typing_context: Any, lows: Any, highs: Any, at: Any, length: Any, code: Any) -> Any:
    """Bit i says whether lows[at + i] <= code <= highs[at + i]; `length` bits, 1 to `CHUNK`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        chunk = _Chunk(context, builder, signature, arguments)
        codes = chunk.repeated(4)
        above = builder.icmp_unsigned("<=", chunk.load(0, 2), codes)
        below = builder.icmp_unsigned("<=", codes, chunk.load(1, 2))
        return chunk.mask(builder.and_(above, below), 3)

    return types.int64(lows, highs, at, length, code), generate


@intrinsic
def _agreeing(typing_context: Any, prints: Any, at: Any, length: Any, own: Any) -> Any:
    """Bit i says whether prints[at + i] is `own` or 0; `length` bits, 1 to `CHUNK`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        chunk = _Chunk(context, builder, signature, arguments)
        prints = chunk.load(0, 1)
        same = builder.icmp_unsigned("==", prints, chunk.repeated(3))
        anything = builder.icmp_unsigned("==", prints, cgutils.ir.Constant(prints.type, None))
        return chunk.mask(builder.or_(same, anything), 2)

    return types.int64(prints, at, length, own), generate


@intrinsic
def _passing_words(typing_context: Any, words: Any, at: Any, seen: Any) -> Any:
    """Bit i says whether an event passes the test words[at + i]; `BLOCK` bits.

    A word is a position in `seen` << 16 | low << 8 | high; what is there has to be between.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        ir, place = cgutils.ir, context.cast(builder, arguments[1], signature.args[1], types.intp)
        number, block = ir.IntType(32), ir.VectorType(ir.IntType(32), BLOCK)
        data, codes_at = (
            context.make_array(signature.args[i])(context, builder, arguments[i]).data
            for i in (0, 2)
        )
        first = builder.gep(data, [place])
        tests = builder.load(builder.bitcast(first, block.as_pointer()), align=4)
        codes = ir.Constant(block, ir.Undefined)
        for i in range(BLOCK):
            # Reading the word again is quicker than taking it out of the vector.
            position = builder.lshr(builder.load(builder.gep(first, [number(i)])), number(16))
            index = builder.zext(position, ir.IntType(64))
            code = builder.load(builder.gep(codes_at, [index]))
            codes = builder.insert_element(codes, code, number(i))
        bytes_, eights = (ir.Constant(block, [value] * BLOCK) for value in (255, 8))
        lows = builder.and_(builder.lshr(tests, eights), bytes_)
        above = builder.icmp_unsigned("<=", lows, codes)
        below = builder.icmp_unsigned("<=", codes, builder.and_(tests, bytes_))
        mask = builder.bitcast(builder.and_(above, below), ir.IntType(BLOCK))
        return builder.zext(mask, ir.IntType(64))

    return types.int64(words, at, seen), generate


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


def _agreeing_plainly(prints: Any, at: int, length: int, own: int) -> int:
    return sum(1 << i for i, print in enumerate(prints[at : at + length]) if print in (0, own))


def _passing_plainly(words: Any, at: int, seen: Any) -> int:
    tests = enumerate(words[at : at + BLOCK].tolist())
    return sum(1 << i for i, w in tests if w >> 8 & 255 <= seen[w >> 16] <= w & 255)


def _lowest_plainly(mask: int) -> int:
    return (mask & -mask).bit_length() - 1


# Set by NUMBA_DISABLE_JIT.
_plain = getattr(config, "DISABLE_JIT", 0)
admitting: Any = _admitting_plainly if _plain else _admitting
agreeing: Any = _agreeing_plainly if _plain else _agreeing
passing_words: Any = _passing_plainly if _plain else _passing_words
lowest: Any = _lowest_plainly if _plain else _lowest
