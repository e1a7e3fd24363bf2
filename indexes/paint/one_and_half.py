"""`PaintOneAndHalf`: subscriptions of 1.5 dimensions, "the k best with x in my range and z at least
mine" (the Paint paper, appendix D).

An object is (x, z, y); a subscription is (low, high, z_min).  Kernels have depths, -z, instead of
z, because the paper's subscriptions see the objects up to a bound; z comes back in the boxes.

Among the objects that one z_min leaves, the problem has one dimension.  The lower z_min, the more
objects there are, and the narrower is an object's influence interval.  It changes only at the z of
a better object inside it; the z_min between two such changes are a slab.  All slabs of an object,
each with a staircase as in `regions`, are its influence polygon.  For k = 1 and the object `o` at
(2, z = 2), with better ones at (1, z = 1) and (4, z = 0):

    z 2  ········o·····     z_min in (1, 2]       everyone who has 2
         ········│·····
      1  ───1────│·····     z_min in (0, 1]       low > 1
            ·····│··
      0     ·····│··4──     z_min in (-inf, 0]    low > 1 and high < 4
            ·····│··│

A message is the `Box` of a tile and a slab; equal tiles of neighbouring slabs make one box.

An update works as in `painting`.  An object that improves is sent to its new polygon.  One that
worsens is sent to its old one; then its key is swept upwards, and each object of the polygon that
it passes, an exposed one, is sent to what the slabs at and below the exposed object's z lose.  The
slab around that z is cut in two there, and slabs that are alike afterwards become one.  Each slab
keeps its next exposed object until it is too narrow for it; the best of them all is next.

Layout: two `Objects`, one of (x, y) and one of (x, depth).  Both go through the same insertions and
removals, and where an object is in its blocks depends on x alone: it has the same place in both.

>>> server = PaintOneAndHalf(k=1)
>>> server.load([(1, 1, 10), (2, 2, 20), (4, 0, 15)])
>>> for box in server.update(2, 2, 20, 18):
...     print(*box)
2.0 2.0 -inf inf 1.0 2.0 2.0 2.0 18.0
2.0 2.0 1.0 inf 0.0 1.0 2.0 2.0 18.0
2.0 2.0 1.0 4.0 -inf 0.0 2.0 2.0 18.0
"""

from collections.abc import Iterable, Iterator
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from indexes.kernels.decorators import bare, inner
from indexes.kernels.sorting import stable_order
from indexes.paint.objects import (
    BLOCKS,
    ObjectIndex,
    Objects,
    as_bound,
    as_coordinate,
    as_range,
    find,
    is_below,
    place_of,
    position_of,
    put,
    remove,
    reserve,
)
from indexes.paint.painting import step_down
from indexes.paint.regions import (
    LEFT,
    RIGHT,
    Staircase,
    influence_interval,
    tile_exposed,
    tile_region,
)
from indexes.paint.server import SubscriberIds, Updates, as_updates, checked
from indexes.validation import (
    as_count,
    as_id_array,
    as_number_array,
    as_table,
    require_finite,
    require_same_length,
)

__all__ = ["Box", "BoxCalls", "BoxTable", "PaintOneAndHalf"]

FIRST_K, MIN_Z, MIN_Y = range(3)  # fields of `calls`
COLUMNS = 10  # of a box: its update, and the fields of `Box`
TILE, Z_LOW, Z_HIGH, OBJECT = 1, 5, 6, 7  # where the tile begins in it, the slab, the object
ANY = -np.inf  # no depth is less


class Box(NamedTuple):
    """A `Message` for those of its subscriptions that have z_low < z_min <= z_high.

    An infinite outer bound, or z_low, is no bound.
    """

    inner_low: float
    inner_high: float
    outer_low: float
    outer_high: float
    z_low: float
    z_high: float
    x: float
    z: float
    y: float  # inf: the object is gone


class BoxTable(NamedTuple):
    """The boxes of many updates as columns, in the order in which they are to be applied."""

    event: np.ndarray  # i8[m]  the update that a box comes from, by its place in the call
    inner_low: np.ndarray  # f8[m]
    inner_high: np.ndarray  # f8[m]
    outer_low: np.ndarray  # f8[m]
    outer_high: np.ndarray  # f8[m]
    z_low: np.ndarray  # f8[m]
    z_high: np.ndarray  # f8[m]
    x: np.ndarray  # f8[m]
    z: np.ndarray  # f8[m]
    y: np.ndarray  # f8[m]

    def boxes(self) -> Iterator[Box]:
        columns = (column.tolist() for column in self[1:])
        return (Box(*row) for row in zip(*columns, strict=True))


class BoxCalls(NamedTuple):
    """Index calls since the server was made; the min queries of the paper's Table VII are two."""

    first_k: int
    min_z: int  # the next better object of the influence interval, going down: Algorithm 7
    min_y: int  # the next exposed object of a slab: Algorithm 11


class Sites(NamedTuple):
    """What kernels take: the same objects, at the same places, by two values."""

    ranks: Objects  # (x, y)
    depths: Objects  # (x, -z)


class Slabs(NamedTuple):
    """The influence polygon of one object; slab s goes from its depth to that of the next one."""

    depth: np.ndarray  # f8[slabs]  ascending; the first is the object's
    left: np.ndarray  # f8[slabs, k]  a `Staircase` each
    right: np.ndarray  # f8[slabs, k]
    counts: np.ndarray  # i8[slabs, 2]
    exposed: np.ndarray  # f8[slabs, 2]  x and y of the next exposed one; inf: none, nan: unknown


class Pen(NamedTuple):
    """What kernels write boxes with, and count while they do."""

    tiles: np.ndarray  # f8[k + 1, 4]
    open: np.ndarray  # i8[2, k + 1]  rows of the boxes that reach down to the slab, by low
    opened: np.ndarray  # i8[1]  how many those are
    calls: np.ndarray  # i8[3]


class PaintOneAndHalf:
    """A server that knows the objects alone; see the module.

    >>> server = PaintOneAndHalf(k=1)
    >>> server.load([(1, 5, 10), (2, 9, 20), (3, 7, 30)])
    >>> server.subscribe(7, low=1, high=3, z_min=6)
    [(2.0, 9.0, 20.0)]
    >>> [(box.x, box.y) for box in server.update(2, 9, 20, 40)]
    [(2.0, 40.0), (2.0, 40.0), (3.0, 30.0), (3.0, 30.0)]
    """

    def __init__(self, k: int) -> None:
        self.k = as_count("k", k, least=1)
        self._ranks, self._depths = ObjectIndex(), ObjectIndex()
        self._ids = SubscriberIds()
        self._pen = Pen(
            tiles=np.empty((self.k + 1, 4)),
            open=np.empty((2, self.k + 1), np.int64),
            opened=np.zeros(1, np.int64),
            calls=np.zeros(3, np.int64),
        )

    def __len__(self) -> int:
        """The number of subscriptions."""
        return len(self._ids)

    @property
    def nbytes(self) -> int:
        structures = self._ranks.nbytes + self._depths.nbytes + self._ids.nbytes
        return structures + sum(array.nbytes for array in self._pen)

    @property
    def calls(self) -> BoxCalls:
        return BoxCalls(*self._pen.calls.tolist())

    def load(self, objects: ArrayLike | Iterable[tuple[float, float, float]]) -> None:
        """Add objects that nobody is told of: rows (x, z, y), before anyone subscribes."""
        if len(self):
            raise ValueError(
                f"load: got objects when {len(self)} have subscribed; insert each by update()"
            )
        rows: Any = objects if isinstance(objects, np.ndarray) else list(objects)  # type: ignore[arg-type]
        if not len(rows):
            return
        table = require_finite("objects", as_table("objects", rows, columns=3))
        self._ranks.put_many(table[:, [0, 2]])
        self._depths.put_many(table[:, [0, 1]] * [1, -1])

    def subscribe(
        self, id: int, low: float, high: float, z_min: float
    ) -> list[tuple[float, float, float]]:
        """Add a subscription; returns its first list, the k best (x, z, y) of its objects."""
        first = self.top_k(low, high, z_min)
        self._ids.add(as_id_array([id]))
        return first

    def unsubscribe(self, id: int) -> None:
        self._ids.remove(as_id_array([id]))

    def top_k(self, low: float, high: float, z_min: float) -> list[tuple[float, float, float]]:
        """The k best objects (x, z, y) with x in [low, high] and z >= z_min, best first."""
        bound = -as_bound("z_min", z_min)
        found = _top_k(self._sites, *as_range(low, high), bound, self.k)
        return [(x, -depth, y) for x, depth, y in found.tolist()]

    def update(self, x: float, z: float, old_y: float | None, new_y: float | None) -> list[Box]:
        """Change an object's y; `None` is absent, so that objects come and go."""
        zs = np.array([as_coordinate("z", z)])
        return list(self._paint(as_updates(self._ranks, [(x, old_y, new_y)]), zs).boxes())

    def update_many(
        self, xs: ArrayLike, zs: ArrayLike, old_ys: ArrayLike, new_ys: ArrayLike
    ) -> BoxTable:
        """Many updates, one after the other, all or none; a y of nan is absent."""
        x, z = as_number_array("xs", xs), as_number_array("zs", zs)
        old, new = as_number_array("old_ys", old_ys), as_number_array("new_ys", new_ys)
        require_same_length(xs=x, zs=z)
        return self._paint(checked(self._ranks, x, old, new), require_finite("z", z))

    def _paint(self, updates: Updates, zs: np.ndarray) -> BoxTable:
        self._require_known(updates, zs)
        sites, boxes = _paint_many(self._sites, self._pen, updates.x, -zs, *updates[1:])
        self._ranks.adopt(sites.ranks)
        self._depths.adopt(sites.depths)
        columns = boxes.T.copy()
        return BoxTable(columns[0].astype(np.int64), *columns[1:])

    def _require_known(self, updates: Updates, zs: np.ndarray) -> None:
        """`ValueError` unless each object that is there by then keeps its z."""
        known = -self._depths.find_many(updates.x)
        order = stable_order(updates.x)
        again = updates.x[order[1:]] == updates.x[order[:-1]]
        known[order[1:][again]] = zs[order[:-1][again]]
        wrong = np.flatnonzero((updates.old_y != inf) & (zs != known))
        if len(wrong):
            x, z, expected = updates.x[wrong[0]], zs[wrong[0]], known[wrong[0]]
            raise ValueError(f"z: got {z} when the object at {x} has {expected}")

    @property
    def _sites(self) -> Sites:
        return Sites(self._ranks.arrays, self._depths.arrays)

    def check(self) -> None:
        """Raise `AssertionError` unless every structural invariant holds."""
        self._ranks.check()
        self._depths.check()
        self._ids.check()
        ranks, depths = self._sites
        assert ranks.state.tolist() == depths.state.tolist()
        assert ranks.order.tolist() == depths.order.tolist()
        for block in ranks.order[: ranks.state[BLOCKS]].tolist():
            size = int(ranks.size[block])
            assert size == depths.size[block]
            assert ranks.x[block, :size].tolist() == depths.x[block, :size].tolist()


@inner
def _new_slabs(slabs, k):
    return Slabs(
        np.empty(slabs),
        np.empty((slabs, k)),
        np.empty((slabs, k)),
        np.empty((slabs, 2), np.int64),
        np.empty((slabs, 2)),
    )


@inner
def _stairs(slabs, slab):
    return Staircase(slabs.left[slab], slabs.right[slab], slabs.counts[slab])


@njit(cache=True, nogil=True)
def _paint_many(sites, pen, xs, depths, olds, news):
    """Do updates one after the other; returns the objects' arrays and the boxes.

    Absent is inf.
    """
    boxes, used = np.empty((16 + 8 * len(xs), COLUMNS)), 0
    slabs = _new_slabs(8, len(pen.tiles) - 1)
    for event in range(len(xs)):
        x, depth, old, new = xs[event], depths[event], olds[event], news[event]
        if old == new:
            continue
        slabs, count = _polygon(sites, slabs, pen.calls, x, depth, min(old, new))
        boxes, used = _tell_polygon(slabs, count, pen, boxes, used, event, x, depth, new)
        if new > old:
            slabs, boxes, used = _sweep(sites, slabs, count, pen, boxes, used, event, x, old, new)
        if new == np.inf:
            remove(sites.ranks, x)
            remove(sites.depths, x)
        else:
            sites = Sites(reserve(sites.ranks, 1), reserve(sites.depths, 1))
            put(sites.ranks, x, new)
            put(sites.depths, x, depth)
    return sites, boxes[:used]


@inner
def _polygon(sites, slabs, calls, x, depth, y):
    """The slabs of an object with that y, and their number (Algorithm 7)."""
    stairs, key = _stairs(slabs, 0), (y, x)
    calls[FIRST_K] += 2
    stairs.counts[LEFT] = _first_k(sites, x, depth, key, -1, stairs.left)
    stairs.counts[RIGHT] = _first_k(sites, x, depth, key, 1, stairs.right)
    slabs.depth[0] = depth
    slabs.exposed[0] = np.nan
    count, passed = 1, (depth, np.inf)
    while True:
        low, high = influence_interval(_stairs(slabs, count - 1))
        calls[MIN_Z] += 1
        found_x, found_depth = _least_above(sites.depths, low, high, passed, sites.ranks, ANY, key)
        if found_depth == np.inf:
            return slabs, count
        if found_depth > slabs.depth[count - 1]:
            slabs = _cut(slabs, count, count - 1, found_depth)
            count += 1
        step_down(_stairs(slabs, count - 1), x, found_x)
        passed = (found_depth, found_x)


@inner
def _cut(slabs, count, slab, depth):
    """Cut a slab in two alike, of which the second begins at that depth; returns the slabs."""
    if count == len(slabs.depth):
        larger = _new_slabs(2 * count, slabs.left.shape[1])
        for i in range(count):
            _copy_slab(slabs, i, larger, i)
        slabs = larger
    for i in range(count, slab, -1):
        _copy_slab(slabs, i - 1, slabs, i)
    slabs.depth[slab + 1] = depth
    slabs.exposed[slab : slab + 2] = np.nan
    return slabs


@inner
def _copy_slab(source, at, target, to):
    target.depth[to] = source.depth[at]
    target.left[to] = source.left[at]
    target.right[to] = source.right[at]
    target.counts[to] = source.counts[at]
    target.exposed[to] = source.exposed[at]


@bare
def _end(slabs, count, slab):
    """The depth at which a slab ends."""
    return slabs.depth[slab + 1] if slab + 1 < count else np.inf


@inner
def _tell_polygon(slabs, count, pen, boxes, used, event, x, depth, y):
    """Send an object to its influence polygon (Algorithm 8 for each slab)."""
    pen.opened[0] = 0
    for slab in range(count):
        tiles = tile_region(x, _stairs(slabs, slab), pen.tiles)
        span = (slabs.depth[slab], _end(slabs, count, slab))
        boxes, used = _send(pen, tiles, span, boxes, used, event, (x, depth, y))
    return boxes, used


@inner
def _send(pen, count, span, boxes, used, event, site):
    """A box for each tile; one that reaches down to the slab with the same tile is made longer.

    (Algorithm 10.)  The tiles of a slab descend by low, so the two lists are read side by side.
    """
    if used + count > len(boxes):
        larger = np.empty((2 * len(boxes) + count, COLUMNS))
        larger[:used] = boxes[:used]
        boxes = larger
    above, here = pen.open[0], pen.open[1]
    j = 0
    for i in range(count):
        tile = pen.tiles[i]
        while j < pen.opened[0] and boxes[above[j], TILE] > tile[0]:
            j += 1
        if j < pen.opened[0] and _has_tile(boxes[above[j]], tile):
            row = above[j]
        else:
            row = used
            used += 1
            box = boxes[row]
            box[0] = event
            box[TILE : TILE + 4] = tile
            box[Z_HIGH] = -span[0]
            box[OBJECT], box[OBJECT + 1], box[OBJECT + 2] = site[0], -site[1], site[2]
        boxes[row, Z_LOW] = -span[1]
        here[i] = row
    above[:count] = here[:count]
    pen.opened[0] = count
    return boxes, used


@bare
def _has_tile(box, tile):
    same_inner = box[TILE] == tile[0] and box[TILE + 1] == tile[1]
    return same_inner and box[TILE + 2] == tile[2] and box[TILE + 3] == tile[3]


@inner
def _sweep(sites, slabs, count, pen, boxes, used, event, x, old, new):
    """Send the objects that a worsened one exposes (Algorithm 11)."""
    passed = (old, x)
    while True:
        slab = _next_exposed(sites, slabs, count, pen.calls, passed)
        exposed_x, exposed_y = slabs.exposed[slab, 0], slabs.exposed[slab, 1]
        if not is_below(exposed_y, exposed_x, new, x):
            return slabs, boxes, used
        depth = find(sites.depths, exposed_x)
        slabs.exposed[slab] = np.nan
        if depth > slabs.depth[slab]:
            slabs = _cut(slabs, count, slab, depth)
            count += 1
            slab += 1
        pen.opened[0] = 0
        while slab < count and _holds(_stairs(slabs, slab), exposed_x):
            tiles = tile_exposed(x, exposed_x, _stairs(slabs, slab), pen.tiles)
            span = (slabs.depth[slab], _end(slabs, count, slab))
            site = (exposed_x, depth, exposed_y)
            boxes, used = _send(pen, tiles, span, boxes, used, event, site)
            step_down(_stairs(slabs, slab), x, exposed_x)
            # The object that parted two slabs may be out of the nearest k now.
            if slab > 0 and _alike(slabs, slab - 1, slab):
                _join(slabs, count, slab - 1)
                count -= 1
            else:
                slab += 1
        passed = (exposed_y, exposed_x)


@inner
def _next_exposed(sites, slabs, count, calls, passed):
    """The slab that has the next exposed object, which is `exposed` there; y = inf: none has.

    An answer holds until the slab is cut, or becomes too narrow for it; that there is none holds.
    """
    best = 0
    for slab in range(count):
        x, y = slabs.exposed[slab, 0], slabs.exposed[slab, 1]
        if np.isnan(y) or (y != np.inf and not _holds(_stairs(slabs, slab), x)):
            low, high = influence_interval(_stairs(slabs, slab))
            # Who is above the object's own depth is seen by all of its subscribers.
            start = slabs.depth[slab] if slab > 0 else ANY
            end = (_end(slabs, count, slab), -np.inf)
            calls[MIN_Y] += 1
            x, y = _least_above(sites.ranks, low, high, passed, sites.depths, start, end)
            slabs.exposed[slab, 0], slabs.exposed[slab, 1] = x, y
        if is_below(y, x, slabs.exposed[best, 1], slabs.exposed[best, 0]):
            best = slab
    return best


@inner
def _holds(stairs, x):
    low, high = influence_interval(stairs)
    return low < x < high


@bare
def _alike(slabs, one, other):
    """Whether two slabs have the same staircase."""
    for side in range(2):
        size = slabs.counts[one, side]
        if size != slabs.counts[other, side]:
            return False
        values = slabs.left if side == LEFT else slabs.right
        for i in range(size):
            if values[one, i] != values[other, i]:
                return False
    return True


@inner
def _join(slabs, count, slab):
    """Two slabs that are alike, this one and the next, become one."""
    x, y = slabs.exposed[slab, 0], slabs.exposed[slab, 1]
    next_x, next_y = slabs.exposed[slab + 1, 0], slabs.exposed[slab + 1, 1]
    # One that is unknown leaves the best of both unknown.
    if np.isnan(next_y) or is_below(next_y, next_x, y, x):
        slabs.exposed[slab, 0], slabs.exposed[slab, 1] = next_x, next_y
    for i in range(slab + 1, count - 1):
        _copy_slab(slabs, i + 1, slabs, i)


@inner
def _first_k(sites, x, depth, key, step, found):
    """Write the x of the objects next to x whose keys are below a key, down to a depth.

    As `objects.first_k`; `step` is -1 to the left and 1 to the right.
    """
    ranks, depths, blocks = sites.ranks, sites.depths, sites.ranks.state[BLOCKS]
    if blocks == 0:
        return 0
    position = position_of(ranks, x)
    block = ranks.order[position]
    place = place_of(ranks, block, x)
    if step < 0:
        place -= 1
    elif place < ranks.size[block] and ranks.x[block, place] == x:
        place += 1
    count = 0
    while True:
        while 0 <= place < ranks.size[block]:
            if depths.y[block, place] <= depth and is_below(
                ranks.y[block, place], ranks.x[block, place], key[0], key[1]
            ):
                found[count] = ranks.x[block, place]
                count += 1
                if count == len(found):
                    return count
            place += step
        position += step
        while 0 <= position < blocks and (
            depths.best_y[position] > depth
            or not is_below(ranks.best_y[position], ranks.best_x[position], key[0], key[1])
        ):
            position += step
        if not 0 <= position < blocks:
            return count
        block = ranks.order[position]
        place = 0 if step > 0 else ranks.size[block] - 1


@njit(cache=True)
def _least_above(o, low, high, above, other, least, below):
    """The object (x, y) of `o` with the least key above a key in a closed range; y = inf: none.

    Only objects count whose y in `other` is at least `least` and whose key there is below a key.
    """
    found_x, found_y = np.inf, np.inf
    position = position_of(o, low)
    while position < o.state[BLOCKS] and o.first_x[position] <= high:
        if (
            o.worst_y[position] >= above[0]
            and is_below(o.best_y[position], o.best_x[position], found_y, found_x)
            and other.worst_y[position] >= least
            and is_below(other.best_y[position], other.best_x[position], below[0], below[1])
        ):
            block = o.order[position]
            for i in range(place_of(o, block, low), o.size[block]):
                x, y, second = o.x[block, i], o.y[block, i], other.y[block, i]
                if x > high:
                    break
                if (
                    is_below(above[0], above[1], y, x)
                    and is_below(y, x, found_y, found_x)
                    and second >= least
                    and is_below(second, x, below[0], below[1])
                ):
                    found_x, found_y = x, y
        position += 1
    return found_x, found_y


@njit(cache=True)
def _top_k(sites, low, high, bound, k):
    """Rows (x, depth, y) of the best objects down to a bound: each is the least above the last."""
    found = np.empty((k, 3))
    passed = (-np.inf, -np.inf)
    for i in range(k):
        x, y = _least_above(sites.ranks, low, high, passed, sites.depths, ANY, (bound, np.inf))
        if y == np.inf:
            return found[:i]
        found[i, 0], found[i, 1], found[i, 2] = x, find(sites.depths, x), y
        passed = (y, x)
    return found
