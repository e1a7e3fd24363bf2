"""From an update to its messages (the Paint paper, §III): the kernels of all servers.

An object whose key falls (rank-raising) is sent to its new influence region.  One whose key rises
(rank-lowering) is sent to its old one; then its key is swept upwards, and each object that it
passes, an exposed one, is sent to what the influence region loses there.

With subscriptions (Paint-Sparse) tiles shrink to the subscriptions inside, neighbours become one
where nobody else is between, and the sweep looks only where subscriptions are left.  Without
(`None`, Paint-Dense) that code is not even compiled.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from indexes.kernels.decorators import bare, fused, inner
from indexes.paint.objects import (
    first_k,
    is_below,
    least_above,
    put,
    remove,
    reserve,
)
from indexes.paint.regions import (
    LEFT,
    RIGHT,
    Staircase,
    group_tiles,
    influence_interval,
    new_staircase,
    tile_exposed,
    tile_gain,
    tile_region,
    tile_worsened,
)
from indexes.paint.subscriptions import apex, has_stranger, snap_all

__all__ = [
    "COLUMNS", "FIRST_K", "MIN_Y", "RULED_OUT", "SNAP", "Brush", "first_bad_update", "new_brush",
    "paint_batch", "paint_many", "rule_out", "step_down", "tell_exposed", "tell_gain",
    "tell_region", "tell_worsened",
]  # fmt: skip

FIRST_K, MIN_Y, SNAP, RULED_OUT = range(4)  # fields of `calls`
COLUMNS = 7  # of a message: its update, the four bounds, x, y


class Brush(NamedTuple):
    """What kernels work with between two messages, and count while they do."""

    stairs: Staircase  # of the object that is swept; in a batch: among the final objects
    before: Staircase  # in a batch: among the objects before it
    stale: Staircase  # in a batch: with the old key among the final objects
    more: Staircase  # room for those of the updated objects, by their old keys
    tiles: np.ndarray  # f8[3k + 3, 4]
    closed: np.ndarray  # f8[3k + 3, 4]  with subscriptions: the tiles as closed rectangles
    snapped: np.ndarray  # f8[3k + 3, 4]  ... and the boxes around the subscriptions in them
    boxes: np.ndarray  # f8[2, 4]  room for the boxes that merging compares
    calls: np.ndarray  # i8[4]  index calls so far, made and spared


def new_brush(k: int) -> Brush:
    return Brush(
        stairs=new_staircase(k),
        before=new_staircase(k),
        stale=new_staircase(k),
        more=new_staircase(k),
        tiles=np.empty((3 * k + 3, 4)),
        closed=np.empty((3 * k + 3, 4)),
        snapped=np.empty((3 * k + 3, 4)),
        boxes=np.empty((2, 4)),
        calls=np.zeros(4, np.int64),
    )


@njit(cache=True)
def first_bad_update(found, xs, olds, news, order):
    """The place of the first update whose old y is not the object's by then; -1: all are right.

    `found` has the y of each update's object before all updates; `order` sorts the updates by x,
    those of one object as they come.  Absent is inf.
    """
    worst = len(xs)
    for i in range(len(order)):
        at = order[i]
        known = found[at]
        if i > 0 and xs[order[i - 1]] == xs[at]:
            known = news[order[i - 1]]
        if known != olds[at] or (known == np.inf and news[at] == np.inf):
            worst = min(worst, at)
    return worst if worst < len(xs) else -1


@njit(cache=True, nogil=True)
def paint_many(o, subscriptions, brush, group, xs, olds, news):
    """Do updates one after the other; returns the objects' arrays and the messages.

    Absent is inf.
    """
    messages, used = np.empty((16 + 8 * len(xs), COLUMNS)), 0
    for event in range(len(xs)):
        x, old, new = xs[event], olds[event], news[event]
        if is_below(new, x, old, x):
            _stand(o, brush, brush.stairs, x, new)
            messages, used = tell_region(subscriptions, brush, group, messages, used, event, x, new)
            o = reserve(o, 1)
            put(o, x, new)
        elif old != new:
            messages, used = _lower(
                o, subscriptions, brush, group, messages, used, event, x, old, new
            )
            if new == np.inf:
                remove(o, x)
            else:
                put(o, x, new)
    return o, messages[:used]


@inner
def _stand(o, brush, stairs, x, y):
    """The staircase of an object at x with that y."""
    k = len(stairs.left)
    brush.calls[FIRST_K] += 2
    stairs.counts[LEFT] = first_k(o, x, y, x, k, False, stairs.left)
    stairs.counts[RIGHT] = first_k(o, x, y, x, k, True, stairs.right)


@inner
def _lower(o, subscriptions, brush, group, messages, used, event, x, old, new):
    """The messages of a rank-lowering update (Algorithm 3)."""
    _stand(o, brush, brush.stairs, x, old)
    messages, used = tell_region(subscriptions, brush, group, messages, used, event, x, new)
    key_y, key_x = old, x
    while True:
        exposed_x, exposed_y = _next_exposed(o, subscriptions, brush, x, key_y, key_x)
        if not is_below(exposed_y, exposed_x, new, x):
            return messages, used
        messages, used = tell_exposed(
            subscriptions, brush, group, messages, used, event, x, exposed_x, exposed_y
        )
        step_down(brush.stairs, x, exposed_x)
        key_y, key_x = exposed_y, exposed_x


@njit(cache=True)
def tell_region(subscriptions, brush, group, messages, used, event, x, y):
    """Send an object at x to the influence region of its staircase."""
    count = tile_region(x, brush.stairs, brush.tiles)
    return _send(subscriptions, brush, group, count, messages, used, event, x, y)


@njit(cache=True)
def tell_exposed(subscriptions, brush, group, messages, used, event, x, exposed_x, exposed_y):
    """Send an exposed object to what the swept one at x loses there."""
    count = tile_exposed(x, exposed_x, brush.stairs, brush.tiles)
    return _send(subscriptions, brush, group, count, messages, used, event, exposed_x, exposed_y)


@njit(cache=True)
def tell_worsened(subscriptions, brush, group, messages, used, event, x, y):
    """Send a worsened object of a batch to those who have it, or would keep its old y."""
    count = tile_worsened(x, brush.stairs, brush.before, brush.stale, brush.tiles)
    return _send(subscriptions, brush, group, count, messages, used, event, x, y)


@njit(cache=True)
def tell_gain(subscriptions, brush, group, messages, used, event, x, y):
    """Send an unchanged object to those whom a batch has given it."""
    count = tile_gain(x, brush.stairs, brush.before, brush.tiles)
    return _send(subscriptions, brush, group, count, messages, used, event, x, y)


@inner
def _next_exposed(o, subscriptions, brush, x, key_y, key_x):
    """The next object of the influence interval above a key, (inf, inf) if there is none."""
    stairs = brush.stairs
    low, high = influence_interval(stairs)
    if subscriptions is not None:
        # The smallest quadrant around the subscriptions that are left (§III-B).
        count = tile_region(x, stairs, brush.tiles)
        _close(brush.tiles, count, brush.closed)
        low, high = apex(subscriptions, brush.closed, count, brush.snapped)
        if low > high:
            brush.calls[RULED_OUT] += 1
            return np.inf, np.inf
    brush.calls[MIN_Y] += 1
    return least_above(o, low, high, key_y, key_x)


@njit(cache=True)
def step_down(stairs, x, exposed):
    """An object that was passed is one of the better ones from now on."""
    k = len(stairs.left)
    if exposed < x:
        _insert(stairs.left, stairs.counts, LEFT, k, -exposed, -1.0)
    else:
        _insert(stairs.right, stairs.counts, RIGHT, k, exposed, 1.0)


@bare
def _insert(values, count, side, k, distance, sign):
    """Keep the k values whose product with `sign` is least, ascending by it."""
    i = count[side]
    if i == k:
        i -= 1
        if sign * values[i] < distance:
            return
    else:
        count[side] += 1
    while i > 0 and sign * values[i - 1] > distance:
        values[i] = values[i - 1]
        i -= 1
    values[i] = sign * distance


@inner
def _send(subscriptions, brush, group, count, messages, used, event, x, y):
    """Write a message for each tile, or for those that tiles become."""
    if group > 1:
        count = group_tiles(brush.tiles, count, group)
    if subscriptions is not None:
        count = _merge(subscriptions, brush, count)
    if used + count > len(messages):
        larger = np.empty((2 * len(messages) + count, COLUMNS))
        larger[:used] = messages[:used]
        messages = larger
    for i in range(count):
        row, tile = messages[used], brush.tiles[i]
        row[0] = event
        row[1], row[2], row[3], row[4] = tile[0], tile[1], tile[2], tile[3]
        row[5], row[6] = x, y
        used += 1
    return messages, used


@bare
def _close(tiles, count, closed):
    """Tiles as closed rectangles."""
    for i in range(count):
        tile, rectangle = tiles[i], closed[i]
        rectangle[0] = -np.inf if tile[2] == -np.inf else np.nextafter(tile[2], np.inf)
        rectangle[1], rectangle[2] = tile[0], tile[1]
        rectangle[3] = np.inf if tile[3] == np.inf else np.nextafter(tile[3], -np.inf)


@bare
def _merge(subscriptions, brush, count):
    """Shrink tiles to their subscriptions, and join neighbours greedily (§III-B, Theorem 4)."""
    tiles, last, around = brush.tiles, brush.boxes[0], brush.boxes[1]
    brush.calls[SNAP] += count
    _close(tiles, count, brush.closed)
    snap_all(subscriptions, brush.closed, count, brush.snapped)
    kept = 0
    for i in range(count):
        box = brush.snapped[i]
        if box[0] > box[1]:
            continue
        if kept:
            around[0], around[1] = min(last[0], box[0]), max(last[1], box[1])
            around[2], around[3] = min(last[2], box[2]), max(last[3], box[3])
            if not has_stranger(subscriptions, around, last, box):
                _copy_box(around, last)
                continue
            _write_box(tiles, kept - 1, last)
        _copy_box(box, last)
        kept += 1
    if kept:
        _write_box(tiles, kept - 1, last)
    return kept


@fused
def _copy_box(box, target):
    target[0], target[1], target[2], target[3] = box[0], box[1], box[2], box[3]


@bare
def _write_box(tiles, place, box):
    """A closed box as a tile; behind an infinite side there is nothing to leave out."""
    tile = tiles[place]
    tile[0], tile[1] = box[1], box[2]
    tile[2], tile[3] = np.nextafter(box[0], -np.inf), np.nextafter(box[3], np.inf)


@njit(cache=True, nogil=True)
def paint_batch(o, subscriptions, brush, group, updated, xs, olds, news, worsened, improved):
    """Do updates at once; returns the objects' arrays and the messages.  See `batch`.

    `xs` ascend.  `updated` holds those that existed, with their old y; `worsened` and `improved`
    are places in `xs`, the former in descending order of the new key.
    """
    messages, used = np.empty((16 + 8 * len(xs), COLUMNS)), 0
    for i in range(len(xs)):
        if news[i] == np.inf:
            remove(o, xs[i])
        else:
            o = reserve(o, 1)
            put(o, xs[i], news[i])
    exposed = np.empty((16, 2))
    exposures = 0
    for event in worsened:
        x, old, new = xs[event], olds[event], news[event]
        _stand(o, brush, brush.stale, x, old)
        _stand_before(o, updated, xs, brush, brush.before, x, old)
        if new == np.inf:
            rule_out(brush.stairs)
        else:
            _stand(o, brush, brush.stairs, x, new)
        messages, used = tell_worsened(subscriptions, brush, group, messages, used, event, x, new)
        exposed, exposures = _collect_exposed(
            o, subscriptions, brush, xs, exposed, exposures, x, old, new
        )
    for i in _distinct(exposed, exposures):
        x, y = exposed[i, 0], exposed[i, 1]
        _stand(o, brush, brush.stairs, x, y)
        _stand_before(o, updated, xs, brush, brush.before, x, y)
        messages, used = tell_gain(subscriptions, brush, group, messages, used, -1, x, y)
    for event in improved:
        x, new = xs[event], news[event]
        _stand(o, brush, brush.stairs, x, new)
        messages, used = tell_region(subscriptions, brush, group, messages, used, event, x, new)
    return o, messages[:used]


@bare
def _contains(xs, x):
    low, high = 0, len(xs)
    while low < high:
        middle = (low + high) // 2
        if xs[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low < len(xs) and xs[low] == x


@njit(cache=True)
def rule_out(stairs):
    """The staircase of an object that is among no one's k best: k better ones right beside it."""
    stairs.left[:] = np.inf
    stairs.right[:] = -np.inf
    stairs.counts[:] = len(stairs.left)


@inner
def _stand_before(o, updated, xs, brush, stairs, x, y):
    """The staircase of an object among the objects as they were: §IV-A's T and T'.

    Of the final objects those that were updated do not count, but their old keys do.
    """
    k, more = len(stairs.left), brush.more
    brush.calls[FIRST_K] += 2
    for side in range(2):
        old = more.left if side == LEFT else more.right
        found = stairs.left if side == LEFT else stairs.right
        sign = -1.0 if side == LEFT else 1.0
        stairs.counts[side] = 0
        start, wanted = x, k
        while stairs.counts[side] < k:
            # Unchanged ones are looked for k at a time, behind the last one that was found.
            met = first_k(o, start, y, x, wanted, side == RIGHT, old)
            for i in range(met):
                if not _contains(xs, old[i]) and stairs.counts[side] < k:
                    found[stairs.counts[side]] = old[i]
                    stairs.counts[side] += 1
            if met < wanted:
                break
            start = old[met - 1]
        for i in range(first_k(updated, x, y, x, k, side == RIGHT, old)):
            _insert(found, stairs.counts, side, k, sign * old[i], sign)


@inner
def _collect_exposed(o, subscriptions, brush, xs, exposed, exposures, x, old, new):
    """Sweep a worsened object over the final ones; unchanged objects that it passes are noted."""
    stairs = brush.stairs
    for side in range(2):
        stairs.counts[side] = brush.stale.counts[side]
    stairs.left[:] = brush.stale.left
    stairs.right[:] = brush.stale.right
    key_y, key_x = old, x
    while True:
        found_x, found_y = _next_exposed(o, subscriptions, brush, x, key_y, key_x)
        if not is_below(found_y, found_x, new, x):
            return exposed, exposures
        if not _contains(xs, found_x):
            if exposures == len(exposed):
                larger = np.empty((2 * exposures, 2))
                larger[:exposures] = exposed
                exposed = larger
            exposed[exposures, 0], exposed[exposures, 1] = found_x, found_y
            exposures += 1
        step_down(stairs, x, found_x)
        key_y, key_x = found_y, found_x


@inner
def _distinct(exposed, count):
    """Places of the first `count` rows, by x, each x once."""
    order = np.argsort(exposed[:count, 0])
    kept = 0
    for i in range(count):
        if i == 0 or exposed[order[i], 0] != exposed[order[i - 1], 0]:
            order[kept] = order[i]
            kept += 1
    return order[:kept]
