"""`RowMatcher`: what matchers over several attributes share.

Subscriptions are rows of a `RowTable`.  Each attribute has a base and a delta over them
(`row_trees`); beside these a matcher has all rows in a coarse form that is quick to scan.

`rebase()` makes new bases of all.  `replace_base()` does so with trees that were built elsewhere
while updates went on.  Neither happens by itself: `is_worn` tells when it is time.  The coarse form
is made anew when half of the rows have changed, which holds the next query up; whoever looks at
`is_stale` can have a fork do it before.  One thread at a time may use a matcher; `fork()` gives
another thread one of its own.
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from indexes import validation
from indexes.forking import forked
from indexes.hits import Hit, HitTable, hits_of
from indexes.intervals import base_rules
from indexes.intervals.ir_layout import Rows
from indexes.intervals.row_trees import Column, RowTrees
from indexes.intervals.rows import RowTable, by_rank
from indexes.intervals.sopt_r_tree import SOPTRTree

_STALE = 0.5  # of the rows have changed: the coarse form is not much use any more
_SOON_STALE = 0.25
_FEW_CHANGES = 1024  # make no difference, however few rows there are


class Coarse(Protocol):
    @property
    def nbytes(self) -> int: ...

    def reserve_rows(self, capacity: int) -> None: ...


class RowMatcher(ABC):
    def __init__(
        self,
        attributes: Sequence[str],
        branching: int,
        columns: Sequence[np.ndarray],
        coarse: Coarse,
    ) -> None:
        """`columns` are what there is to know of each row, as yet of none."""
        self.attributes = tuple(attributes)
        self._column = {name: j for j, name in enumerate(attributes)}
        self._rows = RowTable()
        self._columns = list(columns)
        self._trees = RowTrees(len(attributes), branching)
        self._coarse = coarse
        self._changes = 0  # since the coarse form was made
        self._read = 0  # of the coarse form, by queries

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def nbytes(self) -> int:
        columns = sum(column.nbytes for column in self._columns)
        parts = sum(part.nbytes for part in (self._rows, self._trees, self._coarse))
        return columns + parts + sys.getsizeof(self._column)

    @property
    def visited(self) -> int:
        """How many entries of trees, lists and pages all queries so far have looked at."""
        return self._read + self._trees.visited

    @property
    def delta_share(self) -> float:
        """How many of the subscriptions are not answered from the bases, from 0 to 1."""
        return (len(self) - self._trees.in_base) / len(self) if len(self) else 0.0

    @property
    def is_worn(self) -> bool:
        """Whether so much has changed since the bases were built that new ones pay."""
        in_deltas = len(self) - self._trees.in_base
        return base_rules.is_worn(in_deltas + self._trees.buried, len(self))

    @property
    def rebases_itself(self) -> bool:
        """Whether to build bases here pays.

        With several attributes most events are answered by a scan in rank order: bases that come
        from elsewhere save memory, but to build them here would only cost time.
        """
        return len(self.attributes) == 1

    @property
    def unplaced(self) -> int:
        return 0

    @property
    def is_stale(self) -> bool:
        """Whether so much has changed that the coarse form will soon be made anew."""
        return self._changes > max(_SOON_STALE * len(self), _FEW_CHANGES)

    def refresh(self) -> None:
        """Make the coarse form anew now; the answers stay the same."""
        if self._changes:
            self._make_coarse()

    def ids(self) -> np.ndarray:
        """Every id, ascending."""
        return np.sort(self._rows.keys.ids[self._rows.live()])

    def delete(self, id: int) -> None:
        self.delete_many([id])

    def delete_many(self, ids: ArrayLike) -> None:
        """Forget ids, all of them or, where one is not indexed, none."""
        rows = self._rows.find(validation.as_id_array(ids))
        self._trees.delete(self._by_attribute(), rows)
        self._displace(rows)
        self._rows.release(rows)
        self._note_changes(len(rows))

    def top_k(self, event: Mapping[str, float], k: int) -> list[Hit]:
        k = validation.as_count("k", k)
        return hits_of(self.top_k_many([event], min(k, len(self))), 0)

    @abstractmethod
    def top_k_many(
        self, events: Sequence[Mapping[str, float]] | np.ndarray, k: int
    ) -> HitTable: ...

    def rebase(self) -> None:
        """Build bases of everything there is; the answers stay the same."""
        if self._trees.in_base < len(self) or self._trees.buried:
            self._renew(rebased=True)

    def replace_base(self, trees: Sequence[SOPTRTree], since: int) -> None:
        """Take over trees that were built elsewhere, one an attribute; the answers stay the same.

        The trees have what was live before some change, and `since` is the first id that came
        with or after that change.  Our ids from `since` on are answered from the deltas.  An
        older one is answered from the trees if they have it as it is here, in every attribute
        that it constrains.  What they have and is no longer live here is ignored.
        """
        base_rules.require_trees(trees, self.attributes)
        bound = min(validation.as_count("since", since), np.iinfo(np.int64).max)
        self._trees.replace_bases(self._by_attribute(), self._rows, trees, bound)

    def fork(self) -> Self:
        """A copy that another thread may rebase; the bases, which never change, are shared."""
        return forked(self, self._trees.bases)

    @abstractmethod
    def _attribute(self, attribute: int) -> Column:
        """What ranks rows in one attribute, and their intervals there."""

    @abstractmethod
    def _place(self, rows: np.ndarray) -> None:
        """Add rows to the coarse form, or follow a change of their weights."""

    @abstractmethod
    def _displace(self, rows: np.ndarray) -> None:
        """Take rows out of the coarse form."""

    @abstractmethod
    def _learn(self, rows: np.ndarray) -> None:
        """Make the coarse form anew, of all rows, in rank order."""

    @abstractmethod
    def _make_coarse(self) -> None:
        """`_learn` of all rows, in whatever way is quickest after many changes."""

    def _note_changes(self, count: int) -> None:
        self._changes += count
        if self._changes > _STALE * len(self):
            self._make_coarse()

    def _by_attribute(self) -> list[Column]:
        return [self._attribute(j) for j in range(len(self.attributes))]

    def _add(self, ids: np.ndarray, scores: np.ndarray, columns: Sequence[np.ndarray]) -> None:
        """Take subscriptions that were found to be new and right."""
        # Building anew is so much quicker that it pays from half as many rows again.
        if 2 * len(ids) >= len(self):
            known, known_scores, known_columns = self._known()
            pairs = zip(known_columns, columns, strict=True)
            self._rebuild(
                np.concatenate((known, ids)),
                np.concatenate((known_scores, scores)),
                [np.concatenate(pair) for pair in pairs],
            )
            return
        self._reserve(len(ids))
        rows = self._rows.take(ids, scores)
        for column, values in zip(self._columns, columns, strict=True):
            column[rows] = values
        self._trees.insert(self._by_attribute(), rows)
        self._place(rows)
        self._note_changes(len(rows))

    def _reserve(self, more: int) -> None:
        self._rows.reserve(more)
        capacity = self._rows.capacity
        for i, old in enumerate(self._columns):
            if capacity > len(old):
                self._columns[i] = np.empty((capacity, *old.shape[1:]))
                self._columns[i][: len(old)] = old
        self._trees.reserve_rows(capacity)
        self._coarse.reserve_rows(capacity)

    def _renew(self, rebased: bool = False) -> None:
        """Build everything anew, either in bases or in deltas."""
        self._rebuild(*self._known(), rebased)

    def _known(self) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
        live, keys = self._rows.live(), self._rows.keys
        return keys.ids[live], keys.scores[live], [column[live] for column in self._columns]

    def _rebuild(
        self,
        ids: np.ndarray,
        scores: np.ndarray,
        columns: Sequence[np.ndarray],
        rebased: bool = False,
    ) -> None:
        # Rows in rank order: what one query reads then lies close together.
        rows = np.arange(len(ids), dtype=np.int32)
        rank = by_rank(Rows(ids, scores), rows)
        self._rows.refill(ids[rank], scores[rank])
        self._columns = [column[rank] for column in columns]
        build = self._trees.rebase if rebased else self._trees.build
        build(self._by_attribute(), rows)
        self._learn(rows)
