"""`RtTree` and `InvertedRTree`: R-trees with tokens in their nodes, the seed's comparisons (§6.3).

    RtTree         the R^t++-tree of Li, Wang, Wang and Feng, as far as the seed tells: each
                   subscription is represented by one token, its rarest, in all nodes above it
    InvertedRTree  the IR-tree of Cong, Jensen and Wu with the seed's filters: a node knows all
                   tokens below it

A message goes down to a node whose box it meets and of whose tokens it has one.  Nodes have score
bounds, beyond both papers, so that the best k are found without all matches.

The R-tree is packed: by Sort-Tile-Recursive (`pack`), level by level.  New subscriptions wait in a
list that every message goes through; those that are deleted leave a hole.  When more than a 64th of
all are waiting, or half are holes, the tree is packed anew.

Layout: nodes of the lowest level come first, the root last; the children of a node, or its rows in
the lowest level, are a run.  Its tokens are a run of `sets`, ascending.
"""

import itertools
from typing import NamedTuple

import numpy as np
from numba import njit

from indexes import validation
from indexes.hits import HitTable, offer, sort_best_first
from indexes.kernels import NIL
from indexes.kernels.bits import highest_bit
from indexes.kernels.decorators import bare, fused
from indexes.spatial_text.index import Messages, SpatialTextIndex
from indexes.spatial_text.quadtree import keys_of
from indexes.spatial_text.records import boxes_meet

__all__ = ["InvertedRTree", "Packed", "RtTree", "pack"]

_FEW = 64  # waiting rows, or holes, that are not worth packing anew for
_STACK = 2048  # siblings wait on each of a few levels


class Packed(NamedTuple):
    order: np.ndarray  # i8[n]  numbers of the boxes, as the runs of the lowest level have them
    boxes: np.ndarray  # f8[nodes, 4]
    firsts: np.ndarray  # i4[nodes]  where the run of children, or of boxes, begins
    counts: np.ndarray  # i4[nodes]
    levels: np.ndarray  # i8[height + 1]  where the nodes of each level begin, the lowest first


class Nodes(NamedTuple):
    boxes: np.ndarray  # f8[nodes, 4]
    bounds: np.ndarray  # f8[nodes]  the greatest score below
    firsts: np.ndarray  # i4[nodes]
    counts: np.ndarray  # i4[nodes]
    set_starts: np.ndarray  # i8[nodes + 1]
    sets: np.ndarray  # i4[...]
    rows: np.ndarray  # i4[n]  NIL for a hole
    waiting: np.ndarray  # i4[...]  rows that are not in the tree
    lowest: np.ndarray  # i8[1]


def pack(boxes: np.ndarray, fanout: int) -> Packed:
    """An R-tree over boxes by Sort-Tile-Recursive (Leutenegger, Lopez and Edgington, 1997)."""
    order = _tiled(boxes, fanout)
    sides, below = boxes[order], 0
    levels = [0]
    all_boxes: list[np.ndarray] = []
    all_firsts: list[np.ndarray] = []
    all_counts: list[np.ndarray] = []
    while len(sides) > 1 or (len(sides) and not all_boxes):
        firsts = np.arange(0, len(sides), fanout)
        counts = np.diff(np.append(firsts, len(sides)))
        low = np.minimum.reduceat(sides[:, :2], firsts)
        sides = np.column_stack((low, np.maximum.reduceat(sides[:, 2:], firsts)))
        tiled = _tiled(sides, fanout)
        sides = sides[tiled]
        all_boxes.append(sides)
        all_firsts.append(firsts[tiled] + below)
        all_counts.append(counts[tiled])
        below = levels[-1]
        levels.append(below + len(sides))
    return Packed(
        order,
        np.concatenate([np.empty((0, 4)), *all_boxes]),
        np.concatenate([np.empty(0, np.int32), *all_firsts]).astype(np.int32),
        np.concatenate([np.empty(0, np.int32), *all_counts]).astype(np.int32),
        np.array(levels),
    )


def _tiled(boxes: np.ndarray, fanout: int) -> np.ndarray:
    """The order of boxes by slabs of x, then by y; as many tiles in a slab as there are slabs."""
    finite = np.clip(boxes, -1e300, 1e300)
    x, y = finite[:, 0] + finite[:, 2], finite[:, 1] + finite[:, 3]
    tiles = -(-len(boxes) // fanout)
    slab = fanout * max(1, int(np.ceil(np.sqrt(tiles))))
    by_x = np.argsort(x, kind="stable")
    slabs = np.empty(len(boxes), np.int64)
    slabs[by_x] = np.arange(len(boxes)) // slab
    return np.lexsort((y, slabs))


class TokenRTree(SpatialTextIndex):
    def __init__(self, fanout: int = 32) -> None:
        """A node has up to `fanout` children, or subscriptions."""
        super().__init__()
        self._fanout = validation.as_count("fanout", fanout, 2)
        if self._fanout > 256:
            raise ValueError(f"fanout: got {fanout} when at most 256 was expected")
        self._holes = 0
        self._places = np.empty(0, np.int32)  # by row: where `nodes.rows` has it, or NIL
        self.visited = 0  # nodes, since the index was made
        self.nodes: Nodes
        self._pack(np.empty(0, np.int32))

    @property
    def structure_nbytes(self) -> int:
        return sum(array.nbytes for array in self.nodes) + self._places.nbytes

    def add_rows(self, rows: np.ndarray) -> None:
        waiting = np.concatenate((self.nodes.waiting, rows))
        if len(waiting) > _FEW + len(self.records) // 64:
            self._pack(self.records.live())
            return
        self.nodes = self.nodes._replace(waiting=waiting)
        self._place()

    def remove_rows(self, rows: np.ndarray) -> None:
        places = self._places[rows]
        self.nodes.rows[places[places != NIL]] = NIL
        self._places[rows] = NIL
        self._holes += int((places != NIL).sum())
        kept = ~np.isin(self.nodes.waiting, rows)
        self.nodes = self.nodes._replace(waiting=self.nodes.waiting[kept])
        if self._holes > _FEW + len(self.nodes.rows) // 2:
            self._pack(np.setdiff1d(self.records.live(), rows))

    def rebuild(self) -> None:
        self.records.rearrange(self.records.live())
        self._pack(self.records.live())

    def _match(self, messages: Messages) -> tuple[np.ndarray, np.ndarray]:
        words = self.dictionary.size // 64 + 1
        table = self.records.table
        ids, starts, visited = _match_all(self.nodes, table, messages, words)
        self.visited += visited
        return ids, starts

    def _rank(self, messages: Messages, table: HitTable) -> None:
        words = self.dictionary.size // 64 + 1
        self.visited += _rank_all(self.nodes, self.records.table, messages, words, table)

    def _tokens(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The tokens by which nodes know rows, and of which row each is, by its place here."""
        raise NotImplementedError

    def _pack(self, rows: np.ndarray) -> None:
        table = self.records.table
        packed = pack(table.boxes[rows], self._fanout)
        rows = rows[packed.order].astype(np.int32)
        # To be summed up: scores and tokens of rows, then of nodes, one level after another.
        scores = table.scores[rows]
        tokens, owners = self._tokens(rows)
        bounds, sets, below = [np.empty(0)], [np.empty(0, np.int64)], 0
        for first, stop in itertools.pairwise(packed.levels.tolist()):
            counts = packed.counts[first:stop]
            starts = np.cumsum(counts) - counts
            shifts = np.repeat(packed.firsts[first:stop] - below - starts, counts)
            children = shifts + np.arange(len(scores))  # of the nodes of this level, in their order
            parents = np.empty(len(scores), np.int64)
            parents[children] = np.repeat(np.arange(first, stop), counts)
            scores = np.maximum.reduceat(scores[children], starts)
            bounds.append(scores)
            pairs = np.unique(parents[owners] << 32 | tokens)
            sets.append(pairs)
            tokens, owners = pairs & 0xFFFFFFFF, (pairs >> 32) - first
            below = first
        pairs = np.concatenate(sets)
        sizes = np.bincount(pairs >> 32, minlength=len(packed.boxes))
        self.nodes = Nodes(
            boxes=packed.boxes,
            bounds=np.concatenate(bounds),
            firsts=packed.firsts,
            counts=packed.counts,
            set_starts=np.concatenate(([0], np.cumsum(sizes))),
            sets=(pairs & 0xFFFFFFFF).astype(np.int32),
            rows=rows,
            waiting=np.empty(0, np.int32),
            lowest=packed.levels[1:2] if len(rows) else np.zeros(1, np.int64),
        )
        self._holes = 0
        self._place()

    def _place(self) -> None:
        """Know where rows are, also of those that are new."""
        if len(self._places) != self.records.capacity or not len(self.nodes.waiting):
            self._places = np.full(self.records.capacity, NIL, np.int32)
            held = np.flatnonzero(self.nodes.rows != NIL)
            self._places[self.nodes.rows[held]] = held

    def check_structure(self) -> None:
        t, table, live = self.nodes, self.records.table, self.records.live()
        held = t.rows[t.rows != NIL]
        assert sorted([*held, *t.waiting]) == live.tolist()
        assert self._holes == len(t.rows) - len(held)
        assert (t.rows[self._places[held]] == held).all()
        assert (self._places[t.waiting] == NIL).all()
        lowest = int(t.lowest[0])
        owned: list[int] = []
        for node in range(len(t.boxes)):
            below = range(t.firsts[node], t.firsts[node] + t.counts[node])
            tokens = t.sets[t.set_starts[node] : t.set_starts[node + 1]]
            assert 0 < t.counts[node] <= self._fanout
            assert (np.diff(tokens) > 0).all()
            if node < lowest:
                rows = t.rows[below]
                rows = rows[rows != NIL]
                boxes, scores = table.boxes[rows], table.scores[rows]
                columns = self.records.export(rows)
                said = np.isin(columns.tokens, tokens)
                known = columns.tokens[said]
                assert len(rows) == 0 or np.logical_or.reduceat(said, columns.starts[:-1]).all()
            else:
                owned += below
                boxes, scores = t.boxes[below], t.bounds[below]
                runs = [t.sets[t.set_starts[child] : t.set_starts[child + 1]] for child in below]
                known = np.concatenate(runs)
            assert np.isin(known, tokens).all()
            assert (t.boxes[node, :2] <= boxes[:, :2]).all()
            assert (t.boxes[node, 2:] >= boxes[:, 2:]).all()
            assert (t.bounds[node] >= scores).all()
        assert sorted(owned) == list(range(max(len(t.boxes) - 1, 0)))


class RtTree(TokenRTree):
    """
    >>> tree = RtTree.build([4, 1], [(20, 10, 28, 18), (25, 0, 30, 20)], [["b", "c"], ["a", "b"]])
    >>> tree.match((26, 14, 26, 14), ["b", "c", "d"])
    [4]
    """

    def _tokens(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        keys = keys_of(self.records.table, rows, self.dictionary.frequencies)
        return keys.astype(np.int64), np.arange(len(rows))


class InvertedRTree(TokenRTree):
    """
    >>> tree = InvertedRTree.build([1, 2], [(0, 0, 1, 1), (1, 1, 2, 2)], [["a"], ["a", "b"]])
    >>> tree.match((1, 1, 1, 1), ["a", "c"])
    [1]
    """

    def _tokens(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        columns = self.records.export(rows)
        return columns.tokens.astype(np.int64), np.repeat(
            np.arange(len(rows)), np.diff(columns.starts)
        )


@fused
def _is_said(said, token):
    return said[token >> 6] >> (token & 63) & 1


@bare
def _has_a_token(t, node, messages, i, said):
    """Whether a message has a token of a node, by the cheaper way of looking (§3.3)."""
    start, stop = t.set_starts[node], t.set_starts[node + 1]
    first, end = messages.starts[i], messages.starts[i + 1]
    if (end - first) * (highest_bit(stop - start + 1) + 1) < stop - start:
        for place in range(first, end):
            token, low, high = messages.tokens[place], start, stop
            while low < high:
                middle = (low + high) // 2
                if t.sets[middle] < token:
                    low = middle + 1
                else:
                    high = middle
            if low < stop and t.sets[low] == token:
                return True
        return False
    at = start
    while at < stop and not _is_said(said, t.sets[at]):
        at += 1
    return at < stop


@bare
def _nodes_to_visit(t, node, messages, i, said, stack, end):
    """Put the children that a message has to visit on the stack; where it ends then."""
    box = messages.boxes[i]
    for child in range(t.firsts[node], t.firsts[node] + t.counts[node]):
        if boxes_meet(t.boxes, child, box) and _has_a_token(t, child, messages, i, said):
            stack[end] = child
            end += 1
    return end


@fused
def _row_matches(table, row, box, said):
    if row == NIL or not boxes_meet(table.boxes, row, box):
        return False
    for place in range(table.starts[row], table.starts[row] + table.sizes[row]):
        if not _is_said(said, table.tokens[place]):
            return False
    return True


@fused
def _say(said, messages, i, wanted):
    for at in range(messages.starts[i], messages.starts[i + 1]):
        word, bit = messages.tokens[at] >> 6, np.int64(1) << (messages.tokens[at] & 63)
        said[word] = said[word] | bit if wanted else 0


@fused
def _enter(t, messages, i, said, stack):
    """Start at the root, if it is to be visited at all."""
    root = len(t.boxes) - 1
    if root < 0 or messages.starts[i] == messages.starts[i + 1]:
        return 0
    if not boxes_meet(t.boxes, root, messages.boxes[i]):
        return 0
    stack[0] = root
    return 1 if _has_a_token(t, root, messages, i, said) else 0


@njit(cache=True, nogil=True)
def _match_all(t, table, messages, words):
    said, stack = np.zeros(words, np.int64), np.empty(_STACK, np.int32)
    ids = np.empty(256, np.int64)
    starts = np.zeros(len(messages.boxes) + 1, np.int64)
    visited = 0
    most = len(t.waiting)
    for node in range(t.lowest[0]):
        most = max(most, t.counts[node])
    for i in range(len(messages.boxes)):
        box = messages.boxes[i]
        _say(said, messages, i, True)
        end, found = _enter(t, messages, i, said, stack), starts[i]
        rows = t.waiting if messages.starts[i + 1] > messages.starts[i] else t.waiting[:0]
        first, stop = 0, len(rows)
        while True:
            if found + most > len(ids):
                ids = np.concatenate((ids[:found], np.empty(found + most, np.int64)))
            for at in range(first, stop):
                if _row_matches(table, rows[at], box, said):
                    ids[found] = table.ids[rows[at]]
                    found += 1
            if end == 0:
                break
            end -= 1
            node = stack[end]
            visited += 1
            first = stop = 0
            if node < t.lowest[0]:
                rows, first, stop = t.rows, t.firsts[node], t.firsts[node] + t.counts[node]
            else:
                end = _nodes_to_visit(t, node, messages, i, said, stack, end)
        _say(said, messages, i, False)
        ids[starts[i] : found].sort()
        starts[i + 1] = found
    return ids[: starts[-1]], starts, visited


@njit(cache=True, nogil=True)
def _rank_all(t, table, messages, words, answers):
    said, stack = np.zeros(words, np.int64), np.empty(_STACK, np.int32)
    k = answers.ids.shape[1]
    visited = 0
    for i in range(len(messages.boxes)):
        box = messages.boxes[i]
        _say(said, messages, i, True)
        ids, scores = answers.ids[i], answers.scores[i]
        end, size = _enter(t, messages, i, said, stack), 0
        rows = t.waiting if messages.starts[i + 1] > messages.starts[i] else t.waiting[:0]
        first, stop = 0, len(rows)
        while True:
            for at in range(first, stop):
                if _row_matches(table, rows[at], box, said):
                    score = table.scores[rows[at]]
                    size = offer(ids, scores, size, table.ids[rows[at]], score)
            if end == 0:
                break
            end -= 1
            node = stack[end]
            first = stop = 0
            if size == k and t.bounds[node] < scores[0]:
                continue
            visited += 1
            if node < t.lowest[0]:
                rows, first, stop = t.rows, t.firsts[node], t.firsts[node] + t.counts[node]
            else:
                end = _nodes_to_visit(t, node, messages, i, said, stack, end)
        _say(said, messages, i, False)
        sort_best_first(ids, scores, size)
        answers.counts[i] = size
    return visited
