"""The same contract for every cover, against plain comparison of all boxes."""

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from indexes.covering import KDCover, NaiveCover, ZOrderCover
from tests.indexes.covering import strategies as some
from tests.indexes.covering.strategies import INF
from tests.indexes.intervals.columns import SHRINKING, refused
from tests.oracles.covering import Boxes

PROBES = [
    ([-1.0, -1.0], [2.0, 3.0]), ([0.0, 0.0], [0.0, 0.0]), ([0.5, 0.0], [1.0, 2.0]),
    ([-INF, -INF], [INF, INF]), ([1.0, -INF], [1.0, INF]), ([INF, 3.0], [INF, 3.0]),
    ([-INF, 0.25], [-INF, 0.25]), ([0.25, 1.5], [0.75, 2.5]),
]  # fmt: skip


@pytest.fixture(params=some.COVERS, ids=lambda cls: cls.__name__)
def cover(request):
    return request.param(some.DIMENSIONS)


def assert_same_answers(cover, expected):
    cover.check()
    assert len(cover) == len(expected.live)
    wanted = [expected.covers(*probe) for probe in PROBES]
    lows, highs = [low for low, _ in PROBES], [high for _, high in PROBES]
    every = cover.covers_many(lows, highs, len(cover) + 1)
    assert [sorted(found) for found in every] == [sorted(ids) for ids in wanted]
    for k in (0, 1, 2):
        one_by_one = [cover.covers(*probe, k) for probe in PROBES]
        answers = one_by_one + cover.covers_many(lows, highs, k)
        for found, ids in zip(answers, wanted * 2, strict=True):
            assert len(set(found)) == len(found) == min(k, len(ids))
            assert set(found) <= ids


def seen(cover):
    answers = [sorted(cover.covers(*probe, 100)) for probe in PROBES]
    return [len(cover), cover.nbytes, answers]


def test_an_empty_cover_covers_nothing(cover):
    assert_same_answers(cover, Boxes())
    assert cover.covers_many([], []) == []


def test_equal_boxes_cover_each_other_and_count_one_by_one(cover):
    expected = Boxes()
    for id in (9, 3, 7, 1):
        cover.insert(id, [0, 0], [2, 3])
        expected.insert(id, [0, 0], [2, 3])
    assert_same_answers(cover, expected)
    assert sorted(cover.covers([0, 0], [2, 3], 9)) == [1, 3, 7, 9]
    for id in (7, 1, 9):
        cover.delete(id)
        expected.delete(id)
        assert_same_answers(cover, expected)


def test_a_zero_is_a_zero_whatever_its_sign(cover):
    cover.insert(1, [0.0, -0.0], [0.0, 0.0])
    cover.insert(2, [-0.0, 0.0], [-0.0, -0.0])
    assert sorted(cover.covers([-0.0, -0.0], [0.0, -0.0], 5)) == [1, 2]
    cover.check()


def test_closed_ends_touch(cover):
    cover.insert(1, [0, 0], [1, 1])
    assert cover.covers([0, 0], [1, 1]) == [1]
    assert cover.covers([0, 0], [np.nextafter(1, 2), 1]) == []
    assert cover.covers([np.nextafter(0, -1), 0], [1, 1]) == []


def test_ids_leave_as_python_numbers(cover):
    cover.insert(np.int64(4), np.zeros(2), np.ones(2))
    (found,) = cover.covers(np.zeros(2), np.ones(2))
    assert type(found) is int
    ((found,),) = cover.covers_many(np.zeros((1, 2)), np.ones((1, 2)))
    assert type(found) is int


def test_arguments_need_not_be_contiguous_or_writable(cover):
    lows, highs = np.zeros((6, 4))[::2, ::2], np.asfortranarray(np.ones((3, 2)))
    lows.flags.writeable = highs.flags.writeable = False
    ids = np.array([0, 2, 4])
    ids.flags.writeable = False
    cover.insert_many(ids, lows, highs)
    cover.delete_many(ids)
    cover.insert_many(np.arange(6, dtype=np.uint16)[::2], lows, highs)
    assert cover.covers_many(lows, highs, 3) == [cover.covers([0, 0], [1, 1], 3)] * 3
    cover.check()


@pytest.mark.parametrize(
    ("change", "error", "named"),
    [
        pytest.param(lambda c: c.insert(1, [0, 0], [1, 1]), KeyError, "1", id="known"),
        pytest.param(lambda c: c.insert(-1, [0, 0], [1, 1]), ValueError, "-1", id="negative-id"),
        pytest.param(lambda c: c.insert(1.5, [0, 0], [1, 1]), ValueError, "1.5", id="float-id"),
        pytest.param(lambda c: c.insert(8, [np.nan, 0], [1, 1]), ValueError, "nan", id="nan"),
        pytest.param(lambda c: c.insert(8, [2, 0], [1, 1]), ValueError, "[2.0, 1.0]", id="order"),
        pytest.param(lambda c: c.insert(8, [0], [1, 1]), ValueError, "1 ends", id="dimensions"),
        pytest.param(lambda c: c.insert(8, [0, "x"], [1, 1]), ValueError, "lows", id="text"),
        pytest.param(
            lambda c: c.insert_many([7, 7], [[0, 0]] * 2, [[1, 1]] * 2), ValueError, "7", id="twice"
        ),
        pytest.param(
            lambda c: c.insert_many([8, 1], [[0, 0]] * 2, [[1, 1]] * 2), KeyError, "1", id="old"
        ),
        pytest.param(
            lambda c: c.insert_many([8, 9], [[0, 0]] * 2, [[1, 1], [1, np.nan]]), ValueError, "nan",
            id="one-nan",
        ),
        pytest.param(
            lambda c: c.insert_many([8, 9], [[0, 0]], [[1, 1]]), ValueError, "2 ids", id="lengths"
        ),
        pytest.param(
            lambda c: c.insert_many([8], [[0, 0, 0]], [[1, 1, 1]]), ValueError, "3", id="columns"
        ),
        pytest.param(lambda c: c.delete(99), KeyError, "99", id="unknown"),
        pytest.param(lambda c: c.delete_many([1, 99]), KeyError, "99", id="one-unknown"),
        pytest.param(lambda c: c.delete_many([1, 1]), ValueError, "1 twice", id="deleted-twice"),
        pytest.param(lambda c: c.covers([0, 0], [1, 1], -1), ValueError, "-1", id="negative-k"),
        pytest.param(lambda c: c.covers([0, 0], [1, 1], 1.0), ValueError, "1.0", id="float-k"),
        pytest.param(lambda c: c.covers([0, np.nan], [1, 1]), ValueError, "nan", id="ask-nan"),
        pytest.param(lambda c: c.covers([0], [1]), ValueError, "1 ends", id="ask-dimensions"),
        pytest.param(lambda c: c.covers_many([[1, 0]], [[0, 1]]), ValueError, "[1.0, 0", id="ask"),
    ],
)  # fmt: skip
def test_what_is_refused_changes_nothing(cover, change, error, named):
    cover.insert(1, [0, 0], [1, 1])
    cover.insert(2, [0, 0], [2, INF])
    with refused(cover, error, named, see=seen):
        change(cover)


@pytest.mark.parametrize("cls", [NaiveCover, KDCover, ZOrderCover])
@pytest.mark.parametrize("dimensions", [0, 33, -1, 1.5, True])
def test_a_bad_number_of_dimensions_is_refused(cls, dimensions):
    with pytest.raises(ValueError, match=f"dimensions: got {dimensions}"):
        cls(dimensions)


@pytest.mark.parametrize("cls", some.TINY)
@pytest.mark.parametrize("dimensions", [1, 5, 32])
def test_any_number_of_dimensions(cls, dimensions):
    cover, expected = cls(dimensions), Boxes()
    lows, highs = some.random_boxes(60, dimensions)
    asked = (3 * lows + highs) / 4, (lows + 3 * highs) / 4
    lows[::3, 0], highs[::4, -1] = -INF, INF
    cover.insert_many(np.arange(60), lows, highs)
    for id in range(60):
        expected.insert(id, lows[id], highs[id])
    cover.check()
    answers = cover.covers_many(*asked, 60)
    for found, low, high in zip(answers, *asked, strict=True):
        assert set(found) == expected.covers(low, high)


@pytest.mark.parametrize("cls", some.COVERS)
def test_thousands_of_equal_boxes_are_one_point_of_the_index(cls):
    cover = cls(2)
    count = 3_000
    cover.insert_many(np.arange(count), np.zeros((count, 2)), np.ones((count, 2)))
    cover.insert(count, [0, 0], [2, 2])
    before = cover.compared
    assert len(cover.covers([0, 0], [1, 1], k=count)) == count
    assert cover.compared - before <= 2
    cover.delete_many(np.arange(count - 1))
    assert sorted(cover.covers([0, 0], [1, 1], k=5)) == [count - 1, count]
    cover.check()


@pytest.mark.parametrize("cls", some.COVERS)
def test_the_ends_of_floats(cls):
    """The whole range, the smallest steps, and far outliers."""
    ends = [-INF, -1.7e308, -1.0, -5e-324, 0.0, 5e-324, 1.0, np.nextafter(1, 2), 1.7e308, INF]
    sides = [(low, high) for i, low in enumerate(ends) for high in ends[i:]]
    cover, expected = cls(1), Boxes()
    for id, (low, high) in enumerate(sides * 2):
        cover.insert(id, [low], [high])
        expected.insert(id, [low], [high])
    cover.check()
    for low, high in sides:
        assert set(cover.covers([low], [high], k=999)) == expected.covers([low], [high])


def test_answers_that_do_not_fit_into_one_table_come_in_several(cover, monkeypatch):
    monkeypatch.setattr("indexes.covering.cover._TABLE_CELLS", 7)
    lows, highs = some.random_boxes(20, some.DIMENSIONS)
    expected = Boxes()
    cover.insert_many(np.arange(20), lows, highs)
    for id in range(20):
        expected.insert(id, lows[id], highs[id])
    for k in (1, 2, 3, 20):
        wanted = [expected.covers(*box) for box in zip(lows, highs, strict=True)]
        answers = cover.covers_many(lows, highs, k)
        assert [len(answer) for answer in answers] == [min(k, len(all_)) for all_ in wanted]
        assert all(set(some_) <= all_ for some_, all_ in zip(answers, wanted, strict=True))


class AgainstComparison(RuleBasedStateMachine):
    """All covers at once, so that one drawn history serves them all."""

    def __init__(self) -> None:
        super().__init__()
        self.expected = Boxes()
        self.covers = [cls(some.DIMENSIONS) for cls in some.TINY]

    @rule(id=some.ids, box=some.boxes)
    def insert(self, id, box):
        if id not in self.expected.live:
            for cover in (self.expected, *self.covers):
                cover.insert(id, *box)

    @rule(batch=st.dictionaries(st.integers(26, 60), some.boxes, min_size=1, max_size=12))
    def insert_many(self, batch):
        new = {id: box for id, box in batch.items() if id not in self.expected.live}
        lows, highs = [low for low, _ in new.values()], [high for _, high in new.values()]
        for cover in self.covers:
            cover.insert_many(list(new), lows, highs)
        for id, box in new.items():
            self.expected.insert(id, *box)

    @rule(count=st.integers(60, 70), seed=st.integers(0, 3))
    def insert_more_than_a_block(self, count, seed):
        """As many as a first grid is for, too; in other places than what comes one by one."""
        lows, highs = some.random_boxes(count, some.DIMENSIONS, seed)
        ids = [100 * (seed + 1) + i for i in range(count)]
        if not self.expected.live.keys() & set(ids):
            for cover in self.covers:
                cover.insert_many(ids, lows, highs)
            for id, low, high in zip(ids, lows.tolist(), highs.tolist(), strict=True):
                self.expected.insert(id, low, high)

    @rule(id=some.ids)
    def delete(self, id):
        if id in self.expected.live:
            for cover in (self.expected, *self.covers):
                cover.delete(id)

    @rule(share=st.sampled_from([2, 3, 5]))
    def delete_many(self, share):
        ids = list(self.expected.live)[::share]
        for cover in self.covers:
            cover.delete_many(ids)
        for id in ids:
            self.expected.delete(id)

    @rule(box=some.boxes, k=st.integers(0, 4))
    def query(self, box, k):
        wanted = self.expected.covers(*box)
        for cover in self.covers:
            found = cover.covers(*box, k)
            assert len(set(found)) == len(found) == min(k, len(wanted))
            assert set(found) <= wanted

    @rule(event=some.events)
    def stab(self, event):
        values = [[np.nan if value is None else value for value in event]]
        assert self.covers[1].stab_many(values).tolist() == [self.expected.stab(event)]

    @invariant()
    def structures_hold(self):
        for cover in self.covers:
            cover.check()
            assert len(cover) == len(self.expected.live)

    def teardown(self):
        for cover in self.covers:
            assert_same_answers(cover, self.expected)


TestAgainstComparison = SHRINKING(AgainstComparison.TestCase)
