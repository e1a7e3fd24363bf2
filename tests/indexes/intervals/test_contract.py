"""One contract for all scored interval indexes.

A class that only has `build` goes into BUILT; one with updates into both lists.
"""

import math
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexes.intervals import (
    IRTree,
    LiveSOPT,
    ScoredIntervalTree,
    ScoredRTree,
    ScoredSegmentTree,
    SOPTRTree,
)
from tests.indexes.intervals import strategies as some
from tests.indexes.intervals.columns import (
    ID_ERRORS,
    INF,
    PROBES,
    Row,
    Subject,
    array_bytes,
    assert_plain,
    assert_same_answers,
    assert_table,
    columns,
    fingerprint,
    refused,
    scanned,
)

BRANCHINGS: list[dict] = [{"branching": 2}, {"branching": 3}, {}]
UPDATEABLE = [Subject(cls, options) for cls in (IRTree, LiveSOPT) for options in BRANCHINGS]
BUILT = [
    *UPDATEABLE,
    *(Subject(cls, options) for cls in (SOPTRTree, ScoredRTree) for options in BRANCHINGS),
    Subject(ScoredIntervalTree, {}),
    Subject(ScoredSegmentTree, {}),
]

built = pytest.mark.parametrize("subject", BUILT, ids=str)
updateable = pytest.mark.parametrize("subject", UPDATEABLE, ids=str)

LARGEST = 1.7976931348623157e308
SUBNORMAL = 5e-324

# Points, touching ends, nested, equal, half-infinite and infinite intervals; scores tie throughout.
MIXED = [
    Row(5, 0.0, 4.0, 1.0),
    Row(1, 4.0, 5.0, 1.0),
    Row(2**62, 0.0, 4.0, 1.0),
    Row(0, 4.0, 4.0, 2.0),
    Row(9, -INF, 0.0, 2.0),
    Row(3, 0.0, INF, -1.0),
    Row(7, -INF, INF, 0.0),
    Row(8, -INF, INF, -0.0),
    Row(4, 1.0, 3.0, 2.0),
    Row(6, 2.0, 2.0, 1.0),
    Row(12, -5.0, -4.0, 1.0),
    Row(2**63 - 1, -4.0, -2.5, 1.0),
]


@built
def test_an_empty_index_answers_with_nothing(subject):
    index = subject.build([])
    index.check()
    assert len(index) == 0
    assert list(index.scan(1.0)) == []
    assert index.top_k(1.0, 3) == []
    assert index.top_k_between(-INF, INF, 3) == []
    assert_table(index.top_k_many([1.0, 2.0], 3), [[], []], 3)


@built
def test_every_probe_of_a_mixed_population_agrees_with_a_full_scan(subject):
    assert_same_answers(subject.build(MIXED), scanned(MIXED))


@built
@given(population=some.populations, queries=st.lists(some.values, max_size=6), k=some.counts)
def test_a_built_index_agrees_with_a_full_scan(subject, population, queries, k):
    index, expected = subject.build(population), scanned(population)
    index.check()
    assert len(index) == len(population)
    for value in queries:
        assert list(index.scan(value)) == expected.scan(value)
        assert index.top_k(value, k) == expected.top_k(value, k)
    assert_table(index.top_k_many(queries, k), [expected.top_k(v, k) for v in queries], k)


@built
@given(population=some.populations, query=some.intervals, k=some.counts)
def test_top_k_between_agrees_with_a_full_scan(subject, population, query, k):
    low, high = query
    hits = subject.build(population).top_k_between(low, high, k)
    assert hits == scanned(population).top_k_between(low, high, k)


@built
def test_equal_scores_come_in_order_of_id_whatever_the_order_of_building(subject):
    ids = [40, 2, 33, 7, 2**62, 0, 19, 8, 21, 5]
    expected = [(id, 1.5) for id in sorted(ids)]
    for order in (ids, ids[::-1], sorted(ids)):
        index = subject.build([Row(id, 0.0, 1.0, 1.5) for id in order])
        assert list(index.scan(0.5)) == expected
        for k in range(len(ids) + 1):
            assert index.top_k(0.5, k) == expected[:k]
            assert index.top_k_between(1.0, 9.0, k) == expected[:k]
            assert_table(index.top_k_many([0.0, 1.0], k), [expected[:k]] * 2, k)


@built
def test_negative_zero_is_zero_as_value_as_end_and_as_score(subject):
    rows = [Row(2, 0.0, 1.0, -0.0), Row(1, -1.0, -0.0, 0.0), Row(0, -0.0, -0.0, -0.0)]
    index = subject.build(rows)
    for zero in (0.0, -0.0):
        assert index.top_k(zero, 5) == [(0, 0.0), (1, 0.0), (2, 0.0)]
        assert index.top_k_between(zero, zero, 5) == [(0, 0.0), (1, 0.0), (2, 0.0)]


@built
def test_ends_are_closed_and_neighbouring_numbers_are_apart(subject):
    above, below = math.nextafter(1.0, INF), math.nextafter(1.0, 0.0)
    rows = [
        Row(0, 1.0, 1.0, 9.0),
        Row(1, above, 2.0, 8.0),
        Row(2, 0.0, below, 7.0),
        Row(3, SUBNORMAL, SUBNORMAL, 6.0),
        Row(4, -SUBNORMAL, 0.0, 5.0),
    ]
    index = subject.build(rows)
    found = {value: [hit.id for hit in index.scan(value)] for value in (1.0, above, below, 2.0)}
    assert found == {1.0: [0], above: [1], below: [2], 2.0: [1]}
    assert index.top_k(0.0, 9) == [(2, 7.0), (4, 5.0)]
    assert index.top_k(SUBNORMAL, 9) == [(2, 7.0), (3, 6.0)]
    assert index.top_k(-SUBNORMAL, 9) == [(4, 5.0)]
    assert index.top_k_between(math.nextafter(2.0, INF), 5.0, 9) == []


@built
def test_neighbouring_scores_are_apart_and_extreme_ones_kept(subject):
    ranked = [LARGEST, 1.0, math.nextafter(1.0, 0.0), SUBNORMAL, 0.0, -SUBNORMAL, -LARGEST]
    index = subject.build([Row(9 - i, 0.0, 1.0, score) for i, score in enumerate(ranked)])
    assert list(index.scan(0.0)) == [(9 - i, score) for i, score in enumerate(ranked)]


@built
def test_the_largest_numbers_are_coordinates_like_any_other(subject):
    rows = [
        Row(0, LARGEST, LARGEST, 5.0),
        Row(1, -LARGEST, -LARGEST, 4.0),
        Row(2, -LARGEST, LARGEST, 3.0),
        Row(3, 1.5e308, 1.7e308, 2.0),
        Row(4, -INF, INF, 1.0),
        Row(5, 0.0, 1.0, 0.0),
    ]
    index, expected = subject.build(rows), scanned(rows)
    index.check()
    for value in (-LARGEST, -1.6e308, 0.5, 1.6e308, LARGEST):
        assert list(index.scan(value)) == expected.scan(value)


@built
def test_infinite_ends_hold_for_every_finite_value(subject):
    rows = [Row(0, -INF, INF, 1.0), Row(1, 2.0, INF, 3.0), Row(2, -INF, 2.0, 2.0)]
    index = subject.build(rows)
    assert index.top_k(LARGEST, 3) == [(1, 3.0), (0, 1.0)]
    assert index.top_k(-LARGEST, 3) == [(2, 2.0), (0, 1.0)]
    assert index.top_k(2.0, 3) == [(1, 3.0), (2, 2.0), (0, 1.0)]


@built
def test_an_interval_at_infinity_meets_only_interval_events_that_reach_it(subject):
    index = subject.build([Row(0, INF, INF, 2.0), Row(1, -INF, -INF, 1.0), Row(2, 0.0, 1.0, 0.0)])
    index.check()
    assert index.top_k(LARGEST, 3) == index.top_k(-LARGEST, 3) == []
    assert index.top_k_between(5.0, INF, 3) == [(0, 2.0)]
    assert index.top_k_between(-INF, -5.0, 3) == [(1, 1.0)]
    assert index.top_k_between(INF, INF, 3) == [(0, 2.0)]


@built
def test_interval_events_meet_at_a_shared_end(subject):
    #      [0 . 2]   [4 . 6]        event [2, 4] touches both, (2, 4) none
    index = subject.build([Row(0, 0.0, 2.0, 1.0), Row(1, 4.0, 6.0, 2.0)])
    assert index.top_k_between(2.0, 4.0, 5) == [(1, 2.0), (0, 1.0)]
    inside = (math.nextafter(2.0, INF), math.nextafter(4.0, 0.0))
    assert index.top_k_between(*inside, 5) == []
    assert index.top_k_between(-INF, 0.0, 5) == [(0, 1.0)]
    assert index.top_k_between(6.0, INF, 5) == [(1, 2.0)]
    assert index.top_k_between(5.0, 5.0, 5) == [(1, 2.0)]


@built
@pytest.mark.parametrize("k", [0, 1, 3, 12, 13, 40])
def test_a_hit_table_always_has_k_columns(subject, k):
    index, expected = subject.build(MIXED), scanned(MIXED)
    assert_table(index.top_k_many(PROBES, k), [expected.top_k(v, k) for v in PROBES], k)
    assert_table(index.top_k_many(np.array([]), k), [], k)


@built
def test_a_large_k_gives_every_hit(subject):
    index, expected = subject.build(MIXED), scanned(MIXED)
    assert index.top_k(2.0, 1_000_000) == expected.scan(2.0)
    assert index.top_k_between(-INF, INF, 1_000_000) == expected.top_k_between(-INF, INF, 99)


@built
def test_values_may_be_a_list_integers_a_slice_or_read_only(subject):
    index, expected = subject.build(MIXED), scanned(MIXED)
    wanted = [expected.top_k(v, 4) for v in (0.0, 2.0, 4.0)]
    strided = np.array([0.0, 9.0, 2.0, 9.0, 4.0])[::2]
    frozen = np.frombuffer(np.array([0.0, 2.0, 4.0]).tobytes())
    for values in ([0, 2, 4], np.array([0, 2, 4]), strided, frozen, (0.0, 2.0, 4.0)):
        assert_table(index.top_k_many(values, 4), wanted, 4)


@built
def test_hits_are_plain_python_numbers(subject):
    index = subject.build(MIXED)
    assert_plain(index.top_k(np.float64(2.0), np.int64(9)))
    assert_plain(index.top_k_between(1, 3, 9))
    assert_plain(list(index.scan(2)))
    assert len(index.top_k(2, 9)) == 7


@built
def test_scan_is_an_iterator_and_two_of_them_do_not_disturb_each_other(subject):
    index, expected = subject.build(MIXED), scanned(MIXED).scan(2.0)
    first, second = index.scan(2.0), index.scan(2.0)
    assert iter(first) is first
    assert list(islice(first, 2)) == expected[:2]
    assert list(second) == expected
    index.top_k_many(PROBES, 3)
    assert list(first) == expected[2:]
    assert next(first, None) is None


@built
def test_a_hit_table_is_not_changed_by_the_next_query(subject):
    index, expected = subject.build(MIXED), scanned(MIXED)
    first = index.top_k_many([2.0], 5)
    index.top_k_many([-5.0], 5)
    assert_table(first, [expected.top_k(2.0, 5)], 5)


@built
def test_build_keeps_nothing_of_the_callers_arrays(subject):
    arrays = columns(MIXED)
    index = subject.cls.build(*arrays, **subject.options)
    for given_array, untouched in zip(arrays, columns(MIXED), strict=True):
        assert (given_array == untouched).all()
        given_array[:] = 0
    assert_same_answers(index, scanned(MIXED))


@built
def test_build_takes_lists_slices_and_read_only_arrays(subject):
    strided = [np.repeat(column, 2)[::2] for column in columns(MIXED)]
    frozen = [np.frombuffer(column.tobytes(), column.dtype) for column in columns(MIXED)]
    for arrays in ([list(column) for column in columns(MIXED)], strided, frozen):
        index = subject.cls.build(*arrays, **subject.options)
        assert_same_answers(index, scanned(MIXED))


@built
def test_nbytes_counts_at_least_the_intervals(subject):
    few, many = subject.build(MIXED), subject.build([Row(i, i, i + 9, i % 7) for i in range(2000)])
    assert type(few.nbytes) is int
    assert many.nbytes >= 2000 * (8 + 8 + 8 + 8)
    assert many.nbytes > few.nbytes >= len(MIXED) * 32


@built
def test_the_same_rows_give_the_same_bytes(subject):
    first, second = subject.build(MIXED), subject.build(MIXED)
    before = array_bytes(first.to_arrays())
    first.top_k_many(PROBES, 3)
    assert array_bytes(first.to_arrays()) == before == array_bytes(second.to_arrays())


@built
@given(population=some.populations)
def test_arrays_restore_the_same_answers_and_the_same_bytes(subject, population):
    arrays = subject.build(population).to_arrays()
    restored = subject.cls.from_arrays(arrays)
    assert_same_answers(restored, scanned(population))
    assert array_bytes(restored.to_arrays()) == array_bytes(arrays)


BAD_BUILDS = [
    pytest.param([Row(1, math.nan, 2.0, 0.0)], ValueError, ["nan"], id="low-nan"),
    pytest.param([Row(1, 0.0, math.nan, 0.0)], ValueError, ["nan"], id="high-nan"),
    pytest.param([Row(1, 0.0, 2.0, math.nan)], ValueError, ["nan"], id="score-nan"),
    pytest.param([Row(1, 0.0, 2.0, INF)], ValueError, ["inf"], id="score-inf"),
    pytest.param([Row(1, 0.0, 2.0, -INF)], ValueError, ["-inf"], id="score-minus-inf"),
    pytest.param([Row(1, 7.25, 3.5, 0.0)], ValueError, ["7.25", "3.5"], id="inverted"),
    pytest.param([Row(1, INF, -INF, 0.0)], ValueError, ["inf"], id="inverted-infinite"),
    pytest.param([Row(-8, 0.0, 1.0, 0.0)], ValueError, ["-8"], id="negative-id"),
    pytest.param(
        [Row(77, 0.0, 1.0, 0.0), Row(78, 0.0, 1.0, 0.0), Row(77, 2.0, 3.0, 1.0)],
        ID_ERRORS,
        ["77"],
        id="id-twice",
    ),
]


@built
@pytest.mark.parametrize(("bad", "error", "named"), BAD_BUILDS)
def test_build_refuses_bad_rows_and_names_the_value(subject, bad, error, named):
    good = [Row(2**40 + i, 0.0, 1.0, 0.0) for i in range(3)]
    for rows in (bad, good + bad, bad + good):
        with pytest.raises(error) as caught:
            subject.build(rows)
        for value in named:
            assert value in str(caught.value)


@built
@pytest.mark.parametrize("column", range(4))
def test_build_refuses_columns_of_different_lengths_and_dimensions(subject, column):
    rows = [Row(i, 0.0, 1.0, 0.0) for i in range(17)]
    short = list(columns(rows))
    short[column] = short[column][:13]
    with pytest.raises(ValueError, match=r"13.*17|17.*13"):
        subject.cls.build(*short, **subject.options)
    square = list(columns(rows))
    square[column] = np.tile(square[column][:, None], 2)
    with pytest.raises(ValueError, match="2"):
        subject.cls.build(*square, **subject.options)


QUERY_REFUSALS = [
    pytest.param(lambda index: index.top_k(math.nan, 2), "nan", id="top_k-nan"),
    pytest.param(lambda index: index.top_k(INF, 2), "inf", id="top_k-inf"),
    pytest.param(lambda index: index.top_k(-INF, 0), "-inf", id="top_k-minus-inf-of-none"),
    pytest.param(lambda index: index.top_k(0.0, -3), "-3", id="top_k-negative-k"),
    pytest.param(lambda index: list(index.scan(math.nan)), "nan", id="scan-nan"),
    pytest.param(lambda index: list(index.scan(INF)), "inf", id="scan-inf"),
    pytest.param(lambda index: list(index.scan(-INF)), "-inf", id="scan-minus-inf"),
    pytest.param(lambda index: index.top_k_many([0.0, math.nan], 2), "nan", id="many-nan"),
    pytest.param(lambda index: index.top_k_many([0.0, INF], 2), "inf", id="many-inf"),
    pytest.param(lambda index: index.top_k_many([-INF], 0), "-inf", id="many-minus-inf-of-none"),
    pytest.param(lambda index: index.top_k_many([0.0], -3), "-3", id="many-negative-k"),
    pytest.param(lambda index: index.top_k_many([], -3), "-3", id="none-negative-k"),
    pytest.param(lambda index: index.top_k_many([[0.0, 1.0]], 2), "2", id="many-two-dimensions"),
    pytest.param(lambda index: index.top_k_many(0.0, 2), "", id="many-no-dimension"),
    pytest.param(lambda index: index.top_k_between(math.nan, 1.0, 2), "nan", id="between-nan"),
    pytest.param(lambda index: index.top_k_between(0.0, math.nan, 2), "nan", id="between-to-nan"),
    pytest.param(lambda index: index.top_k_between(7.25, 3.5, 2), "7.25", id="between-inverted"),
    pytest.param(lambda index: index.top_k_between(7.25, 3.5, 0), "3.5", id="between-end-named"),
    pytest.param(lambda index: index.top_k_between(0.0, 1.0, -3), "-3", id="between-negative-k"),
]


@built
@pytest.mark.parametrize(("query", "named"), QUERY_REFUSALS)
@pytest.mark.parametrize("rows", [[], MIXED], ids=["empty", "filled"])
def test_bad_queries_are_refused_also_by_an_empty_index(subject, query, named, rows):
    index = subject.build(rows)
    with refused(index, ValueError, named):
        query(index)


@updateable
def test_an_index_starts_empty(subject):
    index = subject.empty()
    index.check()
    assert len(index) == 0
    assert index.top_k(0.0, 3) == []
    assert_table(index.top_k_many([0.0], 2), [[]], 2)
    assert array_bytes(subject.cls.from_arrays(index.to_arrays()).to_arrays())


@updateable
def test_inserted_one_by_one_in_bulk_or_built_the_answers_are_the_same(subject):
    singly, bulk = subject.empty(), subject.empty()
    for row in MIXED:
        singly.insert(*row)
    bulk.insert_many(*columns(MIXED[:5]))
    bulk.insert_many(*columns([]))
    bulk.insert_many(*(list(column) for column in columns(MIXED[5:])))
    for index in (singly, bulk):
        assert_same_answers(index, scanned(MIXED))


@updateable
def test_the_same_updates_give_the_same_bytes(subject):
    def grown():
        index = subject.empty()
        for row in MIXED:
            index.insert(*row)
        index.delete(4)
        index.update_score(7, 3.0)
        index.insert(4, 0.0, 1.0, 1.0)
        return array_bytes(index.to_arrays())

    assert grown() == grown()


@updateable
def test_deleted_ids_leave_at_once_and_may_come_back_elsewhere(subject):
    index, expected = subject.build(MIXED), scanned(MIXED)
    for id in (0, 2**62, 7):
        index.delete(id)
        expected.delete(id)
        assert_same_answers(index, expected)
    index.insert(7, -5.0, -4.0, 9.0)
    expected.insert(7, -5.0, -4.0, 9.0)
    index.insert_many([0, 2**62], [1.0, -INF], [1.0, 0.0], [2.0, 2.0])
    expected.insert(0, 1.0, 1.0, 2.0)
    expected.insert(2**62, -INF, 0.0, 2.0)
    assert_same_answers(index, expected)


@updateable
def test_an_index_emptied_by_either_delete_can_be_filled_again(subject):
    index = subject.build(MIXED)
    index.delete_many([row.id for row in MIXED])
    assert_same_answers(index, scanned([]))
    index.insert_many(*columns(MIXED))
    assert_same_answers(index, scanned(MIXED))
    for row in MIXED:
        index.delete(row.id)
    assert_same_answers(index, scanned([]))
    index.delete_many([])
    index.insert(*MIXED[0])
    assert_same_answers(index, scanned(MIXED[:1]))


@updateable
def test_equal_intervals_with_equal_scores_are_deleted_by_id(subject):
    rows = [Row(i, 1.0, 2.0, 3.0) for i in range(12)]
    index, expected = subject.build(rows), scanned(rows)
    for id in (5, 0, 11, 6, 4):
        index.delete(id)
        expected.delete(id)
        assert_same_answers(index, expected)


@updateable
@pytest.mark.parametrize("score", [9.0, 1.0, 0.0, -9.0, 1, 1e308])
def test_a_new_score_moves_the_id_and_nothing_else(subject, score):
    for row in MIXED:
        index, expected = subject.build(MIXED), scanned(MIXED)
        index.update_score(row.id, score)
        expected.update_score(row.id, score)
        assert_same_answers(index, expected)


@updateable
def test_numpy_scalars_are_taken_and_plain_numbers_given(subject):
    index = subject.empty()
    index.insert(np.int64(3), np.float64(0.0), np.float32(1.0), np.int32(2))
    index.insert(4, 0, 1, 2)
    index.update_score(np.int64(4), np.float64(5.0))
    assert index.top_k(0.5, 5) == [(4, 5.0), (3, 2.0)]
    assert_plain(index.top_k(0.5, 5))
    index.delete(np.int64(3))
    index.delete_many(np.array([4]))
    assert len(index) == 0
    index.insert(3, 0.0, 1.0, 2.0)
    with refused(index, KeyError, 3):
        index.insert(np.int64(3), 0.0, 1.0, 2.0)


@updateable
def test_bulk_updates_take_slices_and_read_only_arrays_and_keep_nothing_of_them(subject):
    table = np.array([[0.0, 1.0, 5.0], [2.0, 4.0, 5.0], [3.0, 3.0, 7.0]])
    ids = np.frombuffer(np.array([10, 11, 12]).tobytes(), dtype=np.int64)
    index = subject.empty()
    index.insert_many(ids, table[:, 0], table[:, 1], table[:, 2])
    table[:] = 0.0
    expected = [Row(10, 0.0, 1.0, 5.0), Row(11, 2.0, 4.0, 5.0), Row(12, 3.0, 3.0, 7.0)]
    assert_same_answers(index, scanned(expected))
    index.delete_many(ids[::2])
    assert_same_answers(index, scanned(expected[1:2]))


UPDATE_REFUSALS = [
    pytest.param(lambda i: i.insert(5, 0.0, 1.0, 2.0), KeyError, [5], id="known"),
    pytest.param(lambda i: i.insert(-8, 0.0, 1.0, 2.0), ValueError, [-8], id="negative"),
    pytest.param(lambda i: i.insert(50, math.nan, 1.0, 2.0), ValueError, ["nan"], id="low"),
    pytest.param(lambda i: i.insert(50, 0.0, math.nan, 2.0), ValueError, ["nan"], id="high"),
    pytest.param(lambda i: i.insert(50, 0.0, 1.0, math.nan), ValueError, ["nan"], id="nan"),
    pytest.param(lambda i: i.insert(50, 0.0, 1.0, INF), ValueError, ["inf"], id="score"),
    pytest.param(lambda i: i.insert(50, 7.25, 3.5, 2.0), ValueError, [7.25, 3.5], id="ends"),
    pytest.param(
        lambda i: i.insert(1.5, 0.0, 1.0, 2.0),
        (TypeError, ValueError),
        [1.5],
        id="fraction",
    ),
    pytest.param(
        lambda i: i.insert(2**63, 0.0, 1.0, 2.0), (ValueError, OverflowError), [], id="wide"
    ),
    pytest.param(lambda i: i.delete(41), KeyError, [41], id="delete-unknown"),
    pytest.param(lambda i: i.delete(-8), ID_ERRORS, [-8], id="delete-negative"),
    pytest.param(lambda i: i.update_score(41, 1.0), KeyError, [41], id="update-unknown"),
    pytest.param(lambda i: i.update_score(5, math.nan), ValueError, ["nan"], id="to-nan"),
    pytest.param(lambda i: i.update_score(5, INF), ValueError, ["inf"], id="to-inf"),
    pytest.param(lambda i: i.update_score(5, -INF), ValueError, ["-inf"], id="to-minus-inf"),
    pytest.param(lambda i: i.delete_many([5, 41, 1]), KeyError, [41], id="one-unknown"),
    pytest.param(lambda i: i.delete_many([5, 1, 5]), ID_ERRORS, [5], id="delete-twice"),
    pytest.param(lambda i: i.delete_many([5, -8]), ID_ERRORS, [-8], id="many-negative"),
    pytest.param(lambda i: i.delete_many([[5, 1]]), ValueError, [2], id="delete-square"),
]


@updateable
@pytest.mark.parametrize(("update", "error", "named"), UPDATE_REFUSALS)
def test_refused_updates_name_the_value_and_change_nothing(subject, update, error, named):
    index = subject.build(MIXED)
    with refused(index, error, *named):
        update(index)
    assert_same_answers(index, scanned(MIXED))


@updateable
@pytest.mark.parametrize(("bad", "error", "named"), BAD_BUILDS)
@pytest.mark.parametrize("place", ["first", "last", "alone"])
def test_one_bad_row_keeps_the_whole_batch_out(subject, bad, error, named, place):
    good = [Row(100 + i, i - 3.0, i + 3.0, 5.0) for i in range(6)]
    bad = [row if row.id < 0 else row._replace(id=row.id + 2**40) for row in bad]
    if error is ID_ERRORS:
        named = [2**40 + 77]
    index = subject.build(MIXED)
    batch = {"first": bad + good, "last": good + bad, "alone": bad}[place]
    with refused(index, error, *named):
        index.insert_many(*columns(batch))
    index.insert_many(*columns(good))
    assert_same_answers(index, scanned(MIXED + good))


@updateable
def test_one_known_id_keeps_the_whole_batch_out(subject):
    index = subject.build(MIXED)
    for ids in ([100, 101, 2**62], [2**62, 100, 101], [100, 2**62, 101]):
        with refused(index, KeyError, 2**62):
            index.insert_many(ids, [0.0] * 3, [1.0] * 3, [2.0] * 3)


@updateable
def test_ids_that_no_int64_holds_are_refused_not_wrapped(subject):
    index = subject.build(MIXED)
    too_wide = np.array([2**63 + 5], dtype=np.uint64)
    for ids in (too_wide, [2**63 + 5], [2**64 + 5], [100.5], np.array([100.5])):
        with refused(index, (ValueError, OverflowError, TypeError)):
            index.insert_many(ids, [0.0], [1.0], [2.0])
    with refused(index, (*ID_ERRORS, OverflowError, TypeError)):
        index.delete_many([5.5])
    with refused(index, (*ID_ERRORS, OverflowError, TypeError)):
        index.delete_many(np.array([2**64 - 1], dtype=np.uint64))


@updateable
@pytest.mark.parametrize("column", range(4))
def test_bulk_columns_of_different_lengths_and_dimensions_are_refused(subject, column):
    index = subject.build(MIXED)
    many = [Row(100 + i, 0.0, 1.0, 0.0) for i in range(23)]
    rows = many[:17]
    for others in (rows[:13], many):
        arrays = list(columns(rows))
        arrays[column] = columns(others)[column]
        with refused(index, ValueError, 17, len(others)):
            index.insert_many(*arrays)
    square = list(columns(rows))
    square[column] = np.tile(square[column][:, None], 2)
    with refused(index, ValueError, 2):
        index.insert_many(*square)


@updateable
def test_what_is_restored_from_arrays_lives_on_by_itself(subject):
    original = subject.build(MIXED)
    arrays = original.to_arrays()
    before = array_bytes(arrays)
    restored = subject.cls.from_arrays(arrays)
    original.delete(7)
    original.insert(90, 0.0, 2.0, 4.0)
    original.update_score(4, -3.0)
    assert array_bytes(arrays) == before, "an update reached arrays that were handed out"
    assert_same_answers(restored, scanned(MIXED))
    restored.insert(91, 0.0, 2.0, 4.0)
    restored.delete(0)
    assert array_bytes(arrays) == before, "an update reached arrays that were handed in"
    original.check()
    assert [hit.id for hit in original.top_k(2.0, 1)] == [90]


@updateable
def test_a_structure_restored_from_read_only_bytes_takes_updates(subject):
    arrays = subject.build(MIXED).to_arrays()
    frozen = type(arrays)(
        *(np.frombuffer(a.tobytes(), dtype=a.dtype).reshape(a.shape) for a in arrays)
    )
    index, expected = subject.cls.from_arrays(frozen), scanned(MIXED)
    for row in [Row(100 + i, i - 3.0, i + 3.0, 5.0) for i in range(9)]:
        index.insert(*row)
        expected.insert(*row)
    index.delete(7)
    expected.delete(7)
    index.update_score(5, 6.0)
    expected.update_score(5, 6.0)
    assert_same_answers(index, expected)
    with refused(index, KeyError, 7):
        index.delete(7)


@updateable
def test_a_refusal_leaves_no_trace_that_the_next_update_could_trip_over(subject):
    index = subject.empty()
    with refused(index, ValueError):
        index.insert(3, 2.0, 1.0, 0.0)
    with refused(index, ValueError):
        index.insert_many([3, 4], [0.0, 2.0], [1.0, 1.0], [0.0, 0.0])
    index.insert_many([3, 4], [0.0, 0.0], [1.0, 1.0], [0.0, 0.0])
    with refused(index, ID_ERRORS):
        index.delete_many([3, 4, 3])
    index.delete_many([3, 4])
    assert fingerprint(index)[0] == 0
