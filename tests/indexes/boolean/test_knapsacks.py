"""Knapsacks filled side by side, against one after another."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from indexes.boolean.knapsacks import LANES, MOST_COUNTED, fill_knapsacks

SMALL = st.integers(0, 5)
THINGS = st.lists(
    st.tuples(SMALL, SMALL, st.lists(SMALL, min_size=LANES, max_size=LANES)), max_size=20
)


@njit
def fill(counted, fixed, prices, size, room, filled):
    return fill_knapsacks(counted, fixed, prices, size, room, filled)


@given(
    THINGS,
    st.integers(0, MOST_COUNTED + 4),
    st.lists(SMALL, min_size=LANES, max_size=LANES),
)
def test_the_dearest_things_go_in_and_the_least_knapsack_is_named(things, room, begun):
    size = len(things)
    # One more thing, which must not be read.
    counted = np.array([thing[0] for thing in things] + [99.0], np.float32)
    fixed = np.array([thing[1] for thing in things] + [99.0], np.float32)
    prices = np.array([thing[2] for thing in things] + [[99] * LANES], np.float32)
    filled = np.array(begun, np.float32)
    lane = fill(counted, fixed, prices, size, room, filled)
    wanted = []
    for i in range(LANES):
        values = sorted((number * price[i] for number, _, price in things), reverse=True)
        always = sum(number * price[i] for _, number, price in things)
        wanted.append(begun[i] + always + sum(values[: room if room <= MOST_COUNTED else size]))
    assert filled.tolist() == wanted
    assert lane == wanted.index(min(wanted))
