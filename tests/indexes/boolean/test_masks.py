"""Chunks of intervals tested at once, against one at a time."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from indexes.boolean.masks import CHUNK, admitting, lowest


@njit
def places_of(lows, highs, at, length, code, places):
    mask, count = admitting(lows, highs, at, length, code), 0
    while mask:
        places[count] = lowest(mask)
        mask &= mask - 1
        count += 1
    return count


@given(
    st.binary(min_size=2 * CHUNK, max_size=2 * CHUNK),
    st.integers(0, 70),
    st.integers(1, CHUNK),
    st.integers(0, 255),
)
def test_a_mask_has_the_places_of_all_intervals_with_the_code(ends, at, length, code):
    lows, highs = np.zeros(at + CHUNK, np.uint8), np.full(at + CHUNK, 255, np.uint8)
    lows[at:], highs[at:] = list(ends[:CHUNK]), list(ends[CHUNK:])
    places = np.zeros(CHUNK, np.int64)
    count = places_of(lows, highs, at, length, np.uint32(code), places)
    assert places[:count].tolist() == [
        i for i in range(length) if ends[i] <= code <= ends[CHUNK + i]
    ]
