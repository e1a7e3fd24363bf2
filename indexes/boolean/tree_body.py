"""`TreeBody`: the arrays of one BE*-tree with the codes that they are written in.

It makes room where kernels run out of it, and says no more than where rows are.
"""

from collections.abc import Sequence

import numpy as np

from indexes.boolean.codes import Codes
from indexes.boolean.masks import CHUNK
from indexes.boolean.rows import RowStore
from indexes.boolean.tree_delete import delete_rows
from indexes.boolean.tree_insert import insert_rows
from indexes.boolean.tree_layout import (
    C_ARRAYS,
    COUNT,
    D_ARRAYS,
    E_ARRAYS,
    LONGEST,
    M_ARRAYS,
    P_ARRAYS,
    PDIR_COUNT,
    USED_C,
    USED_D,
    USED_E,
    USED_M,
    USED_P,
)
from indexes.boolean.tree_local import Options, localise
from indexes.boolean.tree_members import renumber_members, rows_in_order
from indexes.boolean.tree_nodes import new_tree
from indexes.boolean.tree_settle import PARTITION, settle
from indexes.kernels import NIL
from indexes.kernels.aligned import aligned_zeros


class TreeBody:
    def __init__(self, options: Options, codes: Codes, learnt: int) -> None:
        self.options, self.codes = options, codes
        self.learnt = learnt  # rows that the codes were learnt from
        self.tree = new_tree(1, 0, 0, 0, 0)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in (*self.tree, *self.codes))

    def has(self, rows: np.ndarray) -> np.ndarray:
        """b1[n]: which rows are in the tree."""
        known = rows < len(self.tree.where)
        return known & (self.tree.where[np.where(known, rows, 0)] != NIL) if len(rows) else known

    def build(self, store: RowStore, demand: np.ndarray, live: np.ndarray) -> None:
        """Settle all rows at once (BE*-B)."""
        local = localise(store.rows, self.codes, demand, len(live), live, self.options.by_size)
        n, spare = len(live), 1
        while True:
            nodes = spare * (n // 8 + 64)
            tree = new_tree(nodes, nodes, 4 * nodes, 4 * nodes, 2 * n + 8 * nodes)
            self.tree = tree._replace(
                where=np.full(store.capacity, NIL, np.int32),
                at_root=np.full(len(demand), NIL, np.int32),
            )
            made = settle(self.tree, store.rows, local, 0, PARTITION, self.options, False)
            if len(made):
                break
            spare *= 4
        self._resize((0,) * 5)

    def insert(self, store: RowStore, demand: np.ndarray, rows: np.ndarray) -> None:
        self._widen(store.capacity, len(demand))
        done = 0
        while done < len(rows):
            done = insert_rows(
                self.tree, store.rows, self.codes, demand, len(store), rows, done, self.options
            )
            if done < len(rows):
                self._grow()

    def remove(self, store: RowStore, rows: np.ndarray) -> None:
        if self.tree.state[USED_M] + 2 * self.options.capacity + 64 + CHUNK > len(self.tree.m_low):
            self._grow()  # merging needs some room
        delete_rows(self.tree, store.rows, self.codes, rows, self.options)

    def lay_out(self, store: RowStore) -> np.ndarray:
        """Number rows as l-nodes have them, so that reading an l-node's rows is one sweep.

        Returns old number -> new.
        """
        t = self.tree
        order = rows_in_order(t, len(store))
        new = store.renumber(order)
        where = np.full_like(t.where, NIL)
        where[new[order]] = t.where[order]
        self.tree = t._replace(where=where)
        renumber_members(self.tree, new)
        return new

    def _widen(self, rows: int, columns: int) -> None:
        """Follow new rows and columns."""
        t = self.tree
        if rows <= len(t.where) and columns <= len(t.at_root):
            return
        where = np.full(max(rows, len(t.where)), NIL, np.int32)
        at_root = np.full(max(columns, len(t.at_root)), NIL, np.int32)
        where[: len(t.where)], at_root[: len(t.at_root)] = t.where, t.at_root
        self.tree = t._replace(where=where, at_root=at_root)

    def _grow(self) -> None:
        """Room for splits of many l-nodes, or of the largest (see `tree_room`), and an eighth."""
        t, some = self.tree, 16 * self.options.capacity + 128
        most, listed = (int(t.c[:, field].max()) for field in (COUNT, PDIR_COUNT))
        columns = min(most + 1, len(t.at_root))
        nodes = some + columns
        entries = 16 * some + 8 * columns + 3 * int(t.state[LONGEST])
        directory = 16 * some + 2 * (columns + listed)
        spare = nodes, nodes, 8 * some + 10 * most, entries, directory
        used = t.state[[USED_C, USED_P, USED_M, USED_E, USED_D]]
        self._resize((used // 8 + spare).tolist())

    def _resize(self, spare: Sequence[int]) -> None:
        """Give c-nodes, p-nodes, members, entries and directories room for so many more."""
        t = self.tree
        kinds = (
            (C_ARRAYS, USED_C),
            (P_ARRAYS, USED_P),
            (M_ARRAYS, USED_M),
            (E_ARRAYS, USED_E),
            (D_ARRAYS, USED_D),
        )
        sizes = {
            name: int(t.state[used]) + more + CHUNK
            for (names, used), more in zip(kinds, spare, strict=True)
            for name in names
        }
        self.tree = t._replace(**{name: _resized(getattr(t, name), n) for name, n in sizes.items()})


def _resized(array: np.ndarray, size: int) -> np.ndarray:
    copy = aligned_zeros((size, *array.shape[1:]), array.dtype)
    kept = min(size, len(array))
    copy[:kept] = array[:kept]
    return copy
