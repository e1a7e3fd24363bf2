"""Vectors in LLVM's own words: what intrinsics that work on many numbers at once are made from."""

from typing import Any

from numba.core import cgutils, types

__all__ = [
    "BYTE", "LONG", "NUMBER", "REAL", "SINGLE", "Vectors", "constant", "listed", "vector",
]  # fmt: skip

_ir = cgutils.ir
BYTE, NUMBER, LONG = (_ir.IntType(bits) for bits in (8, 32, 64))
SINGLE, REAL = _ir.FloatType(), _ir.DoubleType()

_SIZES = {BYTE: 1, NUMBER: 4, SINGLE: 4, LONG: 8, REAL: 8}  # in bytes


def vector(kind: Any, length: int) -> Any:
    return _ir.VectorType(kind, length)


class Vectors:
    """The instructions of one intrinsic, and the arguments it was given."""

    def __init__(self, context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        self.builder = builder
        self._context = context
        self._given = tuple(zip(arguments, signature.args, strict=True))

    def given(self, argument: int, kind: Any = types.int64) -> Any:
        """A number among the arguments, as a kind of number that numba knows."""
        value, own = self._given[argument]
        return self._context.cast(self.builder, value, own, kind)

    def place(self, array: int, at: Any) -> Any:
        """Where an element of an array is, counted from the array's start."""
        values, kind = self._given[array]
        data = self._context.make_array(kind)(self._context, self.builder, values).data
        return self.builder.gep(data, [at])

    def load(self, kind: Any, array: int, at: Any) -> Any:
        """A vector of what an array has from a place on."""
        there = self.builder.bitcast(self.place(array, at), kind.as_pointer())
        return self.builder.load(there, align=_SIZES[kind.element])

    def gather(self, kind: Any, array: int, places: Any) -> Any:
        """A vector of whole numbers of an array, each from a place of its own."""
        start, wide = self.place(array, LONG(0)), vector(LONG, kind.count)
        there = self.builder.gep(
            start, [self.builder.zext(places, wide)], source_etype=kind.element
        )
        there.type = vector(start.type, kind.count)  # llvmlite takes the places for a single one
        name = f"llvm.masked.gather.v{kind.count}{kind.element}.v{kind.count}p0"
        all_of_them = constant(vector(_ir.IntType(1), kind.count), 1)
        alignment = NUMBER(_SIZES[kind.element])
        return self.call(name, kind, there, alignment, all_of_them, constant(kind, 0))

    def store(self, value: Any, array: int, at: Any) -> None:
        there = self.builder.bitcast(self.place(array, at), value.type.as_pointer())
        self.builder.store(value, there, align=_SIZES[value.type.element])

    def repeated(self, value: Any, kind: Any) -> Any:
        """A vector that has one number in all places."""
        nothing = _ir.Constant(kind, _ir.Undefined)
        single = self.builder.insert_element(nothing, value, NUMBER(0))
        zeros = _ir.Constant(vector(NUMBER, kind.count), [0] * kind.count)
        return self.builder.shuffle_vector(single, nothing, zeros)

    def mask(self, holds: Any) -> Any:
        """A bit for each place of a vector of truths."""
        bits = self.builder.bitcast(holds, _ir.IntType(holds.type.count))
        return self.builder.zext(bits, LONG) if holds.type.count < LONG.width else bits

    def call(self, name: str, result: Any, *values: Any) -> Any:
        """An operation that LLVM has for a name."""
        kind = _ir.FunctionType(result, [value.type for value in values])
        function = cgutils.get_or_insert_function(self.builder.module, kind, name)
        return self.builder.call(function, values)

    def can(self, feature: str) -> bool:
        """Whether the processor that is compiled for is known to have a feature."""
        return f"+{feature}" in self._context.codegen().magic_tuple()[2].split(",")

    def lowest_bit(self, mask: Any) -> Any:
        """The place of the lowest bit of a mask that has one."""
        return self.call("llvm.cttz.i64", LONG, mask, _ir.IntType(1)(1))


def constant(kind: Any, value: float) -> Any:
    return _ir.Constant(kind, [value] * kind.count)


def listed(values: list[int], kind: Any = NUMBER) -> Any:
    """A constant of different numbers."""
    return _ir.Constant(vector(kind, len(values)), values)
