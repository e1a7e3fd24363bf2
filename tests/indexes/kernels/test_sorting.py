"""The quick stable order, and the sort of ids in place, against numpy's own."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from indexes.kernels.sorting import sort_ascending, stable_order


@given(keys=st.lists(st.sampled_from([-np.inf, -1.0, -0.0, 0.0, 2.0, np.inf]), max_size=60))
def test_a_stable_order_is_numpys(keys):
    array = np.array(keys, np.float64)
    assert stable_order(array).tolist() == np.argsort(array, kind="stable").tolist()


@njit
def in_place(values):
    sort_ascending(values, np.empty_like(values))


@given(
    count=st.sampled_from([0, 1, 2, 199, 200, 201, 700]),
    bits=st.sampled_from([0, 1, 8, 9, 31, 62]),
    seed=st.integers(0, 2**32 - 1),
)
def test_ids_are_sorted_in_place(count, bits, seed):
    ids = np.random.default_rng(seed).integers(0, 2**bits, count, endpoint=True)
    wanted = np.sort(ids)
    in_place(ids)
    assert ids.tolist() == wanted.tolist()


def test_the_greatest_ids_are_sorted():
    ids = np.arange(300)[::-1] + (2**63 - 300)
    in_place(ids)
    assert ids.tolist() == list(range(2**63 - 300, 2**63))
