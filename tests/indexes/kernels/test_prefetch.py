"""Prefetching changes no answer, wherever in an array it points."""

import numpy as np
import pytest
from numba import njit

from indexes.kernels.prefetch import prefetch


@njit
def total(values, order, ahead):
    found = 0.0
    for i in range(len(order)):
        if i + ahead < len(order):
            prefetch(values, order[i + ahead])
        found += values[order[i]]
    return found


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.uint32, np.int64])
def test_what_is_prefetched_is_read_as_before(dtype, index):
    values = np.arange(100).astype(dtype)
    order = np.random.default_rng(0).permutation(100)[:12].astype(index)
    assert total(values, order, 3) == sum(values[i].item() for i in order)
