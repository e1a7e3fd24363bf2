"""Arrays without an owner are the caller's own, and stay alive with them."""

import copy
import sys
from typing import NamedTuple

import numpy as np
import pytest
from numba import config, njit

from indexes.kernels.borrowed import Handle, arrays_at, borrowed


class Columns(NamedTuple):
    numbers: np.ndarray  # i8[n]
    table: np.ndarray  # f8[n, 3]


def some_columns(rows):
    return Columns(np.arange(rows), np.arange(3.0 * rows).reshape(rows, 3))


@njit
def write(columns, row, number):
    columns = borrowed(columns)
    columns.numbers[row] = number
    columns.table[row, 2] = -number
    return columns.table[row].sum()


def test_what_a_kernel_writes_to_borrowed_arrays_is_in_the_callers():
    columns = some_columns(4)
    before = [sys.getrefcount(array) for array in columns]
    assert write(columns, 1, 70) == 3.0 + 4.0 - 70.0
    assert columns.numbers.tolist() == [0, 70, 2, 3]
    assert columns.table[1].tolist() == [3.0, 4.0, -70.0]
    assert [sys.getrefcount(array) for array in columns] == before


_read = arrays_at(some_columns(1), some_columns(1))


@njit
def total_at(address):
    first, second = _read(address)
    return first.numbers.sum() + second.table.sum()


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="addresses are for compiled code")
@pytest.mark.parametrize("rows", [0, 1, 5])
def test_arrays_are_found_by_the_address_of_their_handle(rows):
    first, second = some_columns(rows), some_columns(rows + 2)
    handle = Handle(first, second)
    handle.check()
    assert total_at(handle.address) == first.numbers.sum() + second.table.sum()


def test_a_copied_handle_knows_the_copied_arrays():
    handle = copy.deepcopy(Handle((np.arange(3), np.zeros((2, 2)))))
    handle.check()
    assert handle.parts[0][0].tolist() == [0, 1, 2]
