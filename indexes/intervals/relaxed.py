"""`RelaxedMatcher`: the best subscriptions of which an event stabs at least one interval.

Every attribute has an IR-tree of its own over the rows that constrain it, ranked by their
weights there; the Threshold Algorithm (`relaxed_merge`) merges what the trees return.  The rows
are also in a sieve by total weight (`relaxed_sieve`), which is quicker where many rows would
have to be merged.  `relaxed_query` chooses, event by event.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from indexes import validation
from indexes.hits import Hit, HitTable, empty_table, hits_of
from indexes.intervals.exact_boxes import ends_of
from indexes.intervals.ir_build import Entries
from indexes.intervals.ir_index import RowIndex
from indexes.intervals.ir_layout import Rows
from indexes.intervals.relaxed_levels import WeightLevels
from indexes.intervals.relaxed_query import Searched, answer
from indexes.intervals.relaxed_sieve import MOST_ATTRIBUTES, Sieve
from indexes.intervals.relaxed_terms import (
    HIGH,
    LOW,
    WEIGHT,
    decode_terms,
    encode_terms,
    require_finite_totals,
    totals_of,
    values_of,
    weights_of,
)
from indexes.intervals.rows import RowTable

__all__ = ["RelaxedArrays", "RelaxedMatcher"]


class RelaxedArrays(NamedTuple):
    """The subscriptions in the order of their ids: equal content gives equal bytes."""

    attributes: np.ndarray  # str[d]
    ids: np.ndarray  # i8[n]
    lows: np.ndarray  # f8[n, d]  NaN = not constrained, in highs and weights too
    highs: np.ndarray  # f8[n, d]
    weights: np.ndarray  # f8[n, d]


class RelaxedMatcher:
    """Subscriptions of weighted intervals over named attributes, best first, then by lower id.

    A subscription matches when at least one of its intervals holds, and its score is the sum of
    the weights of those that hold, added in the order of the matcher's attributes: floating-point
    sums depend on the order, and this one makes answers the same on every machine.

    `patience` is what merging may cost before it is given up, in parts of the cost of sifting
    all subscriptions: 0 always sifts, infinity never does.  Answers do not depend on it.

    >>> ads = RelaxedMatcher(["age", "visits"])
    >>> ads.insert(1, {"age": (20, 35), "visits": (3, 9)}, {"age": 2.0, "visits": 1.0})
    >>> ads.insert(2, {"visits": (0, 9)}, {"visits": 2.5})
    >>> ads.top_k({"age": 28, "visits": 4}, k=5)
    [Hit(id=1, score=3.0), Hit(id=2, score=2.5)]
    >>> ads.top_k({"visits": 4}, k=5)
    [Hit(id=2, score=2.5), Hit(id=1, score=1.0)]
    """

    def __init__(
        self, attributes: Iterable[str], branching: int = 50, patience: float = 1.0
    ) -> None:
        self.attributes = validation.distinct_names(attributes)
        self._column = {name: j for j, name in enumerate(self.attributes)}
        self._patience = _not_negative("patience", patience)
        d = len(self.attributes)
        if d > MOST_ATTRIBUTES:
            raise ValueError(f"attributes: got {d} when at most {MOST_ATTRIBUTES} were expected")
        self._rows = RowTable()  # its scores are the total weights
        self._terms = np.empty((0, d, 3))
        self._weights = np.empty((d, 0))  # once more, a column an attribute, to rank the trees
        self._trees = [
            RowIndex(validation.as_count("branching", branching, least=2)) for _ in range(d)
        ]
        self._levels = WeightLevels(d)
        self._sieve = Sieve(d)
        self._changes = 0  # since everything was built
        self._read = 0

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def nbytes(self) -> int:
        arrays = self._terms.nbytes + self._weights.nbytes
        trees = sum(tree.nbytes for tree in self._trees)
        others = self._rows.nbytes + self._levels.nbytes + self._sieve.nbytes
        return arrays + trees + others + sys.getsizeof(self._column)

    @property
    def visited(self) -> int:
        """How many entries of blocks, lists and pages all queries so far have looked at."""
        return self._read + sum(tree.visited for tree in self._trees)

    def insert(
        self,
        id: int,
        intervals: Mapping[str, tuple[float, float]],
        weights: Mapping[str, float],
    ) -> None:
        lows, highs = ends_of(intervals, self._column)
        if not intervals:
            raise ValueError("intervals: got none when at least one was expected")
        self.insert_many([id], lows, highs, weights_of(weights, intervals, self._column))

    def insert_many(
        self, ids: ArrayLike, lows: ArrayLike, highs: ArrayLike, weights: ArrayLike
    ) -> None:
        """Add new ids, all of them or, where one argument is refused, none.

        `lows`, `highs` and `weights` have a row a subscription and a column an attribute; NaN in
        all three means that the attribute is not constrained.
        """
        new, d = validation.as_id_array(ids), len(self.attributes)
        low, high = validation.as_table("lows", lows, d), validation.as_table("highs", highs, d)
        weight = validation.as_table("weights", weights, d)
        validation.require_same_length(ids=new, lows=low, highs=high, weights=weight)
        terms = encode_terms(low, high, weight, self.attributes)
        self._rows.require_new(new)
        # Building anew is so much quicker that it pays from half as many rows again.
        if 2 * len(new) >= len(self):
            self._rebuild(new, terms)
            return
        self._reserve(len(new))
        rows = self._rows.take(new, totals_of(terms))
        self._terms[rows], self._weights[:, rows] = terms, terms[:, :, WEIGHT].T
        for j, tree in enumerate(self._trees):
            own = terms[:, j, WEIGHT] > 0
            low, high = terms[own, j, LOW].copy(), terms[own, j, HIGH].copy()
            tree.insert(self._ranks(j), rows[own], low, high)
        self._add_coarse(rows, terms)

    def delete(self, id: int) -> None:
        self.delete_many([id])

    def delete_many(self, ids: ArrayLike) -> None:
        """Forget ids, all of them or, where one is not indexed, none."""
        rows = self._rows.find(validation.as_id_array(ids))
        for j, tree in enumerate(self._trees):
            tree.delete(self._ranks(j), self._constraining(j, rows))
        self._sieve.delete(rows)
        self._rows.release(rows)
        self._note_changes(len(rows))

    def update_weights(self, id: int, weights: Mapping[str, float]) -> None:
        """Give all intervals of a known id new weights."""
        rows = self._rows.find(validation.as_id_array([id]))
        terms = self._terms[rows]
        held = terms[0, :, WEIGHT] > 0
        names = [name for name, own in zip(self.attributes, held, strict=True) if own]
        terms[:, held, WEIGHT] = weights_of(weights, names, self._column)[:, held]
        require_finite_totals(terms)
        for j in np.flatnonzero(held).tolist():
            lifted = self._trees[j].lift(self._ranks(j), rows)
            self._weights[j, rows] = terms[:, j, WEIGHT]
            self._trees[j].drop(self._ranks(j), rows, lifted)
        self._terms[rows] = terms
        self._rows.keys.scores[rows] = totals_of(terms)
        self._add_coarse(rows, terms)

    def top_k(self, event: Mapping[str, float], k: int) -> list[Hit]:
        k = validation.as_count("k", k)
        return hits_of(self.top_k_many([event], min(k, len(self))), 0)

    def top_k_many(self, events: Sequence[Mapping[str, float]] | np.ndarray, k: int) -> HitTable:
        """The k best matches of each event, by a number of compiled calls that is the same for
        few events and for thousands.

        `events` are mappings, or an f8[m, d] array with a column an attribute and NaN where the
        event lacks it.
        """
        k = validation.as_count("k", k)
        values = values_of(events, self._column)
        table = empty_table(len(values), k)
        if not len(self) or not k:
            return table
        trees = [tree.tree for tree in self._trees]
        ranks = [self._ranks(j) for j in range(len(trees))]
        levels, coarse = self._levels.levels, self._sieve.coarse
        index = Searched(trees, ranks, self._rows.keys, self._terms, levels, coarse)
        self._read += answer(index, values, self._patience, table)
        return table

    def check(self) -> None:
        """Raise `AssertionError` unless every structural invariant holds."""
        self._rows.check()
        live = self._rows.live()
        terms = self._terms[live]
        assert len(self._terms) == self._weights.shape[1] == self._rows.capacity
        assert (self._weights[:, live] == terms[:, :, WEIGHT].T).all()
        assert (self._rows.keys.scores[live] == totals_of(terms)).all()
        for j, tree in enumerate(self._trees):
            own = self._constraining(j, live)
            tree.check(self._ranks(j), own)
            lows, highs = tree.intervals(own)
            assert (lows == self._terms[own, j, LOW]).all()
            assert (highs == self._terms[own, j, HIGH]).all()
        self._levels.check(terms)
        self._sieve.check(self._terms, self._rows.keys, live)

    def ids(self) -> np.ndarray:
        """Every id, ascending."""
        return np.sort(self._rows.keys.ids[self._rows.live()])

    def to_arrays(self) -> RelaxedArrays:
        live = self._rows.live()
        rows = live[np.argsort(self._rows.keys.ids[live], kind="stable")]
        columns = decode_terms(self._terms[rows])
        return RelaxedArrays(np.array(self.attributes), self._rows.keys.ids[rows], *columns)

    @classmethod
    def from_arrays(cls, arrays: RelaxedArrays) -> "RelaxedMatcher":
        matcher = cls(arrays.attributes.tolist())
        matcher.insert_many(*arrays[1:])
        return matcher

    def _ranks(self, attribute: int) -> Rows:
        return Rows(self._rows.keys.ids, self._weights[attribute])

    def _constraining(self, attribute: int, rows: np.ndarray) -> np.ndarray:
        return rows[self._weights[attribute, rows] > 0]

    def _reserve(self, more: int) -> None:
        self._rows.reserve(more)
        capacity, used = self._rows.capacity, len(self._terms)
        if capacity > used:
            terms = np.empty((capacity, len(self.attributes), 3))
            weights = np.empty((len(self.attributes), capacity))
            terms[:used], weights[:, :used] = self._terms, self._weights
            self._terms, self._weights = terms, weights
        for tree in self._trees:
            tree.reserve_rows(capacity)
        self._sieve.reserve_rows(capacity)

    def _rebuild(self, new: np.ndarray, new_terms: np.ndarray) -> None:
        """Build everything anew, with further subscriptions."""
        live = self._rows.live()
        ids = np.concatenate((self._rows.keys.ids[live], new))
        terms = np.concatenate((self._terms[live], new_terms))
        # Rows by total weight: pages, and what one query looks up, are then good or bad together.
        totals = totals_of(terms)
        rank = np.lexsort((ids, -totals))
        self._rows.refill(ids[rank], totals[rank])
        self._terms = terms[rank]
        self._weights = self._terms[:, :, WEIGHT].T.copy()
        for j, tree in enumerate(self._trees):
            tree.clear(len(ids))
            weights = self._weights[j]
            own = np.flatnonzero(weights > 0)
            own = own[np.lexsort((self._rows.keys.ids[own], -weights[own]))].astype(np.int32)
            entries = Entries(own, self._terms[own, j, LOW], self._terms[own, j, HIGH])
            tree.build(self._ranks(j), entries)
        self._levels.clear()
        self._levels.add(self._terms)
        self._sieve.rebuild(self._terms, self._rows.keys, self._rows.live())
        self._changes = 0

    def _add_coarse(self, rows: np.ndarray, terms: np.ndarray) -> None:
        """Follow an insertion or a change of weights in what does not rank rows."""
        keys = self._rows.keys
        self._levels.add(terms)
        if self._sieve.takes(keys.scores[rows]):
            self._sieve.insert(self._terms, keys, rows)
        else:
            self._sieve.rebuild(self._terms, keys, self._rows.live())
        self._note_changes(len(rows))

    def _note_changes(self, count: int) -> None:
        # New rows go wherever there is room: after many changes pages have lost their order.
        self._changes += count
        if 2 * self._changes > len(self):
            self._rebuild(np.empty(0, np.int64), np.empty((0, len(self.attributes), 3)))


def _not_negative(name: str, value: float) -> float:
    number = float(validation.as_number_array(name, [value])[0])
    if not number >= 0:
        raise ValueError(f"{name}: got {value!r} when a number >= 0 was expected")
    return number
