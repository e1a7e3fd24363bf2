"""Arrays that begin with a cache line, and the tree that relies on it."""

import numpy as np
import pytest

from indexes.boolean import BEStarTree, Predicate
from indexes.boolean.tree_layout import C_ARRAYS, M_ARRAYS
from indexes.forking import forked
from indexes.kernels.aligned import LINE, aligned_copy, aligned_zeros


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float64, np.bool_])
@pytest.mark.parametrize("shape", [1, (3, 16), (100, 8, 2), 12_345])
def test_an_array_begins_with_a_line(shape, dtype):
    array = aligned_zeros(shape, dtype)
    plain = np.zeros(shape, dtype)
    assert array.shape == plain.shape
    assert array.dtype == plain.dtype
    assert not array.any()
    assert array.flags.c_contiguous
    assert array.flags.writeable
    assert array.ctypes.data % LINE == 0


def test_a_copy_has_the_same_in_it_and_memory_of_its_own():
    array = np.arange(60).reshape(3, 20)[:, 1:]
    copy = aligned_copy(array)
    assert copy.tolist() == array.tolist()
    assert copy.ctypes.data % LINE == 0
    assert not np.shares_memory(copy, array)


def test_nodes_and_members_begin_with_a_line_however_they_came_to_be():
    tree = BEStarTree(leaf_capacity=2)
    for id in range(300):  # so that there are splits, and arrays are outgrown
        tree.insert(id, [Predicate("a", "=", id % 7), Predicate("b", "<", id)])
    for one in (tree, forked(tree), BEStarTree.from_arrays(tree.to_arrays())):
        for name in (*C_ARRAYS, *M_ARRAYS):
            assert getattr(one._tree, name).ctypes.data % LINE == 0, name
