"""Arrays that compiled code uses without counting references to them.

numba counts a reference each time that an array is taken out of a tuple, by an instruction that all
processors have to agree on: half of the time of a search.  And each array that Python hands over
costs a third of a microsecond.  So kernels take arrays without an owner, and a call for a single
box hands over one address, at which it says where the arrays are.  In both cases the caller keeps
them alive.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types
from numba.core import cgutils
from numba.extending import intrinsic, overload
from numba.np.arrayobj import make_array, populate_array

__all__ = ["Handle", "arrays_at", "borrowed"]


def borrowed(arrays):
    """The same `NamedTuple` of arrays."""
    return arrays


@overload(borrowed)
def _compiled_borrowed(arrays):
    return lambda arrays: _without_owner(arrays)  # type: ignore[call-arg]


@intrinsic
def _without_owner(typing_context, arrays):
    def generate(context, builder, signature, arguments):
        bare = []
        values = cgutils.unpack_tuple(builder, arguments[0])
        for kind, value in zip(arrays.types, values, strict=True):
            array = make_array(kind)(context, builder, value)
            array.meminfo = cgutils.get_null_value(array.meminfo.type)
            array.parent = cgutils.get_null_value(array.parent.type)
            bare.append(array._getvalue())
        return context.make_tuple(builder, arrays, bare)

    return arrays(arrays), generate


class Handle:
    """Address and shape of every array of some tuples, in a row; keeps them alive."""

    def __init__(self, *parts: tuple[np.ndarray, ...]) -> None:
        self.parts = parts
        words = [
            word
            for part in parts
            for array in part
            for word in (array.__array_interface__["data"][0], *array.shape)
        ]
        self._words = np.array(words, np.int64)
        self.address: int = self._words.__array_interface__["data"][0]

    def __reduce__(self) -> tuple[type["Handle"], tuple[tuple[np.ndarray, ...], ...]]:
        return Handle, self.parts  # a copy has other addresses

    def check(self) -> None:
        assert (self._words == Handle(*self.parts)._words).all()


def arrays_at(*examples: NamedTuple) -> Any:
    """For kernels: what gives the tuples of a handle, of the same types as the examples."""
    parts = types.Tuple([typeof(example) for example in examples])

    @intrinsic
    def read(typing_context, address):
        def generate(context, builder, signature, arguments):
            word = builder.inttoptr(arguments[0], cgutils.intp_t.as_pointer())
            tuples = []
            for part in parts.types:
                arrays = []
                for kind in part.types:
                    array, word = _array_at(context, builder, kind, word)
                    arrays.append(array)
                tuples.append(context.make_tuple(builder, part, arrays))
            return context.make_tuple(builder, parts, tuples)

        return parts(types.int64), generate

    return read


def _array_at(context, builder, kind, word):
    """The array that the words from here on describe, and what follows them."""
    read = []
    for _ in range(1 + kind.ndim):
        read.append(builder.load(word))
        word = builder.gep(word, [cgutils.intp_t(1)])
    address, *shape = read
    item = context.get_abi_sizeof(context.get_data_type(kind.dtype))
    strides = [cgutils.intp_t(item)]
    for size in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], size))
    array = make_array(kind)(context, builder)
    populate_array(
        array,
        data=builder.inttoptr(address, array.data.type),
        shape=shape,
        strides=strides,
        itemsize=item,
        meminfo=None,
    )
    return array._getvalue(), word
