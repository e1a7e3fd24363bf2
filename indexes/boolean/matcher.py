"""`BooleanMatcher`: a BE*-tree fed in batches that name their attributes and strings.

Whoever parses records has checked the predicates already; objects of the class `Predicate` are
made by those who write predicates by hand.
"""

import copy
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from indexes.boolean.batches import MOST_COLUMNS, BooleanArrays
from indexes.boolean.be_star_tree import BEStarTree
from indexes.boolean.naming import (
    Expressions,
    NamedEvents,
    compile_expressions,
    count_unplaced,
    encode_named,
    fitting,
)
from indexes.forking import forked
from indexes.hits import HitTable

__all__ = ["BooleanMatcher"]

_FEW_STRINGS = 100_000
_FEW_COLUMNS = MOST_COLUMNS // 8


class BooleanMatcher:
    """It keeps itself in order while it changes, so it has no base.

    Only attributes and strings that no subscription names any more stay, until the tree is built
    anew.  Attributes beyond `MOST_COLUMNS` have no place: conjunctions that name them match nothing
    until they are inserted again, for one subscription too many must not stop all others.
    """

    delta_share = 0.0

    def __init__(self) -> None:
        self._tree = BEStarTree()
        self._size_at_first = 0, 0  # columns, strings
        self.unplaced = 0  # conjunctions that had no place, since the tree was built

    def __len__(self) -> int:
        return len(self._tree)

    @property
    def nbytes(self) -> int:
        return self._tree.nbytes

    @property
    def is_worn(self) -> bool:
        """Whether most attributes or strings that it has learnt may be of no use any more."""
        columns, strings = self._tree._vocabulary.size
        at_first, strings_at_first = self._size_at_first
        return (
            strings > 4 * strings_at_first + _FEW_STRINGS or columns > 4 * at_first + _FEW_COLUMNS
        )

    @property
    def rebases_itself(self) -> bool:
        """There is no base; built anew, the tree forgets strings that nobody names any more."""
        return True

    def insert_many(self, ids: np.ndarray, expressions: Expressions) -> None:
        """Add new ids, each with its alternatives."""
        new = self._tree._require_new(ids)
        fitted, unplaced = fitting(expressions, self._tree._vocabulary)
        self.unplaced += unplaced
        batch, alternatives = compile_expressions(fitted, self._tree._vocabulary)
        starting = np.zeros(len(batch.counts), np.bool_)
        starting[np.cumsum(alternatives) - alternatives] = True
        self._tree._insert_batch(np.repeat(new, alternatives), batch, starting)

    def delete_many(self, ids: np.ndarray) -> None:
        self._tree.delete_many(ids)

    def top_k_many(self, events: NamedEvents, k: int) -> HitTable:
        return self._tree.top_k_many(encode_named(events, self._tree._vocabulary), k)

    def ids(self) -> np.ndarray:
        """Ascending."""
        store = self._tree._store
        return np.unique(store.rows.ids[store.live()])

    def fork(self) -> Self:
        """A copy for another thread; its rows copy themselves array by array as well."""
        twin = forked(self, [self._tree._store])
        twin._tree._store = copy.deepcopy(self._tree._store)
        return twin

    def rebase(self) -> None:
        """Build the tree anew."""
        self._take(self._tree.to_arrays())

    @property
    def is_stale(self) -> bool:
        """Whether it will soon set itself in order on its own: never, that is done in steps."""
        return False

    def refresh(self) -> None:
        """Nothing is out of order but what `rebase()` mends."""

    def replace_base(self, trees: Sequence[Any], since: int) -> None:
        raise ValueError("got a base when none was expected: Boolean expressions have none")

    def check(self) -> None:
        self._tree.check()

    def to_arrays(self) -> BooleanArrays:
        return self._tree.to_arrays()

    @classmethod
    def from_arrays(cls, arrays: BooleanArrays) -> Self:
        matcher = cls()
        matcher._take(arrays)
        return matcher

    def _take(self, arrays: BooleanArrays) -> None:
        self._tree = BEStarTree.from_arrays(arrays)
        self._size_at_first = self._tree._vocabulary.size
        self.unplaced = count_unplaced(arrays)
