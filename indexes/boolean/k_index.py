"""`KIndex`: posting lists by number of columns, for comparison (Whang et al., Indexing Boolean
Expressions).

A conjunction over K columns is in one list for each of them and each value that it admits there; K
lists of an event that agree on a row make it a candidate.  Values are codes (see `codes`), or a
continuous domain could not be enumerated; a predicate that admits most codes is in the column's
list for any value instead, and candidates are evaluated.  The best k are found with one bound for
each list, the greatest weight in it, which is all that a flat structure knows.

Layout: list j of `keys`, ascending, is rows[starts[j] : starts[j + 1]].  All subscriptions are
known in advance: after a change the lists are made anew when they are next asked.
"""

import numpy as np

from indexes.boolean.codes import learn_codes, no_codes
from indexes.boolean.events import EncodedEvents
from indexes.boolean.index import BooleanIndex
from indexes.boolean.k_postings import make_postings, no_postings
from indexes.boolean.k_search import collect, rank
from indexes.hits import HitTable

__all__ = ["KIndex"]


class KIndex(BooleanIndex):
    def __init__(self) -> None:
        super().__init__()
        self._clear_structure()

    def _clear_structure(self) -> None:
        self._codes = no_codes()
        self._postings = no_postings()
        self._stale = False

    def _place(self, rows: np.ndarray) -> None:
        self._stale = True

    def _remove(self, rows: np.ndarray) -> None:
        self._stale = True

    def _rank(self, events: EncodedEvents, table: HitTable) -> None:
        self._refresh()
        rank(
            self._postings, self._codes, self._store.rows, events, len(self._vocabulary), table,
            self._counted,
        )  # fmt: skip

    def _collect(
        self, events: EncodedEvents, first: int, starts: np.ndarray, ids: np.ndarray
    ) -> int:
        self._refresh()
        return collect(
            self._postings, self._codes, self._store.rows, events, len(self._vocabulary), first,
            starts, ids, self._counted,
        )  # fmt: skip

    @property
    def _structure_nbytes(self) -> int:
        return sum(array.nbytes for array in (*self._postings, *self._codes))

    def _refresh(self) -> None:
        if not self._stale:
            return
        live = self._store.live()
        self._codes = learn_codes(self._store, live, len(self._vocabulary))
        self._postings = make_postings(self._store, self._codes, live)
        self._stale = False

    def _check_structure(self) -> None:
        if self._stale:
            return
        p = self._postings
        assert (np.diff(p.keys) > 0).all()
        assert len(p.starts) == len(p.keys) + 1
        assert set(p.rows.tolist()) == set(self._store.live().tolist())
        for first, last in zip(p.starts[:-1].tolist(), p.starts[1:].tolist(), strict=True):
            assert (np.diff(p.rows[first:last]) > 0).all()
