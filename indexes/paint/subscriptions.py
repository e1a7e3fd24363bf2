"""The subscriptions of a Paint server: ranges as points (low, high), found by rectangles.

A bucketed k-d tree.  Every node knows the smallest box around its points, so that `snap` (the Paint
paper, §II-B) takes the box of a node that lies inside the rectangle as it is, and leaves out a node
whose share of the rectangle would not enlarge what it has: it goes down to the four extreme points
only.  Nodes need no split value to be searched; that of an inner node only says where a new point
goes, so equal points, of which there may be any number, lie on both sides.

    node    box, count of points, parent; an inner one has two children, a leaf has a bucket
    bucket  up to B points, in no order, each with its row
    row     one per subscription: id, bucket and place in it (see `indexes.row_table`)

A full bucket is cut at the median of its longer side; two leaves that fill half a bucket together
become one.  A leaf deeper than twice the depth of a balanced tree has an ancestor whose points lie
mostly on one side: that part is built anew (a scapegoat tree).
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from indexes.id_map import check_slots, empty_slots, find, find_many, link, link_many, unlink
from indexes.kernels import NIL
from indexes.kernels.decorators import bare, fused, inner
from indexes.row_table import LIVE, USED, check_rows, give_back_row, live_rows, new_state, take_row
from indexes.validation import (
    as_bound_array,
    as_count,
    as_id,
    as_id_array,
    require_ordered,
    require_same_length,
)

__all__ = [
    "Rectangle", "SubscriptionArrays", "SubscriptionIndex", "Subscriptions", "apex", "has_stranger",
    "points_inside", "rows_inside", "snap_all",
]  # fmt: skip

BUCKET = 32
ROOT, FREE_NODES, FREE_BUCKETS = range(3)  # fields of `tree`
LOW_MIN, LOW_MAX, HIGH_MIN, HIGH_MAX = range(4)  # of a box
STACK = 256  # deeper than any tree: twice the depth of a balanced one of 2**31 buckets

Rectangle = tuple[float, float, float, float]  # low_min, low_max, high_min, high_max; closed


class Subscriptions(NamedTuple):
    """What kernels take."""

    box: np.ndarray  # f8[nodes, 4]
    counts: np.ndarray  # i8[nodes]
    parent: np.ndarray  # i4[nodes]
    child: np.ndarray  # i4[nodes, 2]  NIL: a leaf
    bucket: np.ndarray  # i4[nodes]  of a leaf
    side: np.ndarray  # i1[nodes]  0: an inner node is split by lows, 1: by highs
    split: np.ndarray  # f8[nodes]  points below go to the first child, those above to the second
    free_nodes: np.ndarray  # i4[nodes]  a stack
    points: np.ndarray  # f8[buckets, 2, B]
    rows: np.ndarray  # i4[buckets, B]
    leaf: np.ndarray  # i4[buckets]  the node of a bucket
    free_buckets: np.ndarray  # i4[buckets]  a stack
    ids: np.ndarray  # i8[rows]
    place: np.ndarray  # i4[rows, 2]  bucket, and place in it
    id_slots: np.ndarray  # i4[]  rows by id, see `indexes.id_map`
    row_state: np.ndarray  # i8[3]  see `indexes.row_table`
    tree: np.ndarray  # i8[3]  root, heights of the two stacks
    stack: np.ndarray  # i4[STACK]  nodes that a search has yet to look at
    search: np.ndarray  # i4[STACK, 3]  ... for which of several rectangles: node, first, stop


class SubscriptionArrays(NamedTuple):
    ids: np.ndarray  # i8[n]  ascending
    lows: np.ndarray  # f8[n]
    highs: np.ndarray  # f8[n]


class SubscriptionIndex:
    """Ranges by id.

    >>> index = SubscriptionIndex()
    >>> index.insert_many([1, 2, 3], [0, 2, 4], [9, 5, 6])
    >>> index.snap((1, 9, 0, 9)), index.inside((0, 2, 5, 9))
    ((2.0, 4.0, 5.0, 6.0), [1, 2])
    """

    def __init__(self, capacity: int = 64, bucket: int = BUCKET) -> None:
        """Room for `capacity` subscriptions, at least, in buckets of `bucket`, at most."""
        self._bucket = as_count("bucket", bucket, least=2)
        self._s = _allocate(as_count("capacity", capacity, least=1), 2, self._bucket)

    @property
    def arrays(self) -> Subscriptions:
        """For kernels; growth replaces them, so ask anew after each change."""
        return self._s

    def __len__(self) -> int:
        return int(self._s.row_state[LIVE])

    def __contains__(self, id: int) -> bool:
        return bool(find(self._s.id_slots, self._s.ids, as_id(id)) != NIL)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self._s)

    def insert(self, id: int, low: float, high: float) -> None:
        self.insert_many([id], [low], [high])

    def insert_many(
        self, ids: ArrayLike | Sequence[int], lows: ArrayLike, highs: ArrayLike
    ) -> None:
        """Add subscriptions that are all new, or none."""
        new = as_id_array(ids)
        low, high = as_bound_array("lows", lows), as_bound_array("highs", highs)
        require_same_length(ids=new, lows=low, highs=high)
        require_ordered(low, high, "range")
        known = find_many(self._s.id_slots, self._s.ids, new) != NIL
        if known.any():
            raise KeyError(f"id {new[known][0]} is already subscribed; unsubscribe it first")
        if len(self) + len(new) > len(self._s.ids):
            self._grow_rows(len(self) + len(new))
        if len(new) > len(self):
            self._rebuild(new, low, high)
            return
        done = wanted = 0
        while True:
            done, wanted = _insert_many(self._s, new, low, high, done)
            if wanted:
                self._grow_tree(wanted)
            if done == len(new):
                return

    def delete(self, id: int) -> None:
        self.delete_many([id])

    def delete_many(self, ids: ArrayLike | Sequence[int]) -> None:
        """Take subscriptions out that are all known, or none."""
        gone = as_id_array(ids)
        unknown = find_many(self._s.id_slots, self._s.ids, gone) == NIL
        if unknown.any():
            raise KeyError(f"id {gone[unknown][0]} is not subscribed; a known one was expected")
        _delete_many(self._s, gone)

    def range_of(self, id: int) -> tuple[float, float]:
        row = int(find(self._s.id_slots, self._s.ids, as_id(id)))
        if row == NIL:
            raise KeyError(f"id {id} is not subscribed; a known one was expected")
        low, high = _points_of(self._s, np.array([row], np.int64))
        return float(low[0]), float(high[0])

    def snap(self, rectangle: Rectangle) -> Rectangle | None:
        """The smallest rectangle around the subscriptions inside a rectangle."""
        found = np.empty((1, 4))
        _snap_one(self._s, np.array([as_rectangle(rectangle)]), found)
        low_min, low_max, high_min, high_max = found[0].tolist()
        return (low_min, low_max, high_min, high_max) if low_min <= low_max else None

    def inside(self, rectangle: Rectangle) -> list[int]:
        """The ids of the subscriptions inside a rectangle, ascending."""
        rows = rows_inside(self._s, *as_rectangle(rectangle))
        return np.sort(self._s.ids[rows]).tolist()

    def count(self, rectangle: Rectangle) -> int:
        return int(_count(self._s, *as_rectangle(rectangle)))

    def count_many(self, rectangles: np.ndarray) -> np.ndarray:
        """How many subscriptions are inside each rectangle, a row of four."""
        return _count_many(self._s, rectangles)

    def to_arrays(self) -> SubscriptionArrays:
        rows = live_rows(self._s.ids, self._s.row_state).astype(np.int64)
        rows = rows[np.argsort(self._s.ids[rows])]
        return SubscriptionArrays(self._s.ids[rows], *_points_of(self._s, rows))

    @classmethod
    def from_arrays(cls, arrays: SubscriptionArrays, bucket: int = BUCKET) -> Self:
        index = cls(bucket=bucket)
        index.insert_many(*arrays)
        return index

    def _grow_rows(self, rows: int) -> None:
        capacity = max(rows, len(self._s.ids) + len(self._s.ids) // 2 + 1)
        used = int(self._s.row_state[USED])
        ids, place = np.empty(capacity, np.int64), np.empty((capacity, 2), np.int32)
        ids[:used], place[:used] = self._s.ids[:used], self._s.place[:used]
        slots = empty_slots(capacity)
        link_many(slots, ids, live_rows(ids, self._s.row_state))
        self._s = self._s._replace(ids=ids, place=place, id_slots=slots)

    def _grow_tree(self, wanted: int) -> None:
        """Room for half as many buckets again, and for so many at least."""
        old, had = self._s, len(self._s.leaf)
        new = _allocate_tree(had + max(had // 2, wanted) + 1, self._bucket)
        for name in ("box", "counts", "parent", "child", "bucket", "side", "split"):
            getattr(new, name)[: len(old.counts)] = getattr(old, name)
        for name in ("points", "rows", "leaf"):
            getattr(new, name)[:had] = getattr(old, name)
        _refill(new.free_nodes, old.free_nodes, new.tree, old.tree, FREE_NODES)
        _refill(new.free_buckets, old.free_buckets, new.tree, old.tree, FREE_BUCKETS)
        new.tree[ROOT] = old.tree[ROOT]
        self._s = new._replace(
            ids=old.ids, place=old.place, id_slots=old.id_slots, row_state=old.row_state
        )

    def _rebuild(self, ids: np.ndarray, lows: np.ndarray, highs: np.ndarray) -> None:
        """Add many subscriptions: all of them are put into a new tree."""
        old = live_rows(self._s.ids, self._s.row_state).astype(np.int64)
        old_low, old_high = _points_of(self._s, old)
        new = np.empty(len(ids), np.int64)
        _take_rows(self._s, ids, new)
        rows = np.concatenate([old, new])
        tree = _allocate_tree(_buckets_for(len(rows), self._bucket) + 2, self._bucket)
        self._s = tree._replace(
            ids=self._s.ids,
            place=self._s.place,
            id_slots=self._s.id_slots,
            row_state=self._s.row_state,
        )
        points = np.stack([np.concatenate([old_low, lows]), np.concatenate([old_high, highs])])
        self._s.tree[ROOT] = _build(self._s, points, rows.astype(np.int32), NIL)

    def check(self) -> None:
        """Raise `AssertionError` unless every structural invariant holds."""
        s = self._s
        check_rows(s.ids, s.row_state)
        live = live_rows(s.ids, s.row_state).astype(np.int64)
        check_slots(s.id_slots, s.ids, live)
        nodes, buckets, held = set(), set(), set()
        waiting = [int(s.tree[ROOT])] if s.tree[ROOT] != NIL else []
        while waiting:
            node = waiting.pop()
            assert node not in nodes
            nodes.add(node)
            if s.child[node, 0] == NIL:
                bucket, count = int(s.bucket[node]), int(s.counts[node])
                assert 1 <= count <= self._bucket
                assert s.leaf[bucket] == node
                buckets.add(bucket)
                points = s.points[bucket, :, :count]
                for place, row in enumerate(s.rows[bucket, :count].tolist()):
                    assert s.place[row].tolist() == [bucket, place]
                    held.add(row)
                box = [points[0].min(), points[0].max(), points[1].min(), points[1].max()]
            else:
                first, second = s.child[node].tolist()
                assert s.parent[first] == s.parent[second] == node
                assert s.counts[node] == s.counts[first] + s.counts[second]
                side = int(s.side[node])
                assert s.box[first, 2 * side + 1] <= s.split[node] <= s.box[second, 2 * side]
                waiting += [first, second]
                pair = s.box[[first, second]]
                lows, highs = pair.min(axis=0), pair.max(axis=0)
                box = [lows[LOW_MIN], highs[LOW_MAX], lows[HIGH_MIN], highs[HIGH_MAX]]
            assert s.box[node].tolist() == box
        assert held == set(live.tolist())
        free_nodes = s.free_nodes[: s.tree[FREE_NODES]].tolist()
        free_buckets = s.free_buckets[: s.tree[FREE_BUCKETS]].tolist()
        assert sorted([*nodes, *free_nodes]) == list(range(len(s.counts)))
        assert sorted([*buckets, *free_buckets]) == list(range(len(s.leaf)))


def as_rectangle(rectangle: Rectangle) -> Rectangle:
    box = as_bound_array("rectangle", rectangle)
    if len(box) != 4 or box[0] > box[1] or box[2] > box[3]:
        raise ValueError(
            f"rectangle: got {rectangle} when low_min <= low_max, high_min <= high_max was expected"
        )
    low_min, low_max, high_min, high_max = box.tolist()
    return low_min, low_max, high_min, high_max


def _allocate(rows: int, buckets: int, bucket: int) -> Subscriptions:
    return _allocate_tree(buckets, bucket)._replace(
        ids=np.empty(rows, np.int64),
        place=np.empty((rows, 2), np.int32),
        id_slots=empty_slots(rows),
    )


def _allocate_tree(buckets: int, bucket: int) -> Subscriptions:
    """An empty tree with no rows; one of so many leaves has one inner node less."""
    nodes = 2 * buckets
    return Subscriptions(
        box=np.empty((nodes, 4)),
        counts=np.zeros(nodes, np.int64),
        parent=np.empty(nodes, np.int32),
        child=np.empty((nodes, 2), np.int32),
        bucket=np.empty(nodes, np.int32),
        side=np.empty(nodes, np.int8),
        split=np.empty(nodes),
        free_nodes=np.arange(nodes, dtype=np.int32)[::-1].copy(),
        points=np.empty((buckets, 2, bucket)),
        rows=np.empty((buckets, bucket), np.int32),
        leaf=np.empty(buckets, np.int32),
        free_buckets=np.arange(buckets, dtype=np.int32)[::-1].copy(),
        ids=np.empty(0, np.int64),
        place=np.empty((0, 2), np.int32),
        id_slots=empty_slots(0),
        row_state=new_state(),
        tree=np.array([NIL, nodes, buckets], np.int64),
        stack=np.empty(STACK, np.int32),
        search=np.empty((STACK, 3), np.int32),
    )


def _refill(
    new: np.ndarray, old: np.ndarray, state: np.ndarray, old_state: np.ndarray, field: int
) -> None:
    """The stack of free ones after growth: the new ones below those that were free before."""
    more, height = len(new) - len(old), int(old_state[field])
    new[:more] = np.arange(len(old), len(new))[::-1]
    new[more : more + height] = old[:height]
    state[field] = more + height


@njit(cache=True)
def _buckets_for(points, bucket):
    """How many buckets `_build` needs at most: it leaves them between a third and two full."""
    return max(1, 3 * points // bucket + 1)


@njit(cache=True)
def _take_rows(s, ids, rows):
    for i in range(len(ids)):
        row = take_row(s.ids, s.row_state)
        s.ids[row] = ids[i]
        link(s.id_slots, s.ids, row)
        rows[i] = row


@njit(cache=True)
def _points_of(s, rows):
    lows, highs = np.empty(len(rows)), np.empty(len(rows))
    for i in range(len(rows)):
        bucket, place = s.place[rows[i], 0], s.place[rows[i], 1]
        lows[i], highs[i] = s.points[bucket, 0, place], s.points[bucket, 1, place]
    return lows, highs


@fused
def _pop(free, tree, field):
    tree[field] -= 1
    return free[tree[field]]


@fused
def _push(free, tree, field, one):
    free[tree[field]] = one
    tree[field] += 1


@fused
def _sortable(value):
    """A key for choosing a side: infinite ends count as far away, not as nan."""
    return min(max(value, -1e300), 1e300)


@njit(cache=True, nogil=True)
def _build(s, points, rows, parent):
    """A subtree of the given points, whose nodes and buckets are taken from the free ones."""
    width = s.rows.shape[1]
    full = max(1, 2 * width // 3)
    root = _pop(s.free_nodes, s.tree, FREE_NODES)
    s.parent[root] = parent
    nodes, starts, stops = [np.int64(root)], [0], [len(rows)]
    order = np.arange(len(rows))
    while len(nodes):
        node, start, stop = nodes.pop(), starts.pop(), stops.pop()
        s.counts[node] = stop - start
        part = order[start:stop]
        box = s.box[node]
        _empty_box(box)
        for i in part:
            _enlarge(box, points[0, i], points[1, i])
        if stop - start <= full:
            bucket = _pop(s.free_buckets, s.tree, FREE_BUCKETS)
            s.child[node, 0] = NIL
            s.bucket[node] = bucket
            s.leaf[bucket] = node
            for place in range(stop - start):
                _set_point(s, bucket, place, points[0, part[place]], points[1, part[place]])
                _set_row(s, bucket, place, rows[part[place]])
            continue
        side = _longer_side(box)
        half = (stop - start) // 2
        _select(part, points[side], half)
        s.side[node] = side
        s.split[node] = points[side, part[half]]
        for i in range(2):
            child = _pop(s.free_nodes, s.tree, FREE_NODES)
            s.parent[child] = node
            s.child[node, i] = child
            nodes.append(np.int64(child))
            starts.append(start if i == 0 else start + half)
            stops.append(start + half if i == 0 else stop)
    return root


@inner
def _select(part, values, k):
    """Order `part` so that those before place k have no greater value than those from it on."""
    low, high = 0, len(part) - 1
    while low < high:
        pivot = values[part[(low + high) // 2]]
        i, j = low, high
        while i <= j:
            while values[part[i]] < pivot:
                i += 1
            while values[part[j]] > pivot:
                j -= 1
            if i <= j:
                part[i], part[j] = part[j], part[i]
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            return


@fused
def _longer_side(box):
    lows = _sortable(box[LOW_MAX]) - _sortable(box[LOW_MIN])
    highs = _sortable(box[HIGH_MAX]) - _sortable(box[HIGH_MIN])
    return 0 if lows >= highs else 1


@fused
def _empty_box(box):
    box[LOW_MIN], box[LOW_MAX], box[HIGH_MIN], box[HIGH_MAX] = np.inf, -np.inf, np.inf, -np.inf


@fused
def _enlarge(box, low, high):
    box[LOW_MIN] = min(box[LOW_MIN], low)
    box[LOW_MAX] = max(box[LOW_MAX], low)
    box[HIGH_MIN] = min(box[HIGH_MIN], high)
    box[HIGH_MAX] = max(box[HIGH_MAX], high)


@fused
def _set_point(s, bucket, place, low, high):
    s.points[bucket, 0, place] = low
    s.points[bucket, 1, place] = high


@fused
def _set_row(s, bucket, place, row):
    s.rows[bucket, place] = row
    s.place[row, 0] = bucket
    s.place[row, 1] = place


@njit(cache=True, nogil=True)
def _insert_many(s, ids, lows, highs, done):
    """Add subscriptions from `done` on, as long as there is room.

    Returns how many are in by now, and how many free buckets are wanted before the next.
    """
    for i in range(done, len(ids)):
        if s.tree[FREE_BUCKETS] < 1 or s.tree[FREE_NODES] < 2:
            return i, 1
        row = take_row(s.ids, s.row_state)
        s.ids[row] = ids[i]
        link(s.id_slots, s.ids, row)
        node = _add_point(s, row, lows[i], highs[i])
        wanted = _mend_depth(s, node)
        if wanted:
            return i + 1, wanted
    return len(ids), 0


@inner
def _add_point(s, row, low, high):
    """Put a point into the tree; returns the leaf that has it."""
    node = s.tree[ROOT]
    if node == NIL:
        node = np.int64(_pop(s.free_nodes, s.tree, FREE_NODES))
        s.tree[ROOT] = node
        s.parent[node] = NIL
        _new_leaf(s, node)
    while True:
        s.counts[node] += 1
        _enlarge(s.box[node], low, high)
        if s.child[node, 0] == NIL:
            break
        value = low if s.side[node] == 0 else high
        first, second = s.child[node, 0], s.child[node, 1]
        if value == s.split[node]:
            node = np.int64(first if s.counts[first] < s.counts[second] else second)
        else:
            node = np.int64(first if value < s.split[node] else second)
    if s.counts[node] > s.rows.shape[1]:
        s.counts[node] -= 1
        node = _split_leaf(s, node, low, high)
        s.counts[node] += 1
        _enlarge(s.box[node], low, high)
    bucket = s.bucket[node]
    _set_point(s, bucket, s.counts[node] - 1, low, high)
    _set_row(s, bucket, s.counts[node] - 1, row)
    return node


@inner
def _new_leaf(s, node):
    bucket = _pop(s.free_buckets, s.tree, FREE_BUCKETS)
    s.child[node, 0] = NIL
    s.bucket[node] = bucket
    s.leaf[bucket] = node
    s.counts[node] = 0
    box = s.box[node]
    _empty_box(box)


@inner
def _split_leaf(s, node, low, high):
    """Cut a full leaf in two at the median; returns the half that a new point belongs to."""
    bucket, width = s.bucket[node], s.rows.shape[1]
    side = _longer_side(s.box[node])
    part, half = np.arange(width), width // 2
    values = s.points[bucket, side].copy()
    _select(part, values, half)
    points, rows = s.points[bucket].copy(), s.rows[bucket].copy()
    first = np.int64(_pop(s.free_nodes, s.tree, FREE_NODES))
    second = np.int64(_pop(s.free_nodes, s.tree, FREE_NODES))
    s.parent[first], s.parent[second] = node, node
    _push(s.free_buckets, s.tree, FREE_BUCKETS, bucket)
    for child in (first, second):
        _new_leaf(s, child)
    for i in range(width):
        child = first if i < half else second
        place = s.counts[child]
        _set_point(s, s.bucket[child], place, points[0, part[i]], points[1, part[i]])
        _set_row(s, s.bucket[child], place, rows[part[i]])
        _enlarge(s.box[child], points[0, part[i]], points[1, part[i]])
        s.counts[child] += 1
    s.child[node, 0], s.child[node, 1] = first, second
    s.side[node], s.split[node] = side, values[part[half]]
    s.counts[node] = width + 1
    value = low if side == 0 else high
    return first if value < s.split[node] else second


@inner
def _mend_depth(s, leaf):
    """Build the part anew above a leaf that is too deep.

    Returns 0, or how many free buckets that takes; then the next insertion there does it.
    """
    depth, node, most = 0, leaf, 8
    points = s.counts[s.tree[ROOT]]
    while points > 1:
        points //= 2
        most += 2
    while s.parent[node] != NIL:
        node = s.parent[node]
        depth += 1
    if depth <= most:
        return 0
    node = leaf
    while s.parent[node] != NIL:
        node = s.parent[node]
        largest = max(s.counts[s.child[node, 0]], s.counts[s.child[node, 1]])
        if 10 * largest > 7 * s.counts[node] and s.counts[node] > 4 * s.rows.shape[1]:
            break
    needed = _buckets_for(s.counts[node], s.rows.shape[1])
    if s.tree[FREE_BUCKETS] < needed or s.tree[FREE_NODES] < 2 * needed:
        return needed
    points, rows = _release(s, node)
    parent = s.parent[node]
    fresh = _build(s, points, rows, parent)
    if parent == NIL:
        s.tree[ROOT] = fresh
    else:
        s.child[parent, 0 if s.child[parent, 0] == node else 1] = fresh
    return 0


@inner
def _release(s, top):
    """The points and rows of a subtree, whose nodes and buckets are free from now on."""
    points, rows = np.empty((2, s.counts[top])), np.empty(s.counts[top], np.int32)
    used, waiting = 0, [np.int64(top)]
    while len(waiting):
        node = waiting.pop()
        if s.child[node, 0] == NIL:
            bucket = s.bucket[node]
            for place in range(s.counts[node]):
                points[0, used] = s.points[bucket, 0, place]
                points[1, used] = s.points[bucket, 1, place]
                rows[used] = s.rows[bucket, place]
                used += 1
            _push(s.free_buckets, s.tree, FREE_BUCKETS, bucket)
        else:
            waiting.append(np.int64(s.child[node, 0]))
            waiting.append(np.int64(s.child[node, 1]))
        _push(s.free_nodes, s.tree, FREE_NODES, node)
    return points, rows


@njit(cache=True, nogil=True)
def _delete_many(s, ids):
    for i in range(len(ids)):
        row = np.int64(find(s.id_slots, s.ids, ids[i]))
        unlink(s.id_slots, s.ids, ids[i])
        bucket, place = s.place[row, 0], s.place[row, 1]
        node = np.int64(s.leaf[bucket])
        last = s.counts[node] - 1
        if place != last:
            _set_point(s, bucket, place, s.points[bucket, 0, last], s.points[bucket, 1, last])
            _set_row(s, bucket, place, s.rows[bucket, last])
        give_back_row(s.ids, s.row_state, row)
        s.counts[node] = last
        _shrink(s, node)


@inner
def _shrink(s, leaf):
    """Boxes and counts above a leaf that has lost a point; leaves that are nearly empty join."""
    node = np.int64(leaf)
    if s.counts[leaf] > 0:
        _fit_leaf(s, leaf)
    elif s.parent[leaf] == NIL:
        _push(s.free_buckets, s.tree, FREE_BUCKETS, s.bucket[leaf])
        _push(s.free_nodes, s.tree, FREE_NODES, leaf)
        s.tree[ROOT] = NIL
        return
    if s.parent[leaf] != NIL:
        node = _join(s, np.int64(s.parent[leaf]), leaf)
    while s.parent[node] != NIL:
        node = np.int64(s.parent[node])
        _fit_inner(s, node)


@inner
def _fit_leaf(s, leaf):
    box, bucket = s.box[leaf], s.bucket[leaf]
    _empty_box(box)
    for place in range(s.counts[leaf]):
        _enlarge(box, s.points[bucket, 0, place], s.points[bucket, 1, place])


@inner
def _fit_inner(s, node):
    first, second = s.child[node, 0], s.child[node, 1]
    box, one, other = s.box[node], s.box[first], s.box[second]
    box[LOW_MIN] = min(one[LOW_MIN], other[LOW_MIN])
    box[LOW_MAX] = max(one[LOW_MAX], other[LOW_MAX])
    box[HIGH_MIN] = min(one[HIGH_MIN], other[HIGH_MIN])
    box[HIGH_MAX] = max(one[HIGH_MAX], other[HIGH_MAX])
    s.counts[node] = s.counts[first] + s.counts[second]


@inner
def _join(s, parent, leaf):
    """Let a leaf's parent do without it, or with both its leaves as one; returns what is right."""
    first = np.int64(s.child[parent, 0])
    second = np.int64(s.child[parent, 1])
    other = second if first == leaf else first
    if s.counts[leaf] == 0:
        grandparent = s.parent[parent]
        s.parent[other] = grandparent
        if grandparent == NIL:
            s.tree[ROOT] = other
        else:
            s.child[grandparent, 0 if s.child[grandparent, 0] == parent else 1] = other
        _push(s.free_buckets, s.tree, FREE_BUCKETS, s.bucket[leaf])
        _push(s.free_nodes, s.tree, FREE_NODES, leaf)
        _push(s.free_nodes, s.tree, FREE_NODES, parent)
        return other
    if s.child[other, 0] != NIL or 2 * (s.counts[leaf] + s.counts[other]) > s.rows.shape[1]:
        return leaf
    bucket = s.bucket[leaf]
    for place in range(s.counts[other]):
        source, target = s.bucket[other], s.counts[leaf] + place
        _set_point(s, bucket, target, s.points[source, 0, place], s.points[source, 1, place])
        _set_row(s, bucket, target, s.rows[source, place])
    s.counts[parent] = s.counts[leaf] + s.counts[other]
    s.child[parent, 0] = NIL
    s.bucket[parent] = bucket
    s.leaf[bucket] = parent
    _push(s.free_buckets, s.tree, FREE_BUCKETS, s.bucket[other])
    _push(s.free_nodes, s.tree, FREE_NODES, leaf)
    _push(s.free_nodes, s.tree, FREE_NODES, other)
    _fit_leaf(s, parent)
    return parent


@fused
def _misses(box, low_min, low_max, high_min, high_max):
    return (
        box[LOW_MIN] > low_max
        or box[LOW_MAX] < low_min
        or box[HIGH_MIN] > high_max
        or box[HIGH_MAX] < high_min
    )


@fused
def _lies_in(box, low_min, low_max, high_min, high_max):
    return (
        box[LOW_MIN] >= low_min
        and box[LOW_MAX] <= low_max
        and box[HIGH_MIN] >= high_min
        and box[HIGH_MAX] <= high_max
    )


@fused
def _has(low, high, low_min, low_max, high_min, high_max):
    return low_min <= low <= low_max and high_min <= high <= high_max


@bare
def snap_all(s, rectangles, count, found):
    """Write the smallest box around the points of each rectangle; where none are, low > high.

    The first `count` rectangles are searched for together: those of one object lie so close to each
    other that they share most nodes.  They descend by low, and no two have a low in common.
    """
    for i in range(count):
        _empty_box(found[i])
    _search(s, rectangles, count, found, 1)


@bare
def apex(s, rectangles, count, found):
    """The least low and the greatest high of the points of all rectangles; (inf, -inf): none."""
    # The other two sides cannot be enlarged, so that nothing is looked at for their sake.
    found[0, LOW_MIN], found[0, LOW_MAX] = np.inf, np.inf
    found[0, HIGH_MIN], found[0, HIGH_MAX] = -np.inf, -np.inf
    _search(s, rectangles, count, found, 0)
    return found[0, LOW_MIN], found[0, HIGH_MAX]


@bare
def _search(s, rectangles, count, found, own):
    """Enlarge boxes by the points in rectangles: each has its own (1), or all share the first."""
    height = 0
    if s.tree[ROOT] != NIL:
        height = _push_search(s, 0, s.tree[ROOT], 0, count)
    while height:
        height -= 1
        node, first, stop = s.search[height, 0], s.search[height, 1], s.search[height, 2]
        box, wanted = s.box[node], False
        while first < stop and rectangles[first, LOW_MIN] > box[LOW_MAX]:
            first += 1
        while first < stop and rectangles[stop - 1, LOW_MAX] < box[LOW_MIN]:
            stop -= 1
        for i in range(first, stop):
            if _would_enlarge(box, rectangles[i], found[own * i]):
                if _lies_in(box, *_sides(rectangles[i])):
                    _enlarge(found[own * i], box[LOW_MIN], box[HIGH_MIN])
                    _enlarge(found[own * i], box[LOW_MAX], box[HIGH_MAX])
                else:
                    wanted = True
        if not wanted:
            continue
        if s.child[node, 0] == NIL:
            bucket = s.bucket[node]
            for place in range(s.counts[node]):
                low, high = s.points[bucket, 0, place], s.points[bucket, 1, place]
                i = first
                while i < stop and rectangles[i, LOW_MIN] > low:
                    i += 1
                if i < stop and _has(low, high, *_sides(rectangles[i])):
                    _enlarge(found[own * i], low, high)
        else:
            height = _push_search(s, height, s.child[node, 0], first, stop)
            height = _push_search(s, height, s.child[node, 1], first, stop)


@fused
def _push_search(s, height, node, first, stop):
    s.search[height, 0], s.search[height, 1], s.search[height, 2] = node, first, stop
    return height + 1


@fused
def _sides(rectangle):
    return rectangle[LOW_MIN], rectangle[LOW_MAX], rectangle[HIGH_MIN], rectangle[HIGH_MAX]


@fused
def _would_enlarge(box, rectangle, found):
    """Whether a node's share of a rectangle is not empty, and not in what is found already."""
    low_min, low_max = max(box[LOW_MIN], rectangle[LOW_MIN]), min(box[LOW_MAX], rectangle[LOW_MAX])
    high_min = max(box[HIGH_MIN], rectangle[HIGH_MIN])
    high_max = min(box[HIGH_MAX], rectangle[HIGH_MAX])
    return (
        low_min <= low_max
        and high_min <= high_max
        and (
            low_min < found[LOW_MIN]
            or low_max > found[LOW_MAX]
            or high_min < found[HIGH_MIN]
            or high_max > found[HIGH_MAX]
        )
    )


@njit(cache=True)
def _snap_one(s, rectangles, found):
    snap_all(s, rectangles, 1, found)


@bare
def has_stranger(s, around, one, other):
    """Whether the rectangle `around` has a point that is in neither of two rectangles in it."""
    height = 0
    if s.tree[ROOT] != NIL:
        s.stack[0] = s.tree[ROOT]
        height = 1
    while height:
        height -= 1
        node = s.stack[height]
        box = s.box[node]
        if (
            _misses(box, around[0], around[1], around[2], around[3])
            or _lies_in(box, one[0], one[1], one[2], one[3])
            or _lies_in(box, other[0], other[1], other[2], other[3])
        ):
            continue
        if s.child[node, 0] == NIL:
            bucket = s.bucket[node]
            for place in range(s.counts[node]):
                low, high = s.points[bucket, 0, place], s.points[bucket, 1, place]
                if (
                    _has(low, high, around[0], around[1], around[2], around[3])
                    and not _has(low, high, one[0], one[1], one[2], one[3])
                    and not _has(low, high, other[0], other[1], other[2], other[3])
                ):
                    return True
        else:
            s.stack[height] = s.child[node, 0]
            s.stack[height + 1] = s.child[node, 1]
            height += 2
    return False


@njit(cache=True)
def _count(s, low_min, low_max, high_min, high_max):
    total, height = 0, 0
    if s.tree[ROOT] != NIL:
        s.stack[0] = s.tree[ROOT]
        height = 1
    while height:
        height -= 1
        node = s.stack[height]
        box = s.box[node]
        if _misses(box, low_min, low_max, high_min, high_max):
            continue
        if _lies_in(box, low_min, low_max, high_min, high_max):
            total += s.counts[node]
        elif s.child[node, 0] == NIL:
            bucket = s.bucket[node]
            for place in range(s.counts[node]):
                low, high = s.points[bucket, 0, place], s.points[bucket, 1, place]
                total += _has(low, high, low_min, low_max, high_min, high_max)
        else:
            s.stack[height] = s.child[node, 0]
            s.stack[height + 1] = s.child[node, 1]
            height += 2
    return total


@njit(cache=True)
def rows_inside(s, low_min, low_max, high_min, high_max):
    """The rows of the points of a rectangle, in no order."""
    rows = np.empty(_count(s, low_min, low_max, high_min, high_max), np.int64)
    used, height = 0, 0
    if s.tree[ROOT] != NIL:
        s.stack[0] = s.tree[ROOT]
        height = 1
    while height:
        height -= 1
        node = s.stack[height]
        if _misses(s.box[node], low_min, low_max, high_min, high_max):
            continue
        if s.child[node, 0] == NIL:
            bucket = s.bucket[node]
            for place in range(s.counts[node]):
                low, high = s.points[bucket, 0, place], s.points[bucket, 1, place]
                if _has(low, high, low_min, low_max, high_min, high_max):
                    rows[used] = s.rows[bucket, place]
                    used += 1
        else:
            s.stack[height] = s.child[node, 0]
            s.stack[height + 1] = s.child[node, 1]
            height += 2
    return rows


@njit(cache=True, nogil=True)
def _count_many(s, rectangles):
    counts = np.empty(len(rectangles), np.int64)
    for i in range(len(rectangles)):
        counts[i] = _count(
            s, rectangles[i, 0], rectangles[i, 1], rectangles[i, 2], rectangles[i, 3]
        )
    return counts


@njit(cache=True)
def points_inside(s, low_min, low_max, high_min, high_max):
    """The lows and the highs of the points of a rectangle, in no order."""
    room = _count(s, low_min, low_max, high_min, high_max)
    lows, highs = np.empty(room), np.empty(room)
    used, height = 0, 0
    if room:
        s.stack[0] = s.tree[ROOT]
        height = 1
    while height:
        height -= 1
        node = s.stack[height]
        if _misses(s.box[node], low_min, low_max, high_min, high_max):
            continue
        if s.child[node, 0] == NIL:
            bucket = s.bucket[node]
            for place in range(s.counts[node]):
                low, high = s.points[bucket, 0, place], s.points[bucket, 1, place]
                if _has(low, high, low_min, low_max, high_min, high_max):
                    lows[used], highs[used] = low, high
                    used += 1
        else:
            s.stack[height] = s.child[node, 0]
            s.stack[height + 1] = s.child[node, 1]
            height += 2
    return lows, highs
