"""What is tested many at a time, against one at a time."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numba import config, njit
from numba.core.registry import cpu_target

from indexes.boolean.fingerprints import ANY, fingerprint, fingerprint_of
from indexes.boolean.gain_masks import reaching
from indexes.boolean.hints import ANYTHING, SET_BYTES, clear_asked, hint_of, meeting, write_asked
from indexes.boolean.masks import BLOCK, CHUNK, admitting, agreeing, passing_words
from indexes.kernels.bits import lowest_bit

# Without the compiler sets are always looked up.
features = cpu_target.target_context.codegen().magic_tuple()[2].split(",")
can_shuffle = config.DISABLE_JIT or "+avx2" in features


@njit
def places_of(lows, highs, at, length, code, places):
    mask, count = admitting(lows, highs, at, length, code), 0
    while mask:
        places[count] = lowest_bit(mask)
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


@njit
def agreeing_places(prints, at, length, own, places):
    mask, count = agreeing(prints, at, length, own), 0
    while mask:
        places[count] = lowest_bit(mask)
        mask &= mask - 1
        count += 1
    return count


@given(
    st.lists(st.integers(0, 3), min_size=CHUNK, max_size=CHUNK),
    st.integers(0, 70),
    st.integers(1, CHUNK),
    st.integers(1, 3),
)
def test_a_mask_has_the_places_of_all_that_agree_or_ask_for_nothing(prints, at, length, own):
    array = np.zeros(at + CHUNK, np.uint8)
    array[at:] = prints
    places = np.zeros(CHUNK, np.int64)
    count = agreeing_places(array, at, length, own, places)
    assert places[:count].tolist() == [i for i in range(length) if prints[i] in (ANY, own)]


@njit
def met(hints, at, length, asked):
    return meeting(hints, at, length, asked)


@given(
    st.lists(st.integers(0, 255), min_size=CHUNK, max_size=CHUNK),
    st.integers(0, 70),
    st.integers(1, CHUNK),
    st.sets(st.integers(0, 255)),
)
def test_a_mask_has_the_places_of_all_hints_in_a_set(hints, at, length, chosen):
    array, asked = np.zeros(at + CHUNK, np.uint8), np.zeros(SET_BYTES, np.uint8)
    array[at:] = hints
    for hint in chosen:
        asked[hint >> 3] |= 1 << (hint & 7)
    mask = met(array, at, length, asked)
    if can_shuffle:
        assert [bool(mask >> i & 1) for i in range(CHUNK)] == [
            i < length and hints[i] in chosen for i in range(CHUNK)
        ]
    else:
        assert mask & (1 << 64) - 1 == (1 << length) - 1


@njit
def ask_for(asked, column, print):
    clear_asked(asked)
    write_asked(asked, column, print)
    return hint_of(column, ANY), hint_of(column, print)


@given(st.integers(0, (1 << 18) - 1), st.integers(1, 255))
def test_an_event_meets_the_hints_of_its_column_and_value_and_of_nothing(column, print):
    asked = np.full(SET_BYTES, 255, np.uint8)
    hints = ask_for(asked, column, print)
    assert all(1 <= hint <= 255 for hint in hints)
    bits = np.unpackbits(asked, bitorder="little")
    assert set(np.flatnonzero(bits).tolist()) == {ANYTHING, *hints}


@njit
def compiled_fingerprint(value):
    return fingerprint(value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_fingerprint_is_a_byte_of_the_value_and_the_same_without_the_compiler(value):
    assert compiled_fingerprint(value) == fingerprint_of(value)
    assert 1 <= fingerprint_of(value) <= 255


def test_minus_zero_has_the_fingerprint_of_zero():
    assert compiled_fingerprint(-0.0) == compiled_fingerprint(0.0) == fingerprint_of(-0.0)


@njit
def passed(words, at, seen):
    return passing_words(words, at, seen)


@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(0, 3)),
        min_size=BLOCK,
        max_size=BLOCK,
    ),
    st.integers(0, 20),
    st.lists(st.integers(0, 3), min_size=5, max_size=5),
)
def test_a_mask_has_the_words_that_an_event_passes(tests, at, codes):
    words = np.zeros(at + BLOCK, np.uint32)
    words[at:] = [place << 16 | low << 8 | high for place, low, high in tests]
    wanted = [low <= codes[place] <= high for place, low, high in tests]
    mask = passed(words, at, np.array(codes, np.uint32))
    assert [bool(mask >> i & 1) for i in range(BLOCK)] == wanted


@njit
def reached(beside, sums, at, length, marks, gains, count, rate, least):
    return reaching(beside, sums, at, length, marks, gains, count, rate, least)


@given(
    st.lists(
        st.tuples(st.sets(st.sampled_from([0, 1, 2, 30, 31])), st.integers(0, 4)),
        min_size=CHUNK,
        max_size=CHUNK,
    ),
    st.integers(0, 70),
    st.integers(1, CHUNK),
    st.dictionaries(st.sampled_from([0, 1, 2, 31]), st.integers(-4, 4)),
    st.integers(0, 2),
    st.integers(0, 12),
)
def test_a_mask_has_the_members_that_reach_a_score(members, at, length, known, rate, least):
    """Small numbers, so that many reach it just so."""
    beside, sums = np.zeros(at + CHUNK, np.uint32), np.zeros(at + CHUNK, np.float32)
    wanted = []
    for i, (borne, total) in enumerate(members):
        beside[at + i], sums[at + i] = sum(1 << mark for mark in borne), total
        wanted.append(rate * total + sum(known.get(mark, 0) for mark in borne) >= least)
    marks = np.array([*(1 << mark for mark in known), 1 << 30], np.uint32)  # the last is not read
    gains = np.array([*known.values(), 200], np.float32)
    numbers = (np.float32(rate), np.float32(least))
    mask = reached(beside, sums, at, length, marks, gains, len(known), *numbers)
    assert [bool(mask >> i & 1) for i in range(length)] == wanted[:length]
