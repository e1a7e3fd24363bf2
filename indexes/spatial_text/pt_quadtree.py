"""`PTQuadtree`: the pivotal-token quadtree of §4, dynamic, with top k.

    quadtree         nodes, lists, how regions are divided
    pivots           which tokens let a message leave a node alone
    quadtree_search  filter and verification, top k, estimates

Many subscriptions at once are laid out from the root, level by level; a few are put on lists one by
one, and leaves that have become too long are divided.  A subscription that is deleted leaves its
lists at once.  Score bounds and pivotal sets are then greater than need be: when half of what was
laid out has gone, or a quarter lies beyond the region, everything is laid out anew.

For an index that combines structures (§5): `tree`, `region` and `rules` are what the kernels of
`quadtree_search` take.  `candidate_nodes` is the filter step alone, a node's list is
`tree.entries[first : first + count]` with first and count in the columns LIST and COUNT of
`tree.nodes`, its rows are in column 0, by key in column 1 as far as ORDERED says; `verified` is the
verification of one list, and `estimate` says beforehand how much both are going to be.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from indexes import validation
from indexes.hits import HitTable
from indexes.kernels import NIL
from indexes.kernels.decorators import bare
from indexes.spatial_text.index import Messages, SpatialTextIndex
from indexes.spatial_text.pivots import add_pivot, room_to_summarise, summarise
from indexes.spatial_text.quadtree import (
    CHILD,
    COUNT,
    COVERS,
    DEEPEST,
    DEPTH,
    DUE,
    FILLED,
    GRID_BITS,
    HELD,
    KEPT,
    LEAVES,
    LEAVES_ONLY,
    LIST,
    MX_CIF,
    OPEN,
    ORDERED,
    PARENT,
    PIVOTS,
    ROOM,
    SET,
    SET_ROOM,
    SETS_FILLED,
    SETS_KEPT,
    SPREAD,
    USED,
    Quadtree,
    Rules,
    X,
    Y,
    append_entry,
    divide_level,
    gather_lists,
    grid_box,
    keeps,
    key_tokens,
    new_quadtree,
    ordered_by_key,
    region_around,
    sides_taken,
    square_meets,
    square_of,
    with_room,
)
from indexes.spatial_text.quadtree_search import estimate_all, match_all, rank_all

__all__ = ["PTQuadtree", "Work"]

_PIVOTS = ("greedy", "rarest")
_STACK = 128
_FEW = 64  # subscriptions whose leaving or lying outside is not worth laying out anew for


class Work(NamedTuple):
    """What matching has looked at so far."""

    nodes: int
    entries: int
    records: int


class PTQuadtree(SpatialTextIndex):
    """
    >>> tree = PTQuadtree()
    >>> tree.insert(4, (20, 10, 28, 18), ["b", "c", "d"])
    >>> tree.insert(3, (20, 32, 35, 35), ["b", "c", "d"])
    >>> tree.insert(1, (25, 0, 30, 20), ["a", "b", "c"])
    >>> tree.match((26, 14, 26, 14), ["b", "c", "d", "e", "f"])
    [4]
    """

    def __init__(
        self,
        tau_num: int = 512,
        tau_area: float = 0.0,
        mx_cif: bool = False,
        leaves_only: bool = False,
        pivots: str = "rarest",
        most_copies: float = 1.5,
        most_pivots: int = 64,
        within: SpatialTextIndex | None = None,
    ) -> None:
        """A leaf is divided from `tau_num` subscriptions on, not into less than `tau_area`.

        `mx_cif`: each subscription in one node; `leaves_only`: in leaves, even if its box covers
        much more (see `quadtree`, also for `most_copies`).  `pivots`: "greedy", as the seed has it,
        or "rarest", and `most_pivots`, the largest set that is kept (see `pivots`).
        """
        super().__init__(within)
        if not 0.0 <= tau_area < np.inf:
            raise ValueError(f"tau_area: got {tau_area} when a number >= 0 was expected")
        self._tau_area = float(tau_area)
        if pivots not in _PIVOTS:
            raise ValueError(f"pivots: got {pivots!r} when one of {_PIVOTS} was expected")
        if mx_cif and leaves_only:
            raise ValueError("got mx_cif and leaves_only when one of them at most was expected")
        if not 1.0 <= most_copies <= 2.0:
            raise ValueError(f"most_copies: got {most_copies} when 1 to 2 was expected")
        self.rules = Rules(
            tau_num=validation.as_count("tau_num", tau_num, 1),
            deepest=DEEPEST,
            placement=MX_CIF if mx_cif else LEAVES_ONLY if leaves_only else SPREAD,
            most_copies=float(most_copies),
            most_pivots=validation.as_count("most_pivots", most_pivots, 1),
            rarest=_PIVOTS.index(pivots),
        )
        self.tree = new_quadtree()
        self.region = region_around(np.empty((0, 4)))
        self._left = self._outside = 0  # subscriptions, since everything was laid out
        self._work = np.zeros(3, np.int64)

    @property
    def work(self) -> Work:
        return Work(*self._work.tolist())

    @property
    def structure_nbytes(self) -> int:
        return sum(array.nbytes for array in self.tree)

    def estimates(self, boxes: np.ndarray) -> np.ndarray:
        """f8[m, 2]: about how many nodes, and entries, the filter leaves of each message (§5.3)."""
        return estimate_all(self.tree, self.region, boxes)

    def add_rows(self, rows: np.ndarray) -> None:
        boxes = self.records.table.boxes[rows]
        low, high = np.array(self.region.x[:2] + self.region.y[:2]).reshape(2, 2).T
        beyond = (boxes[:, :2] < low).any(axis=1) | (boxes[:, 2:] > high).any(axis=1)
        finite = np.isfinite(boxes).all(axis=1)
        self._outside += int((beyond & finite).sum())
        before = len(self.records) - len(rows)
        moved = self._outside > max(_FEW, before // 4)
        if len(rows) > before or moved or self._left > max(_FEW, before):
            self._lay_out()
        else:
            self._insert_rows(rows)

    def remove_rows(self, rows: np.ndarray) -> None:
        if self._left > max(_FEW, len(self.records)):
            self._lay_out()
        _remove_rows(self.tree, self.records.table, self.region, self.rules, rows)
        self._left += len(rows)

    def rebuild(self) -> None:
        if not self.is_part:
            self.records.rearrange(self.records.live())
        self._lay_out()

    def _match(self, messages: Messages) -> tuple[np.ndarray, np.ndarray]:
        words, table = self.dictionary.size // 64 + 1, self.records.table
        return match_all(self.tree, table, self.region, messages, words, self._work)

    def _rank(self, messages: Messages, table: HitTable) -> None:
        words, records = self.dictionary.size // 64 + 1, self.records.table
        rank_all(self.tree, records, self.region, messages, words, table, self._work)

    def _lay_out(self) -> None:
        """Build the tree of all live rows, level by level."""
        rows = self.records.live()
        table = self.records.table
        boxes = table.boxes[rows]
        self.region = region_around(boxes)
        spans = [high - low for low, high, _ in self.region]
        depth = float(DEEPEST)
        if self._tau_area > 0 and spans[0] > 0 and spans[1] > 0:
            depth = (np.log2(spans[0]) + np.log2(spans[1]) - np.log2(self._tau_area)) / 2
        self.rules = self.rules._replace(deepest=int(min(max(depth, 0.0), DEEPEST)))
        self.tree = new_quadtree()
        self._left = self._outside = 0
        del boxes
        rows = ordered_by_key(table, rows, self.dictionary.frequencies)
        self._divide(np.zeros(1, np.int32), rows, np.array([0, len(rows)]))

    def _insert_rows(self, rows: np.ndarray) -> None:
        table, frequencies = self.records.table, self.dictionary.frequencies
        progress = np.zeros(2, np.int64)  # rows that are in, nodes of the next one
        while True:
            _insert_rows(self.tree, table, self.region, frequencies, self.rules, rows, progress)
            if progress[0] == len(rows):
                break
            longest = int(self.tree.nodes[: self.tree.state[USED], COUNT].max())
            tokens = (DEEPEST + 1) * (self.rules.most_pivots * 5 // 4 + 4)
            self.tree = with_room(
                self.tree, entries=longest * 5 // 4 + 4 + len(rows), tokens=tokens
            )
        if self.tree.state[DUE]:
            self._divide(*gather_lists(self.tree, self.rules))

    def _divide(self, nodes: np.ndarray, rows: np.ndarray, starts: np.ndarray) -> None:
        """Give these leaves their rows, which are in the order of keys, level by level."""
        table, frequencies = self.records.table, self.dictionary.frequencies
        changed = [nodes]
        while len(nodes):
            level = (nodes, rows, starts)
            taken, divided = sides_taken(self.tree, table, self.region, self.rules, *level)
            self.tree = with_room(self.tree, nodes=4 * int(divided.sum()), entries=len(rows))
            nodes, rows, starts = divide_level(
                self.tree, table, self.region, frequencies, *level, taken, divided
            )
            changed.append(nodes)
        upwards, tops = np.concatenate(changed[::-1]), len(changed[0])
        needed, done = room_to_summarise(self.rules), 0
        while done < len(upwards):
            self.tree = with_room(self.tree, tokens=needed + 8 * (len(upwards) - done))
            done = summarise(self.tree, table, self.rules, upwards, done, tops, needed)

    def check_structure(self) -> None:
        q, table, used = self.tree, self.records.table, int(self.tree.state[USED])
        lists: dict[int, set[tuple[int, int]]] = {
            row: set() for row in self.records.live().tolist()
        }
        runs, set_runs = [], []
        for node in range(used):
            first, count, room = q.nodes[node, [LIST, COUNT, ROOM]].tolist()
            set_first, pivots, set_room = q.nodes[node, [SET, PIVOTS, SET_ROOM]].tolist()
            assert count <= room
            assert 0 <= q.nodes[node, COVERS] <= len(_tokens_of_set(q, node)) <= set_room
            assert pivots in (OPEN, len(_tokens_of_set(q, node)))
            runs.append((first, first + room))
            set_runs.append((set_first, set_first + set_room))
            assert len(set(_tokens_of_set(q, node))) == len(_tokens_of_set(q, node))
            entries = q.entries[first : first + count]
            keys = entries[: q.nodes[node, ORDERED], 1]
            assert (keys[1:] >= keys[:-1]).all()
            for entry in entries.tolist():
                lists[entry[0]].add((node, entry[3]))
                self._check_entry(node, entry)
            assert len(set(entries[:, 0].tolist())) == count
            self._check_counts(node)
        _check_runs(runs, int(q.state[FILLED]), int(q.state[KEPT]))
        _check_runs(set_runs, int(q.state[SETS_FILLED]), int(q.state[SETS_KEPT]))
        for row, found in lists.items():
            assert found == set(_homes(q, table, self.region, self.rules, row))

    def _check_entry(self, node: int, entry: list[int]) -> None:
        q, table = self.tree, self.records.table
        row, key, other, _ = entry
        start = table.starts[row]
        tokens = table.tokens[start : start + table.sizes[row]].tolist()
        assert {key, other if other >= 0 else ~other} <= set(tokens)
        assert (other < 0) == (len(tokens) > 2)
        assert (key == other) == (len(tokens) == 1)
        assert table.scores[row] <= q.bounds[node, 1]
        # From the root down to the node, a message with all its tokens is admitted.
        path = [node]
        while q.nodes[path[-1], PARENT] != NIL:
            path.append(int(q.nodes[path[-1], PARENT]))
        for below in reversed(path):
            found = [t for t in _tokens_of_set(q, below) if t in tokens]
            if found and _tokens_of_set(q, below).index(found[0]) < q.nodes[below, COVERS]:
                break
            assert found or q.nodes[below, PIVOTS] == OPEN

    def _check_counts(self, node: int) -> None:
        q = self.tree
        depth, child = int(q.nodes[node, DEPTH]), int(q.nodes[node, CHILD])
        held, leaves, bound = int(q.nodes[node, COUNT]), 1, q.bounds[node, 1]
        if child != NIL:
            below = slice(child, child + 4)
            assert (q.nodes[below, PARENT] == node).all()
            assert (q.nodes[below, DEPTH] == depth + 1).all()
            half = 1 << (GRID_BITS - depth - 1)
            corners = [[x, y] for y in (0, half) for x in (0, half)]
            assert (q.nodes[below, X : Y + 1] - q.nodes[node, X : Y + 1]).tolist() == corners
            held += int(q.nodes[below, HELD].sum())
            leaves = int(q.nodes[below, LEAVES].sum())
            bound = max(bound, q.bounds[below, 0].max())
            assert q.nodes[node, PIVOTS] == OPEN or OPEN not in q.nodes[below, PIVOTS]
        assert depth <= self.rules.deepest
        assert (q.nodes[node, HELD], q.nodes[node, LEAVES]) == (held, leaves)
        assert q.bounds[node, 0] >= bound


def _tokens_of_set(q: Quadtree, node: int) -> list[int]:
    first, covers, pivots = q.nodes[node, [SET, COVERS, PIVOTS]].tolist()
    return q.sets[first : first + (covers if pivots == OPEN else pivots)].tolist()


def _check_runs(runs: list[tuple[int, int]], filled: int, kept: int) -> None:
    """Runs with room lie apart, and what is in none of them is counted."""
    in_order = sorted(run for run in runs if run[1] > run[0])
    stops = [0, *(stop for _, stop in in_order)]
    assert all(start >= stop for (start, _), stop in zip(in_order, stops, strict=False))
    assert stops[-1] <= filled
    assert sum(stop - start for start, stop in in_order) == kept


@njit(cache=True, nogil=True)
def _insert_rows(q, table, region, frequencies, rules, rows, progress):
    """Put rows on the lists of their nodes, until there is no room for more.

    `progress` says where to go on: the rows that are in, the nodes that have the next one.
    """
    stack = np.empty(_STACK, np.int32)
    while progress[0] < len(rows):
        row = rows[progress[0]]
        box = grid_box(region, table.boxes, row)
        key = key_tokens(table, row, frequencies)[0]
        stack[0] = 0
        waiting, passed = 1, 0
        while waiting:
            waiting -= 1
            node = stack[waiting]
            child = q.nodes[node, CHILD]
            if child != NIL and not keeps(q, rules, node, box):
                waiting = _with_children(q, child, box, stack, waiting)
                continue
            passed += 1
            if passed <= progress[1]:
                continue
            if not add_pivot(q, node, table, row, key, frequencies, rules):
                return
            if not append_entry(q, table, row, frequencies, rules, node, box):
                return
            progress[1] += 1
            _count_upwards(q, node, 1, table.scores[row])
        progress[0] += 1
        progress[1] = 0


@njit(cache=True, nogil=True)
def _remove_rows(q, table, region, rules, rows):
    """Take rows off their lists; bounds and pivotal sets stay as they are."""
    stack = np.empty(_STACK, np.int32)
    for row in rows:
        box = grid_box(region, table.boxes, row)
        stack[0] = 0
        waiting = 1
        while waiting:
            waiting -= 1
            node = stack[waiting]
            child = q.nodes[node, CHILD]
            if child != NIL and not keeps(q, rules, node, box):
                waiting = _with_children(q, child, box, stack, waiting)
                continue
            _take_off(q, node, row)
            _count_upwards(q, node, -1, -np.inf)


@njit(cache=True)
def _homes(q, table, region, rules, row):
    """The nodes that a row should be in, each with the box in its square."""
    homes = []
    box = grid_box(region, table.boxes, row)
    waiting = [0]
    while waiting:
        node = waiting.pop()
        child = q.nodes[node, CHILD]
        if child == NIL or keeps(q, rules, node, box):
            homes.append((node, square_of(q, node, box)))
            continue
        for side in range(4):
            if square_meets(q, child + side, box):
                waiting.append(child + side)
    return homes


@bare
def _with_children(q, child, box, stack, waiting):
    for side in range(4):
        if square_meets(q, child + side, box):
            stack[waiting] = child + side
            waiting += 1
    return waiting


@bare
def _take_off(q, node, row):
    first, last = q.nodes[node, LIST], q.nodes[node, LIST] + q.nodes[node, COUNT] - 1
    at = first
    while q.entries[at, 0] != row:
        at += 1
    if at - first < q.nodes[node, ORDERED]:
        q.nodes[node, ORDERED] -= 1
    for place in range(at, last):
        for column in range(4):
            q.entries[place, column] = q.entries[place + 1, column]
    q.nodes[node, COUNT] -= 1


@bare
def _count_upwards(q, node, step, score):
    q.bounds[node, 1] = max(q.bounds[node, 1], score)
    while node != NIL:
        q.nodes[node, HELD] += step
        q.bounds[node, 0] = max(q.bounds[node, 0], score)
        node = q.nodes[node, PARENT]
