"""`RelaxedMatcher`: the best subscriptions of which an event stabs at least one interval.

Every attribute has trees of its own (`row_matcher`) over the rows that constrain it, ranked by
their weights there; the Threshold Algorithm (`relaxed_merge`) merges what the trees return.  The
rows are also in a sieve by total weight (`relaxed_sieve`), which is quicker where many rows would
have to be merged.  `relaxed_query` chooses, event by event.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from indexes import validation
from indexes.hits import HitTable, empty_table
from indexes.intervals.exact_boxes import ends_of
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
from indexes.intervals.row_matcher import RowMatcher
from indexes.intervals.row_trees import Column

__all__ = ["RelaxedArrays", "RelaxedMatcher"]


class RelaxedArrays(NamedTuple):
    """The subscriptions in the order of their ids: equal content gives equal bytes."""

    attributes: np.ndarray  # str[d]
    ids: np.ndarray  # i8[n]
    lows: np.ndarray  # f8[n, d]  NaN = not constrained, in highs and weights too
    highs: np.ndarray  # f8[n, d]
    weights: np.ndarray  # f8[n, d]


class RelaxedMatcher(RowMatcher):
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
        names = validation.distinct_names(attributes)
        d = len(names)
        if d > MOST_ATTRIBUTES:
            raise ValueError(f"attributes: got {d} when at most {MOST_ATTRIBUTES} were expected")
        self._patience = _not_negative("patience", patience)
        self._levels = WeightLevels(d)
        self._sieve = Sieve(d)
        b = validation.as_count("branching", branching, least=2)
        super().__init__(names, b, _columns(np.empty((0, d, 3))), self._sieve)

    @property
    def nbytes(self) -> int:
        return super().nbytes + self._levels.nbytes

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
        self._add(new, totals_of(terms), _columns(terms))

    def update_weights(self, id: int, weights: Mapping[str, float]) -> None:
        """Give all intervals of a known id new weights."""
        rows = self._rows.find(validation.as_id_array([id]))
        terms = self._terms[rows]
        held = terms[0, :, WEIGHT] > 0
        names = [name for name, own in zip(self.attributes, held, strict=True) if own]
        terms[:, held, WEIGHT] = weights_of(weights, names, self._column)[:, held]
        require_finite_totals(terms)
        lifted = self._trees.lift(self._by_attribute(), rows)
        for column, values in zip(self._columns, _columns(terms), strict=True):
            column[rows] = values
        self._rows.keys.scores[rows] = totals_of(terms)
        self._trees.drop(self._by_attribute(), rows, lifted)
        self._place(rows)
        self._note_changes(len(rows))

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
        trees = [self._trees.of(j) for j in range(len(self.attributes))]
        ranks = [Rows(column.ids, column.scores) for column in self._by_attribute()]
        levels, coarse = self._levels.levels, self._sieve.coarse
        index = Searched(trees, ranks, self._rows.keys, self._terms, levels, coarse)
        self._read += answer(index, values, self._patience, table)
        return table

    def check(self) -> None:
        """Raise `AssertionError` unless every structural invariant holds."""
        self._rows.check()
        live = self._rows.live()
        terms = self._terms[live]
        assert {len(column) for column in self._columns} == {self._rows.capacity}
        for column, expected in zip(self._columns, _columns(self._terms), strict=True):
            assert (column[live] == expected[live]).all()
        assert (self._rows.keys.scores[live] == totals_of(terms)).all()
        self._trees.check(self._by_attribute(), live)
        self._levels.check(terms)
        self._sieve.check(self._terms, self._rows.keys, live)

    def to_arrays(self) -> RelaxedArrays:
        """The subscriptions; bases are not among the arrays."""
        live = self._rows.live()
        rows = live[np.argsort(self._rows.keys.ids[live], kind="stable")]
        columns = decode_terms(self._terms[rows])
        return RelaxedArrays(np.array(self.attributes), self._rows.keys.ids[rows], *columns)

    @classmethod
    def from_arrays(cls, arrays: RelaxedArrays) -> "RelaxedMatcher":
        """Restore without bases: `rebase()` makes them."""
        matcher = cls(arrays.attributes.tolist())
        matcher.insert_many(*arrays[1:])
        return matcher

    @property
    def _terms(self) -> np.ndarray:
        return self._columns[0]

    def _attribute(self, attribute: int) -> Column:
        lows, highs = self._terms[:, attribute, LOW], self._terms[:, attribute, HIGH]
        return Column(self._rows.keys.ids, lows, highs, self._columns[1 + attribute])

    def _place(self, rows: np.ndarray) -> None:
        keys = self._rows.keys
        self._levels.add(self._terms[rows])
        if self._sieve.takes(keys.scores[rows]):
            self._sieve.insert(self._terms, keys, rows)
        else:
            self._sieve.rebuild(self._terms, keys, self._rows.live())

    def _displace(self, rows: np.ndarray) -> None:
        self._sieve.delete(rows)

    def _make_coarse(self) -> None:
        # New rows go wherever there is room: after many changes pages have lost their order.
        self._renew()

    def _learn(self, rows: np.ndarray) -> None:
        self._changes = 0
        self._levels.clear()
        self._levels.add(self._terms)
        self._sieve.rebuild(self._terms, self._rows.keys, rows)


def _columns(terms: np.ndarray) -> list[np.ndarray]:
    """What is kept by row: the terms and, to rank the trees, once more the weights by attribute."""
    return [terms, *(terms[:, j, WEIGHT].copy() for j in range(terms.shape[1]))]


def _not_negative(name: str, value: float) -> float:
    number = float(validation.as_number_array(name, [value])[0])
    if not number >= 0:
        raise ValueError(f"{name}: got {value!r} when a number >= 0 was expected")
    return number
