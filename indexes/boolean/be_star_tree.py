"""`BEStarTree`: weighted Boolean expressions in a tree that adapts to them (Sadoghi and Jacobsen).

See `tree_layout` for the arrays, `tree_settle` and `tree_insert` for growth, `tree_search` for
matching.  Bounds inside the tree are codes that were learnt from the subscriptions; after the
fourfold has been inserted they are learnt again, and the tree is built anew.
"""

import numpy as np

from indexes import validation
from indexes.boolean.codes import Codes, learn_codes, no_codes
from indexes.boolean.events import EncodedEvents
from indexes.boolean.index import BooleanIndex
from indexes.boolean.rows import NIL, grown
from indexes.boolean.tree_check import check_tree
from indexes.boolean.tree_cut import APPROXIMATE, EXHAUSTIVE
from indexes.boolean.tree_delete import count_columns, delete_rows
from indexes.boolean.tree_insert import insert_rows
from indexes.boolean.tree_layout import LONGEST, USED_C, USED_D, USED_E, USED_M, USED_P, new_tree
from indexes.boolean.tree_members import renumber_members, rows_in_order
from indexes.boolean.tree_search import collect, rank
from indexes.boolean.tree_settle import PARTITION, Options, localise, settle
from indexes.hits import HitTable

__all__ = ["BEStarTree"]

_SPLITS = {"exhaustive": EXHAUSTIVE, "approximate": APPROXIMATE}
_RELEARN = 4  # times as many rows as the codes were learnt from


class BEStarTree(BooleanIndex):
    """Conjunctions of weighted predicates, ranked by the sum of weight times event weight.

    `leaf_capacity` is the paper's A, `alpha` the least part of a bucket's members on either side
    of a split, `beta` the growth of a bucket before a new one is put above it, `split` one of
    "exhaustive" and "approximate", `partition` the members below a c-node for which a p-node is
    made.  Answers do not depend on them.

    >>> from indexes.boolean import Predicate
    >>> jobs = BEStarTree()
    >>> coast, pay = Predicate("state", "in", ["CA", "NY"], 0.4), Predicate("pay", "<", 45, 0.3)
    >>> jobs.insert(1, [coast, pay])
    >>> jobs.insert(2, [Predicate("hours", ">", 15, 0.5)])
    >>> jobs.top_k({"state": "NY", "pay": (30, 2.0), "hours": 20}, k=2)
    [Hit(id=1, score=1.0), Hit(id=2, score=0.5)]
    """

    def __init__(
        self,
        leaf_capacity: int = 64,
        alpha: float = 0.1,
        beta: float = 4.0,
        split: str = "exhaustive",
        partition: int = 16,
    ) -> None:
        super().__init__()
        if split not in _SPLITS:
            raise ValueError(f"split: got {split!r} when one of {list(_SPLITS)} was expected")
        if not 0 < alpha <= 0.5:
            raise ValueError(f"alpha: got {alpha!r} when 0 < alpha <= 0.5 was expected")
        if not beta > 1:
            raise ValueError(f"beta: got {beta!r} when beta > 1 was expected")
        self._options = Options(
            validation.as_count("leaf_capacity", leaf_capacity, least=1),
            float(alpha),
            float(beta),
            _SPLITS[split],
            validation.as_count("partition", partition, least=1),
            by_size=False,
            prune=True,
        )
        self._clear_structure()

    def _clear_structure(self) -> None:
        self._tree = new_tree(1, 0, 0, 0, 0)
        self._codes = no_codes()
        self._learnt = 0  # rows that the codes were learnt from
        self._popularity = np.zeros(0, np.int64)  # predicates of each column

    def _place(self, rows: np.ndarray) -> None:
        columns = len(self._vocabulary)
        self._popularity = grown(self._popularity, columns)
        count_columns(self._store.rows, rows, self._popularity, 1)
        # Building anew is so much quicker that it pays from half as many rows again.
        new_names = len(self._codes.starts) - 1 < columns
        if 2 * len(rows) >= len(self._store) or len(self._store) >= _RELEARN * self._learnt + 64:
            self._rebuild()
            return
        if new_names or self._store.capacity > len(self._tree.where):
            self._widen()
        done = 0
        while done < len(rows):
            done = insert_rows(
                self._tree, self._store.rows, self._codes, self._popularity, len(self._store),
                rows, done, self._options,
            )  # fmt: skip
            if done < len(rows):
                self._grow()

    def _remove(self, rows: np.ndarray) -> None:
        count_columns(self._store.rows, rows, self._popularity, -1)
        if self._tree.state[USED_M] + 2 * self._options.capacity + 64 > len(self._tree.m_low):
            self._grow()  # merging needs some room
        delete_rows(self._tree, self._store.rows, self._codes, rows, self._options)

    def _rank(self, events: EncodedEvents, table: HitTable) -> None:
        columns = len(self._vocabulary)
        rank(
            self._tree, self._store.rows, self._codes, events, columns, self._options.prune, table,
            self._counted,
        )  # fmt: skip

    def _collect(
        self, events: EncodedEvents, first: int, starts: np.ndarray, ids: np.ndarray
    ) -> int:
        columns = len(self._vocabulary)
        return collect(
            self._tree, self._store.rows, self._codes, events, columns, first, starts, ids,
            self._counted,
        )  # fmt: skip

    @property
    def _structure_nbytes(self) -> int:
        return sum(a.nbytes for a in (*self._tree, *self._codes, self._popularity))

    def _check_structure(self) -> None:
        check_tree(self._tree, self._store.rows, self._codes, self._store.live(), self._options)
        batch = self._store.export(self._store.live())
        counts = np.bincount(batch.columns, minlength=len(self._popularity))
        assert (self._popularity == counts).all()

    def _rebuild(self) -> None:
        """Learn codes from all rows and settle them at once (BE*-B)."""
        live, columns = self._store.live(), len(self._vocabulary)
        self._codes = self._learn(live, columns)
        self._learnt = len(live)
        local = localise(
            self._store.rows, self._codes, self._popularity, len(live), live, self._options.by_size
        )
        spare = 1
        while True:
            n = len(live)
            nodes = spare * (n // 8 + 64)
            tree = new_tree(nodes, nodes, 4 * nodes, 4 * nodes, 2 * n + 8 * nodes)
            self._tree = tree._replace(
                where=np.full(self._store.capacity, NIL, np.int32),
                at_root=np.full(columns, NIL, np.int32),
            )
            made = settle(
                self._tree, self._store.rows, self._codes, local, 0, PARTITION, self._options
            )
            if len(made):
                break
            spare *= 4
        self._resize(0)
        self._follow_tree()

    def _learn(self, live: np.ndarray, columns: int) -> Codes:
        return learn_codes(self._store, live, columns)

    def _follow_tree(self) -> None:
        """Lay rows out as l-nodes have them, so that reading an l-node's rows is one sweep."""
        t = self._tree
        order = rows_in_order(t, len(self._store))
        new = self._store.renumber(order)
        where = np.full_like(t.where, NIL)
        where[new[order]] = t.where[order]
        self._tree = t._replace(where=where)
        renumber_members(self._tree, new)
        self._alternatives = {id: new[rows].tolist() for id, rows in self._alternatives.items()}

    def _widen(self) -> None:
        """Follow new rows and columns."""
        t = self._tree
        where = np.full(self._store.capacity, NIL, np.int32)
        at_root = np.full(len(self._vocabulary), NIL, np.int32)
        where[: len(t.where)], at_root[: len(t.at_root)] = t.where, t.at_root
        self._tree = t._replace(where=where, at_root=at_root)

    def _grow(self) -> None:
        most = int(self._tree.c[:, 2].max(initial=0))
        longest = int(self._tree.state[LONGEST])
        self._resize(8 * (most + self._options.capacity) + longest + 128)

    def _resize(self, spare: int) -> None:
        """Give every kind of run and node room for so many more, and for an eighth."""
        t = self._tree

        def room(used: int, times: int) -> int:
            count = int(t.state[used])
            return count + times * spare + (count // 8 if spare else 0)

        sizes = {
            name: room(used, times)
            for names, used, times in (
                (("c", "own", "total", "best", "top", "oldest", "sums", "floors"), USED_C, 1),
                (("p", "p_top"), USED_P, 1),
                (("m_low", "m_high", "m_sum", "m_record"), USED_M, 8),
                (("e_word", "e_node", "e_top"), USED_E, 16),
                (("d_column", "d_node"), USED_D, 16),
            )
            for name in names
        }
        self._tree = t._replace(
            **{name: _resized(getattr(t, name), n) for name, n in sizes.items()}
        )


def _resized(array: np.ndarray, size: int) -> np.ndarray:
    copy = np.zeros((size, *array.shape[1:]), array.dtype)
    kept = min(size, len(array))
    copy[:kept] = array[:kept]
    return copy
