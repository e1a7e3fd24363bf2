"""Cells of floats: whose x is the same, and that a range ends where its cells end."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexes.paint.axis import ceilings, cell_size, floats, floors, ranks

INF = math.inf
LARGEST = np.finfo(np.float64).max
SMALLEST = 5e-324

finite = st.floats(allow_nan=False, allow_infinity=False)
sizes = st.sampled_from([8, 16, 64, 4096])


def one(function, value, *args):
    (found,) = function(np.array([value]), *args).tolist()
    return found


def cell(value, size):
    return one(ranks, value) // size


@pytest.mark.parametrize("k", [1, 2, 3, 4, 7, 8, 10, 15, 16, 100, 1000])
def test_a_cell_is_a_power_of_two_with_room_for_four_times_as_many_and_one(k):
    size = cell_size(k)
    assert size & (size - 1) == 0
    assert size // 2 < 4 * (k + 1) <= size


@given(a=finite, b=finite)
def test_ranks_have_the_order_of_floats(a, b):
    assert (one(ranks, a) < one(ranks, b)) == (a < b)
    assert (one(ranks, a) == one(ranks, b)) == (a == b)


@given(value=finite)
def test_neighbours_have_neighbouring_ranks(value):
    up = np.nextafter(value, INF)
    assert one(ranks, up) == one(ranks, value) + 1
    assert one(floats, one(ranks, value)) == value


def test_zeros_of_both_signs_are_one_place():
    assert ranks(np.array([-0.0, 0.0])).tolist() == [0, 0]
    assert math.copysign(1, one(floats, 0)) == 1
    assert ranks(np.array([-SMALLEST, SMALLEST])).tolist() == [-1, 1]


@given(value=finite, size=sizes)
def test_a_value_lies_between_the_first_and_the_last_float_of_its_cell(value, size):
    first, last = one(floors, value, size), one(ceilings, value, size)
    assert first <= value <= last
    if math.isfinite(first) and math.isfinite(last):
        assert one(ranks, last) - one(ranks, first) == size - 1
        assert one(ranks, first) % size == 0
        for edge in (first, last):
            assert one(floors, edge, size) == first
            assert one(ceilings, edge, size) == last


@given(value=finite, size=sizes, ends=st.lists(finite, min_size=2, max_size=2).map(sorted))
def test_a_range_with_a_value_keeps_it_and_one_without_gains_none_of_another_cell(
    value, size, ends
):
    low, high = one(floors, ends[0], size), one(ceilings, ends[1], size)
    cells = [cell(end, size) for end in ends]
    assert (low <= value <= high) == (cells[0] <= cell(value, size) <= cells[1])
    assert not ends[0] <= value <= ends[1] or low <= value <= high


@given(value=finite, size=sizes)
def test_cells_are_neither_lapped_nor_apart(value, size):
    last = one(ceilings, value, size)
    if last < LARGEST:
        behind = float(np.nextafter(last, INF))
        assert one(floors, behind, size) == behind
        assert cell(behind, size) == cell(value, size) + 1


@pytest.mark.parametrize("edges", [floors, ceilings])
def test_infinite_ends_stay(edges):
    assert edges(np.array([-INF, INF]), 64).tolist() == [-INF, INF]


@pytest.mark.parametrize("value", [LARGEST, -LARGEST, SMALLEST, -SMALLEST, 2.2e-308, 0.0, -0.0])
@pytest.mark.parametrize("size", [8, 64, 4096])
def test_cells_at_the_ends_of_floats(value, size):
    first, last = one(floors, value, size), one(ceilings, value, size)
    assert first <= value <= last
    assert not math.isnan(first)
    assert not math.isnan(last)


def test_the_cell_of_zero_has_nothing_negative():
    assert math.copysign(1, one(floors, -0.0, 8)) == 1
    assert one(ceilings, -SMALLEST, 8) == -SMALLEST
    assert one(floors, SMALLEST, 8) == 0


@given(digits=st.integers(10**12, 10**13 - 2), exponent=st.integers(-20, 20))
def test_numbers_of_13_digits_are_told_apart_for_ten_best(digits, exponent):
    scale = Fraction(10) ** exponent
    a, b = float(digits * scale), float((digits + 1) * scale)
    assert cell(a, cell_size(10)) < cell(b, cell_size(10))


@pytest.mark.parametrize("below", [10**n for n in range(1, 13)])
def test_13_digits_are_told_apart_below_each_power_of_ten(below):
    """There the digits are the closest to each other."""
    step = Fraction(below, 10**13)
    found = [float(below - i * step) for i in range(1, 200)]
    cells = np.unique(ranks(np.array(found)) // cell_size(10))
    assert len(cells) == len(found)


def test_neighbouring_floats_of_a_cell_are_one_place():
    x = 4.0
    near = [float(np.nextafter(x, INF)), one(ceilings, x, 8)]
    assert {cell(value, 8) for value in [x, *near]} == {cell(x, 8)}
    assert cell(np.nextafter(near[1], INF), 8) != cell(x, 8)
    assert cell(np.nextafter(x, -INF), 8) != cell(x, 8)
