"""One IR-tree over the rows of a `RowTable`: owns the arrays, grows them, keeps the balance."""

import numpy as np

from indexes.hits import rank_order
from indexes.intervals.ir_build import Entries, Plan, arrange, blocks_needed, plant, uproot
from indexes.intervals.ir_check import check_tree
from indexes.intervals.ir_layout import (
    FREE_BLOCK,
    FREE_NODE,
    LIVE_BLOCKS,
    LIVE_NODES,
    STATE_FIELDS,
    TALLEST,
    TOP,
    USED_BLOCKS,
    USED_NODES,
    VISITED,
    Rows,
    Tree,
)
from indexes.intervals.ir_skeleton import (
    delete_rows,
    drop_rows,
    insert_rows,
    intervals_of,
    lift_rows,
    out_of_balance,
)
from indexes.kernels import NIL

BUCKET_BLOCKS = 8  # a subtree that fits into so many blocks is not divided further


class RowIndex:
    """Intervals by row.  Ids, scores and which rows are live are the owner's business."""

    def __init__(self, branching: int) -> None:
        self.branching = branching
        self.bucket = BUCKET_BLOCKS * branching
        # Packing leaves some room, or the next insertions would split every block.
        self._fill = max(2, branching * 5 // 6)
        self._batch = 0
        self.tree = _allocate(branching, 0, 0, 0)

    def clear(self, row_capacity: int) -> None:
        visited = self.visited
        self.tree = _allocate(self.branching, 0, 0, row_capacity)
        self.tree.state[VISITED] = visited

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.tree)

    @property
    def visited(self) -> int:
        return int(self.tree.state[VISITED])

    def reserve_rows(self, capacity: int) -> None:
        if capacity > len(self.tree.where):
            where = np.full(capacity, NIL, np.int32)
            where[: len(self.tree.where)] = self.tree.where
            self.tree = self.tree._replace(where=where)

    def build(self, keys: Rows, entries: Entries) -> None:
        """Fill an empty tree with entries in rank order, which are rearranged in place."""
        self._plant(keys, entries, NIL, 0)

    def insert(self, keys: Rows, rows: np.ndarray, lows: np.ndarray, highs: np.ndarray) -> None:
        self._batch += 1
        done = 0
        while done < len(rows):
            done = insert_rows(self.tree, keys, rows, lows, highs, done, self._batch)
            if done < len(rows):
                self._grow()
        self._rebalance(keys)

    def delete(self, keys: Rows, rows: np.ndarray) -> None:
        self._batch += 1
        delete_rows(self.tree, keys, rows, self._batch)
        self._rebalance(keys)

    def intervals(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        lows, highs = np.empty(len(rows)), np.empty(len(rows))
        intervals_of(self.tree, rows, lows, highs)
        return lows, highs

    def lift(self, keys: Rows, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Take rows out so that their scores may change; `drop` has to follow."""
        return lift_rows(self.tree, keys, rows)

    def drop(
        self, keys: Rows, rows: np.ndarray, lifted: tuple[np.ndarray, np.ndarray, np.ndarray]
    ) -> None:
        done = 0
        while done < len(rows):
            done = drop_rows(self.tree, keys, rows, *lifted, done)
            if done < len(rows):
                self._grow()

    def check(self, keys: Rows, live: np.ndarray) -> None:
        check_tree(self.tree, keys, live, self.bucket)

    def _rebalance(self, keys: Rows) -> None:
        for node in out_of_balance(self.tree, self.bucket, self._batch).tolist():
            over = int(self.tree.over[node])
            side = int(over != NIL and self.tree.right[over] == node)
            entries = uproot(self.tree, node)
            rank = rank_order(keys.scores[entries.rows], keys.ids[entries.rows])
            self._plant(keys, Entries(*(column[rank] for column in entries)), over, side)

    def _plant(self, keys: Rows, entries: Entries, over: int, side: int) -> None:
        plan: Plan = arrange(entries, self.bucket)
        self._reserve(blocks_needed(plan, self._fill), len(plan.center))
        plant(self.tree, keys, plan, entries, over, side, self._fill)

    def _grow(self) -> None:
        """Room for an eighth more blocks and nodes, and for at least one insertion."""
        blocks, nodes = len(self.tree.filled), len(self.tree.center)
        tallest = int(self.tree.state[TALLEST])
        self.tree = _resized(self.tree, blocks + blocks // 8 + tallest + 2, nodes + nodes // 8 + 2)

    def _reserve(self, blocks: int, nodes: int) -> None:
        state = self.tree.state
        more_blocks = blocks - (len(self.tree.filled) - int(state[LIVE_BLOCKS]))
        more_nodes = nodes - (len(self.tree.center) - int(state[LIVE_NODES]))
        if more_blocks <= 0 and more_nodes <= 0:
            return
        self.tree = _resized(
            self.tree,
            _enough(len(self.tree.filled), more_blocks),
            _enough(len(self.tree.center), more_nodes),
        )


def _enough(capacity: int, more: int) -> int:
    """A capacity with room for `more`; an eighth at least, so that growth stays rare."""
    return capacity if more <= 0 else capacity + max(more, capacity // 8)


def _allocate(branching: int, blocks: int, nodes: int, rows: int) -> Tree:
    state = np.zeros(STATE_FIELDS, np.int64)
    state[[TOP, FREE_BLOCK, FREE_NODE]] = NIL
    return Tree(
        refs=np.empty((blocks, branching), np.int32),
        lows=np.empty((blocks, branching)),
        highs=np.empty((blocks, branching)),
        filled=np.zeros(blocks, np.int32),
        best=np.empty(blocks),
        level=np.zeros(blocks, np.int32),
        up=np.empty(blocks, np.int32),
        center=np.empty(nodes),
        left=np.empty(nodes, np.int32),
        right=np.empty(nodes, np.int32),
        over=np.empty(nodes, np.int32),
        root=np.empty(nodes, np.int32),
        weight=np.empty(nodes, np.int32),
        touched=np.empty(nodes, np.int64),
        where=np.full(rows, NIL, np.int32),
        state=state,
    )


def _resized(tree: Tree, blocks: int, nodes: int) -> Tree:
    copy = _allocate(tree.refs.shape[1], blocks, nodes, 0)
    used_blocks, used_nodes = int(tree.state[USED_BLOCKS]), int(tree.state[USED_NODES])
    for name in ("refs", "lows", "highs", "filled", "best", "level", "up"):
        getattr(copy, name)[:used_blocks] = getattr(tree, name)[:used_blocks]
    for name in ("center", "left", "right", "over", "root", "weight", "touched"):
        getattr(copy, name)[:used_nodes] = getattr(tree, name)[:used_nodes]
    return copy._replace(where=tree.where, state=tree.state)
