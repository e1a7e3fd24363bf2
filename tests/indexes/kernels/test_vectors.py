"""Instructions on vectors against one number after another."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import config, njit, types
from numba.extending import intrinsic

from indexes.kernels.vectors import BYTE, LONG, NUMBER, Vectors, constant, listed, vector

pytestmark = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="there is no LLVM to ask")
WIDTH = 16
BYTES, NUMBERS = vector(BYTE, WIDTH), vector(NUMBER, WIDTH)


@intrinsic
def _equal(typing_context, array, at, value):
    """Bit i says whether array[at + i] is the value."""

    def generate(context, builder, signature, arguments):
        v = Vectors(context, builder, signature, arguments)
        wanted = v.repeated(v.given(2, types.uint8), BYTES)
        return v.mask(builder.icmp_unsigned("==", v.load(BYTES, 0, v.given(1)), wanted))

    return types.int64(array, at, value), generate


@intrinsic
def _gather(typing_context, array, places, out):
    """out[i] = array[places[i]] + i + 1; returns the place of the lowest bit of places[0] + 1."""

    def generate(context, builder, signature, arguments):
        v = Vectors(context, builder, signature, arguments)
        found = v.gather(NUMBERS, 0, v.load(NUMBERS, 1, LONG(0)))
        one_more = builder.add(found, constant(NUMBERS, 1))
        v.store(builder.add(one_more, listed(list(range(WIDTH)))), 2, LONG(0))
        first = builder.zext(builder.load(v.place(1, LONG(0))), LONG)
        return v.lowest_bit(builder.add(first, LONG(1)))

    return types.int64(array, places, out), generate


@njit
def equal(array, at, value):
    return _equal(array, at, value)


@njit
def gather(array, places, out):
    return _gather(array, places, out)


some_bytes = st.lists(st.integers(250, 255), min_size=WIDTH, max_size=WIDTH)


@given(values=some_bytes, at=st.integers(0, 20), value=st.integers(250, 255))
def test_a_mask_has_a_bit_for_each_place_that_passes(values, at, value):
    array = np.concatenate((np.zeros(at, np.uint8), np.array(values, np.uint8)))
    assert equal(array, at, value) == sum(1 << i for i, v in enumerate(values) if v == value)


@given(places=st.lists(st.integers(0, 40), min_size=WIDTH, max_size=WIDTH))
def test_numbers_are_gathered_from_their_places(places):
    array, out = np.arange(1000, 1041, dtype=np.uint32), np.zeros(WIDTH, np.uint32)
    lowest = gather(array, np.array(places, np.uint32), out)
    assert out.tolist() == [1000 + place + i + 1 for i, place in enumerate(places)]
    assert (places[0] + 1) >> lowest & 1
    assert (places[0] + 1) % (1 << lowest) == 0
