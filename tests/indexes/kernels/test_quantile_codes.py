"""Codes of values against counting one bound after another."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from indexes.kernels.quantile_codes import MOST_BOUNDS, NO_END, code_of, evenly

values = st.one_of(st.integers(-5, 5).map(float), st.floats(allow_nan=False))


@njit
def coded(bounds, column, value):
    return code_of(bounds, column, value)


@given(sample=st.lists(values, min_size=1, max_size=600), asked=st.lists(values, max_size=20))
def test_a_code_is_one_more_than_the_bounds_below_and_fits_a_byte(sample, asked):
    bounds = np.stack((np.zeros(MOST_BOUNDS), evenly(np.sort(sample))))
    codes = [coded(bounds, 1, value) for value in sorted(asked)]
    own = bounds[1].tolist()
    assert codes == [1 + sum(bound < value for bound in own) for value in sorted(asked)]
    assert codes == sorted(codes)
    assert all(0 < code < NO_END for code in codes)


@given(sample=st.lists(values, min_size=1, max_size=600))
def test_bounds_are_sampled_values_from_the_least_to_the_greatest(sample):
    bounds = evenly(np.sort(sample)).tolist()
    assert len(bounds) == MOST_BOUNDS
    assert bounds == sorted(bounds)
    assert set(bounds) <= set(sample)
    assert (bounds[0], bounds[-1]) == (min(sample), max(sample))
    if len(sample) <= MOST_BOUNDS:
        assert set(bounds) == set(sample)


def test_as_many_values_are_between_any_two_bounds():
    bounds = evenly(np.arange(MOST_BOUNDS * 40.0))
    assert set(np.diff(bounds).tolist()) <= {40.0, 41.0}
