"""`LiveSOPT` against a full scan: updates over a base, bases swapped in, and the work it may do."""

import math
import os
from itertools import islice

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from indexes.intervals.ir_tree import IRTree
from indexes.intervals.live import LiveArrays, LiveSOPT
from indexes.intervals.sopt_r_tree import SOPTRTree
from tests.indexes.intervals import strategies as some
from tests.indexes.intervals.columns import (
    ID_ERRORS,
    PROBES,
    SHRINKING,
    Row,
    array_bytes,
    assert_same_answers,
    assert_table,
    columns,
    refused,
    scanned,
)
from tests.indexes.intervals.state_machine import UpdatesAgainstScan
from tests.oracles import intervals as oracle

INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT") == "1"


def rows_of(intervals):
    return [Row(id, *rest) for id, rest in intervals.live.items()]


def sopt(rows, branching=2):
    return SOPTRTree.build(*columns(rows), branching=branching)


class LiveSOPTAgainstScan(UpdatesAgainstScan):
    """Also with new bases, from here and from elsewhere; ids may be buried ones."""

    kind = LiveSOPT

    def __init__(self):
        super().__init__()
        self.past = [[]]  # what was live at some moments, for bases that are built late

    @rule()
    def rebase(self):
        self.index.rebase()
        assert self.index.delta_share == self.index.tombstone_share == 0.0

    @rule()
    def begin_a_base_elsewhere(self):
        self.past.append(rows_of(self.expected))

    @rule(which=st.integers(0, 5), since=some.ids | st.sampled_from([2**63, 2**70]))
    def replace_base(self, which, since):
        """Ids come back here and `since` is anything: no base may make an answer wrong."""
        base = sopt(self.past[which % len(self.past)], self.branching)
        self.index.replace_base(base, since)

    @rule(which=st.integers(0, 5), strangers=some.populations, since=some.ids)
    def replace_by_a_base_that_has_never_been_right(self, which, strangers, since):
        rows = {row.id: row for row in [*self.past[which % len(self.past)], *strangers]}
        self.index.replace_base(sopt(list(rows.values()), self.branching), since)

    @invariant()
    def shares_are_shares(self):
        assert 0.0 <= self.index.delta_share <= 1.0
        assert 0.0 <= self.index.tombstone_share <= 1.0

    def teardown(self):
        super().teardown()
        if hasattr(self, "expected"):
            for k in range(1, 5):
                wanted = [self.expected.top_k(value, k) for value in PROBES]
                assert_table(self.index.top_k_many(PROBES, k), wanted, k)


TestLiveSOPTAgainstScan = SHRINKING(LiveSOPTAgainstScan.TestCase)


class FleetAgainstScan(RuleBasedStateMachine):
    """As in the fleet: an id is the offset of a subscription's latest record, never used again."""

    @initialize(branching=st.sampled_from([2, 3]))
    def start(self, branching):
        self.index, self.expected = LiveSOPT(branching=branching), oracle.Intervals()
        self.branching, self.offset = branching, 0
        self.latest = {}
        self.bases = [(sopt([]), 0)]

    @rule(name=st.sampled_from("abcdefgh"), ends=some.intervals, score=some.scores)
    def subscribe(self, name, ends, score):
        if name in self.latest:
            self.index.delete(self.latest[name])
            self.expected.delete(self.latest[name])
        self.index.insert(self.offset, *ends, score)
        self.expected.insert(self.offset, *ends, score)
        self.latest[name] = self.offset
        self.offset += 1

    @rule(name=st.sampled_from("abcdefgh"))
    def unsubscribe(self, name):
        if name in self.latest:
            id = self.latest.pop(name)
            self.index.delete(id)
            self.expected.delete(id)
        self.offset += 1

    @rule()
    def build_a_base(self):
        self.bases.append((sopt(rows_of(self.expected), self.branching), self.offset))

    @rule(which=st.integers(0, 7))
    def swap_in(self, which):
        base, since = self.bases[which % len(self.bases)]
        self.index.replace_base(base, since)
        late = [id for id in self.expected.live if id >= since]
        assert self.index.delta_share == (len(late) / len(self.expected.live) if late else 0.0)
        gone = len(base) - (len(self.expected.live) - len(late))
        assert self.index.tombstone_share == (gone / len(base) if gone else 0.0)

    @rule()
    def rebase(self):
        self.index.rebase()

    @invariant()
    def answers_are_those_of_a_scan(self):
        self.index.check()
        n = len(self.expected.live)
        for k in (1, 3, n + 1):
            wanted = [self.expected.top_k(value, k) for value in PROBES]
            assert_table(self.index.top_k_many(PROBES, k), wanted, k)


TestFleetAgainstScan = SHRINKING(FleetAgainstScan.TestCase)


def test_the_parts_of_an_index_are_told_by_their_shares():
    index = LiveSOPT.build(*columns([Row(i, 0.0, 1.0, i) for i in range(10)]), branching=2)
    assert (index.delta_share, index.tombstone_share) == (0.0, 0.0)
    index.delete_many([0, 1])
    index.insert_many([20, 21], [0.0] * 2, [1.0] * 2, [5.0] * 2)
    assert (index.delta_share, index.tombstone_share) == (0.2, 0.2)
    index.update_score(5, 50.0)
    assert (index.delta_share, index.tombstone_share) == (0.3, 0.3)
    index.update_score(5, 51.0)
    index.delete(20)
    assert (index.delta_share, index.tombstone_share) == (2 / 9, 0.3)
    empty = LiveSOPT()
    assert (empty.delta_share, empty.tombstone_share) == (0.0, 0.0)
    empty.insert(1, 0.0, 1.0, 1.0)
    assert (empty.delta_share, empty.tombstone_share) == (1.0, 0.0)


def test_a_buried_id_comes_back_in_the_delta_and_again_in_a_base():
    rows = [Row(i, 0.0, 4.0, 1.0) for i in range(9)]
    index, expected = LiveSOPT.build(*columns(rows), branching=2), scanned(rows)
    for score in (1.0, 3.0, -1.0):
        index.delete(4)
        expected.delete(4)
        assert_same_answers(index, expected)
        index.insert(4, 2.0, 2.0, score)
        expected.insert(4, 2.0, 2.0, score)
        with refused(index, KeyError, 4):
            index.insert(4, 0.0, 4.0, 1.0)
        assert_same_answers(index, expected)
    index.rebase()
    assert_same_answers(index, expected)


def test_ties_between_base_and_delta_go_to_the_lower_id():
    even = [Row(i, 0.0, 1.0, 1.5) for i in range(0, 40, 2)]
    odd = [Row(i, 0.0, 1.0, 1.5) for i in range(1, 40, 2)]
    index = LiveSOPT.build(*columns(even), branching=3)
    index.insert_many(*columns(odd))
    for k in range(42):
        wanted = [(id, 1.5) for id in range(min(k, 40))]
        assert index.top_k(0.5, k) == index.top_k_between(1.0, 9.0, k) == wanted
        assert_table(index.top_k_many([0.5, 2.0], k), [wanted, []], k)


@pytest.mark.parametrize("late", ["better", "worse", "alike"])
@pytest.mark.parametrize("k", [1, 7, 128, 129, 300])
def test_a_delta_of_any_standing_is_merged_for_any_k(late, k):
    """Both ways of merging: into full rows by a bar, and as a whole."""
    random = np.random.default_rng(k)
    shift = {"better": 100.0, "worse": -100.0, "alike": 0.0}[late]
    n = 400

    def drawn(ids, shift):
        ends = np.sort(random.integers(0, 30, (len(ids), 2)), axis=1).astype(float)
        scores = random.integers(0, 40, len(ids)) + shift
        return [Row(*row) for row in zip(ids, *ends.T.tolist(), scores.tolist(), strict=True)]

    ids = random.permutation(2 * n).tolist()
    base, delta = drawn(ids[:n], 0.0), drawn(ids[n:], shift)
    index = LiveSOPT.build(*columns(base), branching=4)
    index.insert_many(*columns(delta))
    gone = ids[: 2 * n : 5]
    index.delete_many(gone)
    expected = scanned([row for row in base + delta if row.id not in gone])
    values = [float(value) for value in range(-1, 32, 3 if INTERPRETED else 1)]
    assert_table(index.top_k_many(values, k), [expected.top_k(v, k) for v in values], k)
    assert index.top_k_between(3.0, 9.0, k) == expected.top_k_between(3.0, 9.0, k)


def test_answers_lie_behind_any_number_of_tombstones():
    n = 500
    rows = [Row(i, 0.0, 1.0, -i) for i in range(n)]
    index, expected = LiveSOPT.build(*columns(rows), branching=4), scanned(rows)
    for stop in (1, 63, 64, 300, 497):
        leaving = [id for id in range(stop) if id in expected.live]
        index.delete_many(leaving)
        for id in leaving:
            expected.delete(id)
        for k in (1, 2, 3, 4, 40):
            assert index.top_k(0.5, k) == expected.top_k(0.5, k)
            assert index.top_k_between(-1.0, 0.5, k) == expected.top_k_between(-1.0, 0.5, k)
        assert list(islice(index.scan(0.5), 2)) == expected.scan(0.5)[:2]
    index.delete_many([497, 498, 499])
    assert (len(index), index.tombstone_share) == (0, 1.0)
    assert_same_answers(index, scanned([]))
    index.rebase()
    assert_same_answers(index, scanned([]))
    assert index.tombstone_share == 0.0


def test_a_base_from_before_takes_over_what_it_has_and_buries_what_has_gone():
    #        id   0   1   2   3   4 | 5   6      since = 5; 1 was replaced by 5, 3 has gone
    rows = [Row(i, 0.0, 2.0, i) for i in range(5)]
    index, base = LiveSOPT(branching=2), sopt(rows)
    index.insert_many(*columns(rows))
    index.delete_many([1, 3])
    index.insert(5, 0.0, 2.0, 9.0)
    index.insert(6, 1.0, 1.0, 0.0)
    index.replace_base(base, since=5)
    assert (index.delta_share, index.tombstone_share) == (2 / 5, 2 / 5)
    index.check()
    assert [hit.id for hit in index.top_k(1.0, 9)] == [5, 4, 2, 0, 6]
    index.insert(3, 0.0, 2.0, 3.0)
    assert [hit.id for hit in index.top_k(1.0, 9)] == [5, 4, 3, 2, 0, 6]


def test_ids_from_since_on_stay_in_the_delta_whatever_the_base_has():
    rows = [Row(i, 0.0, 2.0, i) for i in range(6)]
    index = LiveSOPT.build(*columns(rows), branching=2)
    for since, late in ((6, 0), (5, 1), (4, 2), (0, 6)):
        index.replace_base(sopt(rows), since)
        assert (index.delta_share, index.tombstone_share) == (late / 6, late / 6)
        assert_same_answers(index, scanned(rows))


def test_a_base_ahead_of_the_index_does_not_answer_before_its_turn():
    index = LiveSOPT(branching=2)
    index.insert(0, 0.0, 1.0, 1.0)
    index.replace_base(sopt([Row(1, 0.0, 1.0, 2.0), Row(2, 0.0, 1.0, 3.0)]), since=3)
    assert index.top_k(0.5, 9) == [(0, 1.0)]
    index.delete(0)
    index.insert(1, 0.0, 1.0, 2.0)
    assert index.top_k(0.5, 9) == [(1, 2.0)]


@pytest.mark.parametrize(
    "wrong", [{"low": -1.0}, {"high": 3.0}, {"score": 8.0}], ids=["low", "high", "score"]
)
def test_a_base_that_differs_is_not_believed(wrong):
    rows = [Row(i, 0.0, 2.0, i) for i in range(6)]
    index = LiveSOPT.build(*columns(rows), branching=2)
    index.replace_base(sopt([rows[0], rows[1]._replace(**wrong), *rows[3:]]), since=100)
    assert (index.delta_share, index.tombstone_share) == (2 / 6, 1 / 5)
    assert_same_answers(index, scanned(rows))
    index.rebase()
    assert_same_answers(index, scanned(rows))


def test_a_base_of_another_branching_is_taken_as_it_is():
    rows = [Row(i, i % 5, i % 5 + 3.0, i % 3) for i in range(30)]
    index = LiveSOPT.build(*columns(rows), branching=2)
    index.replace_base(sopt(rows, branching=5), since=30)
    assert index.to_arrays().branching.tolist() == [5]
    assert (index.delta_share, index.tombstone_share) == (0.0, 0.0)
    index.insert(99, 0.0, 9.0, 1.0)
    assert_same_answers(LiveSOPT.from_arrays(index.to_arrays()), scanned([*rows, Row(99, 0, 9, 1)]))


@pytest.mark.parametrize("since", [-1, 1.5, True, None])
def test_a_since_that_is_no_offset_is_refused(since):
    index = LiveSOPT.build(*columns([Row(1, 0.0, 1.0, 1.0)]))
    with refused(index, ValueError, since):
        index.replace_base(sopt([]), since)


def test_a_base_that_is_no_sopt_r_tree_is_refused():
    index = LiveSOPT.build(*columns([Row(1, 0.0, 1.0, 1.0)]))
    with refused(index, ValueError, "IRTree", "SOPTRTree"):
        index.replace_base(IRTree(), 0)


def test_a_base_in_use_elsewhere_is_not_changed():
    rows = [Row(i, 0.0, 1.0, i) for i in range(9)]
    base = sopt(rows)
    first, second = LiveSOPT.build(*columns(rows)), LiveSOPT.build(*columns(rows))
    for index in (first, second):
        index.replace_base(base, 9)
    before = array_bytes(base.to_arrays())
    first.delete_many([8, 7])
    first.update_score(0, 20.0)
    assert array_bytes(base.to_arrays()) == before
    base.check()
    assert_same_answers(second, scanned(rows))


def test_the_same_rows_in_one_batch_of_updates_and_elsewhere_refuse_as_a_whole():
    index = LiveSOPT.build(*columns([Row(i, 0.0, 1.0, i) for i in range(4)]), branching=2)
    index.insert(10, 0.0, 1.0, 9.0)
    for ids, error in (([0, 10, 41], KeyError), ([0, 10, 0], ID_ERRORS), ([10, 1, -8], ID_ERRORS)):
        with refused(index, error, ids[-1]):
            index.update_scores(ids, [1.0, 2.0, 3.0])
        with refused(index, error, ids[-1]):
            index.delete_many(ids)
    with refused(index, ValueError, 2, 3):
        index.update_scores([0, 1], [1.0, 2.0, 3.0])
    with refused(index, ValueError, "nan"):
        index.update_scores([0, 10], [1.0, math.nan])
    for ids in ([20, 10], [20, 2]):
        with refused(index, KeyError, ids[-1]):
            index.insert_many(ids, [0.0] * 2, [1.0] * 2, [1.0] * 2)


CHANGES = [
    pytest.param(lambda index: index.insert(50, 0.0, 1.0, 1.0), id="insert"),
    pytest.param(lambda index: index.delete(0), id="delete"),
    pytest.param(lambda index: index.update_score(0, 5.0), id="update"),
    pytest.param(lambda index: index.rebase(), id="rebase"),
    pytest.param(lambda index: index.replace_base(sopt([]), 0), id="replace"),
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_scan_notices_that_the_index_has_changed(change):
    index = LiveSOPT.build(*columns([Row(i, 0.0, 1.0, i) for i in range(9)]), branching=2)
    index.delete(4)
    scan = index.scan(0.5)
    assert next(scan) == (8, 8.0)
    change(index)
    with pytest.raises(RuntimeError, match="start a new scan"):
        next(scan)


def test_rebasing_what_is_one_base_already_does_nothing():
    index = LiveSOPT.build(*columns([Row(i, 0.0, 1.0, i) for i in range(9)]), branching=2)
    scan = index.scan(0.5)
    assert next(scan) == (8, 8.0)
    index.rebase()
    assert next(scan) == (7, 7.0)


def lived(branching=2):
    index = LiveSOPT.build(*columns([Row(i, i % 4, 5.0, i % 3) for i in range(21)]), branching)
    index.delete_many([0, 7, 20])
    index.insert(7, 1.0, 2.0, 4.0)
    index.update_scores([3, 5], [9.0, -9.0])
    return index


def test_the_same_life_gives_the_same_bytes_and_is_restored_part_by_part():
    arrays = lived().to_arrays()
    assert array_bytes(arrays) == array_bytes(lived().to_arrays())
    restored = LiveSOPT.from_arrays(arrays)
    assert restored.delta_share == lived().delta_share == 3 / 19
    assert restored.tombstone_share == lived().tombstone_share == 5 / 21
    frozen = LiveArrays(*(np.frombuffer(a.tobytes(), a.dtype) for a in arrays))
    restored = LiveSOPT.from_arrays(frozen)
    restored.delete(1)
    assert array_bytes(frozen) == array_bytes(arrays)


SPOILT = [
    pytest.param({"tombstones": np.zeros(2, np.uint8)}, r"uint8\[2\].*uint8\[3\]", id="short"),
    pytest.param({"tombstones": np.zeros(3, np.int64)}, r"int64\[3\].*uint8\[3\]", id="type"),
    pytest.param({"tombstones": np.full(3, 255, np.uint8)}, "beyond 21", id="bits"),
    pytest.param({"tombstones": np.zeros(3, np.uint8)}, "got 3,.*base", id="live-in-both"),
    pytest.param({"delta_ids": np.array([30, 30, 31])}, "30", id="delta-id-twice"),
    pytest.param({"delta_scores": np.array([1.0, 2.0])}, "2 scores", id="delta-lengths"),
]


@pytest.mark.parametrize(("spoilt", "named"), SPOILT)
def test_arrays_that_do_not_fit_together_are_refused(spoilt, named):
    with pytest.raises(ValueError, match=named):
        LiveSOPT.from_arrays(lived().to_arrays()._replace(**spoilt))


@pytest.mark.parametrize("branching", [1, 0, -3])
def test_a_branching_below_two_is_refused(branching):
    with pytest.raises(ValueError, match=str(branching)):
        LiveSOPT(branching=branching)
    with pytest.raises(ValueError, match=str(branching)):
        LiveSOPT.build([1], [0.0], [1.0], [1.0], branching=branching)


@pytest.mark.parametrize("branching", [2, 5, 48, 100])
def test_a_long_random_life(branching):
    """Deeper than the state machines go: hundreds of live intervals, thousands of changes."""
    random = np.random.default_rng(branching)
    index, expected = LiveSOPT(branching=branching), oracle.Intervals()
    earlier = (sopt([]), 0)
    steps, every = (200, 50) if INTERPRETED else (3000, 250)
    for step in range(steps):
        live = list(expected.live)
        dice = random.random()
        if dice < 0.6 or not live:
            low, high = sorted(random.integers(-50, 50, 2).astype(float).tolist())
            row = Row(step, low, high, float(random.integers(0, 12)))
            index.insert(*row)
            expected.insert(*row)
        elif dice < 0.85:
            id = live[random.integers(len(live))]
            index.delete(id)
            expected.delete(id)
        else:
            id, score = live[random.integers(len(live))], float(random.integers(0, 12))
            index.update_score(id, score)
            expected.update_score(id, score)
        if step % every == every - 1:
            index.check()
            values = random.integers(-50, 50, 10).astype(float)
            wanted = [expected.top_k(value, 15) for value in values.tolist()]
            assert_table(index.top_k_many(values, 15), wanted, 15)
            index = LiveSOPT.from_arrays(index.to_arrays())
            if step // every % 3 == 0:
                earlier = (sopt(rows_of(expected), branching), step + 1)
            elif step // every % 3 == 1:
                index.rebase()
            else:
                index.replace_base(*earlier)
    assert_same_answers(index, expected)


# Large enough for a query that does not prune to stand out, with one in a hundred rows late.
N, B = 4096, 4
PRUNED = N // 4


def work(index, query):
    """Entries that `query` examined, by the index's own counter."""
    before = index.visited
    hits = query(index)
    examined = index.visited - before
    assert type(index.visited) is int
    assert examined >= len(hits), "the counter does not count"
    return examined


def hundredth():
    """Short intervals score best, as in the seed's workload; a hundredth is late, one is gone."""
    random = np.random.default_rng(3)
    middles, lengths = random.random(N) * 100, random.random(N) * 10
    ends = [middles - lengths, middles + lengths, -lengths]
    index = LiveSOPT.build(np.arange(N), *ends, branching=B)
    index.delete_many(np.arange(0, N, 100))
    late = np.arange(50, N, 100)
    index.delete_many(late)
    index.insert_many(late + N, *(column[late] for column in ends))
    return index


def test_queries_examine_far_fewer_entries_than_there_are():
    index = hundredth()
    for value in range(0, 100, 5):
        for k in (1, 10):
            examined = work(index, lambda index, at=value, k=k: index.top_k(at, k))
            assert examined <= PRUNED, f"{examined} for {k} at {value}"
    assert work(index, lambda index: index.top_k_between(40.0, 45.0, 10)) <= PRUNED


def test_a_delta_below_the_bar_is_not_walked():
    index = LiveSOPT.build(*columns([Row(i, 0.0, 9.0, 5.0) for i in range(64)]), branching=B)
    alone = work(index, lambda index: index.top_k(1.0, 10))
    index.insert_many(*columns([Row(100 + i, 0.0, 9.0, 4.0) for i in range(N)]))
    assert work(index, lambda index: index.top_k(1.0, 10)) == alone
    assert work(index, lambda index: index.top_k(1.0, 65)) > alone


def test_a_scan_is_lazy():
    index = hundredth()
    some_hits = work(index, lambda index: list(islice(index.scan(50.0), 3)))
    all_hits = work(index, lambda index: list(index.scan(50.0)))
    assert some_hits <= PRUNED < all_hits


def test_the_counter_goes_on_over_a_new_base():
    index = hundredth()
    index.top_k_many([1.0, 50.0], 200)
    before = index.visited
    index.rebase()
    index.replace_base(sopt([]), 0)
    assert index.visited == before > 0
    index.top_k(50.0, 3)
    assert index.visited > before


def test_memory_stays_within_64_bytes_a_subscription():
    n = 2_000 if INTERPRETED else 20_000
    index = LiveSOPT.build(*columns([Row(i, i % 97, i % 97 + i % 13, i % 11) for i in range(n)]))
    index.delete_many(range(0, n, 100))
    index.insert_many(*columns([Row(n + i, i % 9, i % 9 + 5, i % 7) for i in range(n // 100)]))
    assert 32 * n <= index.nbytes <= 64 * len(index)
    many = index.nbytes
    index.delete_many(range(1, n, 2))
    index.rebase()
    assert index.nbytes <= 0.6 * many
