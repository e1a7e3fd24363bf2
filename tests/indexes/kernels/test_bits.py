"""Bits of words: compiled, interpreted, and written out."""

from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from indexes.kernels.bits import highest_bit, lowest_bit, popcount


@njit
def bits_of(word):
    return lowest_bit(word), highest_bit(word), popcount(word)


@njit
def lowest_and_count(word):
    return lowest_bit(word), popcount(word)


@given(word=st.integers(1, 2**63 - 1))
def test_bits_are_those_of_the_word_written_out(word):
    written = f"{word:b}"
    expected = written[::-1].index("1"), len(written) - 1, written.count("1")
    assert bits_of(word) == (lowest_bit(word), highest_bit(word), popcount(word)) == expected


@given(word=st.integers(-(2**63), -1))
def test_the_uppermost_bit_counts_as_any_other(word):
    written = f"{word + 2**64:b}"
    expected = written[::-1].index("1"), written.count("1")
    assert lowest_and_count(word) == (lowest_bit(word), popcount(word)) == expected


def test_a_word_without_bits_counts_none():
    assert popcount(0) == lowest_and_count(0)[1] == 0
