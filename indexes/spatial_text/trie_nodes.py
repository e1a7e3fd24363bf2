"""The nodes of an MBRTrie (the seed, §3.1) and how they are made of rows.

Rows are placed one behind the other, and a node stands for a range of places: the subscriptions
that have the tokens of its path as their first ones.  It knows the box around them and the best of
their scores.  Children of a node follow each other, by ascending key.

Not every subscription has a path to its end as in the seed.

- A node of few subscriptions, a bucket, has no children; they are read one by one, which is quicker
  than to follow pointers.
- The subscriptions that end at a node are read when it is visited: they are the first places of its
  range.  Where they are many, they are below children without a token: they lie along a curve
  through the plane, and boxes around stretches of it, again and again, are a packed R-tree.
- So do all subscriptions of a node (beyond the seed) if `by_place` is asked for and boxes around
  stretches of the curve are met less often than not: what is left of long messages to ask for is
  frequent tokens, and a place tells more.  Their further tokens are verified one by one.

Nodes of several tries, the runs, are in the same arrays, one trie behind the other.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from indexes.kernels import NIL
from indexes.kernels.decorators import bare
from indexes.spatial_text.token_order import ALONG_CURVE, middle, sort_places

__all__ = [
    "CHILDREN_END", "END_KEY", "FANOUT", "FIRST_CHILD", "PLACE_KEY", "ROOT_KEY", "START", "STOP",
    "Nodes", "allocate_nodes", "make_nodes",
]  # fmt: skip

# Keys of nodes without a token: a root; a stretch of a curve; one of subscriptions that end here.
ROOT_KEY, PLACE_KEY, END_KEY = -2, -1, 0
FIRST_CHILD, CHILDREN_END, START, STOP = range(4)  # of `heads`; the last two are places
FANOUT = 8  # stretches of a curve around which there is one more box

_MOST = float(np.finfo(np.float32).max)
_PROBES = 8  # points at which stretches of a curve are tried out
_TRIED = 32  # stretches of each node


class Nodes(NamedTuple):
    keys: np.ndarray  # i4[nodes]
    heads: np.ndarray  # i4[nodes, 4]
    boxes: np.ndarray  # f4[nodes, 4]  never smaller than exact
    bests: np.ndarray  # f4[nodes]  never less than exact


def allocate_nodes(size: int) -> Nodes:
    return Nodes(
        np.empty(size, np.int32),
        np.empty((size, 4), np.int32),
        np.empty((size, 4), np.float32),
        np.empty(size, np.float32),
    )


def make_nodes(
    table, keys: np.ndarray, grid: np.ndarray, rows: np.ndarray, start: int, first: int,
    bucket: int, by_place: bool,
) -> Nodes:  # fmt: skip
    """The nodes of a trie over all rows from a place on, numbered from `first`.

    Rows come by their first token (see `by_first_token`) and are sorted further.
    """
    spare = np.empty_like(rows)
    made = _outline(table, keys, grid, rows, spare, start, first, bucket, by_place)
    _enclose(table, rows, made, first)
    return made


@njit(cache=True, nogil=True)
def _outline(table, keys, grid, rows, spare, start, first, bucket, by_place):
    """Keys and ranges, level by level."""
    room = 64 + (len(rows) - start) // 4
    node_keys, heads = np.empty(room, np.int32), np.empty((room, 4), np.int32)
    depths = np.empty(room, np.int32)
    node_keys[0], depths[0] = ROOT_KEY, 0
    heads[0, START], heads[0, STOP] = start, len(rows)
    used, node = 1, 0
    while node < used:
        low, high = np.int64(heads[node, START]), np.int64(heads[node, STOP])
        if used + high - low > room:  # it has no more children than subscriptions
            room = used + high - low + used // 2
            node_keys, heads, depths = _longer(node_keys, heads, depths, used, room)
        heads[node, FIRST_CHILD] = first + used
        if high - low > bucket:
            key, depth = node_keys[node], depths[node]
            if key in (END_KEY, PLACE_KEY):
                used = _cut_curve(node_keys, heads, low, high, bucket, used, key)
            elif (
                depth
                and by_place
                and _curve_prunes(table, keys, grid, rows, spare, low, high, bucket, depth)
            ):
                used = _cut_curve(node_keys, heads, low, high, bucket, used, PLACE_KEY)
            else:
                if depth == 1:
                    sort_places(table, keys, grid, rows, spare, low, high, depth)
                used = _extend_paths(
                    table, keys, rows, node_keys, heads, depths, low, high, depth, bucket, used
                )
        heads[node, CHILDREN_END] = first + used
        node += 1
    return Nodes(
        node_keys[:used].copy(),
        heads[:used].copy(),
        np.empty((used, 4), np.float32),
        np.empty(used, np.float32),
    )


@njit(cache=True)
def _longer(node_keys, heads, depths, used, room):
    new_keys, new_heads = np.empty(room, np.int32), np.empty((room, 4), np.int32)
    new_depths = np.empty(room, np.int32)
    new_keys[:used], new_heads[:used] = node_keys[:used], heads[:used]
    new_depths[:used] = depths[:used]
    return new_keys, new_heads, new_depths


@bare
def _cut_curve(node_keys, heads, low, high, bucket, used, key):
    step = bucket
    while step * FANOUT < high - low:
        step *= FANOUT
    for start in range(low, high, step):
        node_keys[used] = key
        heads[used, START], heads[used, STOP] = start, min(start + step, high)
        used += 1
    return used


@bare
def _curve_prunes(table, keys, grid, rows, spare, low, high, bucket, depth):
    """Whether most stretches of the curve are away from a place; sorts the rows along it if so."""
    if depth > 1:
        sort_places(table, keys, grid, rows, spare, low, high, ALONG_CURVE)
    apart = bucket * (1 + (high - low) // (bucket * _TRIED))
    met = tried = 0
    for start in range(low, high, apart):
        x_low, y_low, x_high, y_high = np.inf, np.inf, -np.inf, -np.inf
        for place in range(start, min(start + bucket, high)):
            row = rows[place]
            x_low, x_high = min(x_low, table.boxes[row, 0]), max(x_high, table.boxes[row, 2])
            y_low, y_high = min(y_low, table.boxes[row, 1]), max(y_high, table.boxes[row, 3])
        for probe in range(_PROBES):
            row = rows[low + (2 * probe + 1) * (high - low) // (2 * _PROBES)]
            x, y = middle(table.boxes, row, 0), middle(table.boxes, row, 1)
            away = x < x_low or x > x_high or y < y_low or y > y_high
            met += 0 if away else 1
            tried += 1
    if 2 * met <= tried:
        return True
    if depth > 1:
        sort_places(table, keys, grid, rows, spare, low, high, depth)
    return False


@bare
def _extend_paths(table, keys, rows, node_keys, heads, depths, low, high, depth, bucket, used):
    """A child for each token that comes next, and one for those that end, where they are many."""
    end = low
    while end < high and table.sizes[rows[end]] == depth:
        end += 1
    if end - low > bucket:
        node_keys[used] = END_KEY
        heads[used, START], heads[used, STOP] = low, end
        used += 1
    last = np.int64(NIL)
    for place in range(end, high):
        token = np.int64(table.tokens[np.int64(table.starts[rows[place]]) + depth])
        if token != last:
            if last != NIL:
                heads[used - 1, STOP] = place
            node_keys[used], depths[used] = keys[token], depth + 1
            heads[used, START] = place
            used += 1
            last = token
    if end < high:
        heads[used - 1, STOP] = high
    return used


@njit(cache=True, nogil=True)
def _enclose(table, rows, nodes, first):
    """Boxes and best scores, from the last node, which no other is below, to the root."""
    box = np.empty(4)
    for node in range(len(nodes.keys) - 1, -1, -1):
        box[0], box[1], box[2], box[3] = np.inf, np.inf, -np.inf, -np.inf
        best = -np.inf
        child, end = nodes.heads[node, FIRST_CHILD] - first, nodes.heads[node, CHILDREN_END] - first
        stop = nodes.heads[child, START] if child < end else nodes.heads[node, STOP]
        for place in range(nodes.heads[node, START], stop):
            row = rows[place]
            for side in range(2):
                box[side] = min(box[side], table.boxes[row, side])
                box[side + 2] = max(box[side + 2], table.boxes[row, side + 2])
            best = max(best, table.scores[row])
        for below in range(child, end):
            for side in range(2):
                box[side] = min(box[side], np.float64(nodes.boxes[below, side]))
                box[side + 2] = max(box[side + 2], np.float64(nodes.boxes[below, side + 2]))
            best = max(best, np.float64(nodes.bests[below]))
        for side in range(2):
            nodes.boxes[node, side] = -_rounded_up(-box[side])
            nodes.boxes[node, side + 2] = _rounded_up(box[side + 2])
        nodes.bests[node] = _rounded_up(best)


@bare
def _rounded_up(number):
    """A number as one of half the bits that is not less."""
    if number > _MOST:
        return np.float32(np.inf)
    if -np.inf < number < -_MOST:
        return np.float32(-_MOST)
    near = np.float32(number)
    return near if np.float64(near) >= number else np.nextafter(near, np.float32(np.inf))
