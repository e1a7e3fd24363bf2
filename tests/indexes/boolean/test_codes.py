"""Codes of values: counted block by block, against counting one bound after another."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from indexes.boolean.bound_counts import BLOCK, count_below
from indexes.boolean.codes import bounds_of, code_of, codes_of, extended
from indexes.boolean.exponents import exponent_of
from indexes.kernels.quantile_codes import MOST_BOUNDS


@njit
def counted_below(bounds, at, length, value):
    return count_below(bounds, at, length, value)


@given(
    st.lists(st.integers(-5, 5).map(float), min_size=BLOCK, max_size=BLOCK),
    st.integers(0, 20),
    st.integers(0, BLOCK),
    st.integers(-6, 6).map(float),
)
def test_bounds_below_a_value_are_counted_as_far_as_asked(bounds, at, length, value):
    array = np.concatenate((np.full(at, -9.0), bounds))
    assert counted_below(array, at, length, value) == sum(b < value for b in bounds[:length])


@njit
def compiled_exponent(number):
    return exponent_of(number)


@given(st.floats(2.0**-1000, 2.0**1000))
def test_an_exponent_is_the_power_of_two_below_a_number(number):
    assert 2.0 ** compiled_exponent(number) <= number < 2.0 ** (compiled_exponent(number) + 1)


@njit
def coded(codes, column, value):
    return code_of(codes, column, value)


@given(
    st.lists(st.sets(st.integers(0, 400), max_size=MOST_BOUNDS), max_size=4),
    st.integers(-1, 401).map(float),
)
def test_a_code_is_one_more_than_the_bounds_below(sets, value):
    bounds = [np.array(sorted(own), np.float64) for own in sets]
    codes = codes_of(bounds)
    for column, own in enumerate(bounds):
        assert coded(codes, column, value) == 1 + (own < value).sum()
    assert coded(codes, len(bounds), value) == 1


def test_new_columns_are_parted_by_their_lines_or_not_at_all():
    codes = extended(codes_of([np.arange(20.0)]), 3, {2: np.arange(30.0)})
    assert [own.tolist() for own in bounds_of(codes)] == [
        list(range(20)), [], list(range(30)),
    ]  # fmt: skip
    assert [coded(codes, column, 18.5) for column in range(3)] == [20, 1, 20]
