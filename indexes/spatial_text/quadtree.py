"""The quadtree under `PTQuadtree` (§4.1): nodes, their lists, and how regions are divided.

Places are whole numbers.  A grid of 2**24 x 2**24 lies over the region of all boxes, and a
coordinate is the grid line at or below it; what lies beyond the region is on its edge.  That keeps
order, so boxes that meet have lines in common, whatever was rounded, and an infinite side is as
good as any.  The node at depth d has a square of 2**(24 - d) lines a side; its four children have a
quarter each.

A subscription lies in nodes whose squares together are all that its box touches: on the way down it
is kept by a leaf, or by the first node that is as the placement says:

    SPREAD       the box covers the whole square
    LEAVES_ONLY  none is: the seed's first choice
    MX_CIF       the box is in no single one of the node's children: it is in one node

SPREAD is how the seed's buffer is spent: small boxes are pushed down to leaves, and one that
covers a country, or everything, is not copied to each of its leaves.

A leaf is divided when so many subscriptions (`tau_num`) would go further down, if its children are
not smaller than `tau_area` and together do not get `most_copies` times as many or more: boxes that
cover most of a region, the same ones perhaps, would be copied for ever, and twice as many are along
an edge that boxes have in common, at each level again.

Layout: a node is a row of `nodes`, one cache line, and of `bounds`; children are four rows in a
row, from the lower left one in steps of x, then y.  A list is a run of `entries`, (row, key, other,
square): the key is the rarest token of the subscription at that time, `other` its second rarest
(the same one, where there is none), turned round (~) if it has still more, and `square` the box in
128ths of the node's square, a byte a side.  So most of what does not match is seen without a look
at the records.  The first entries of a list are ordered by key, ORDERED of them; new ones follow
until they are a part of the list.  Lists and pivotal sets that grow move to the end of their
column; the gaps are closed when they are half of it.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from indexes.kernels import NIL
from indexes.kernels.decorators import bare, fused, inner
from indexes.kernels.sorting import stable_order

__all__ = [
    "CHILD",
    "COUNT",
    "COVERS",
    "DEEPEST",
    "DEPTH",
    "DUE",
    "FILLED",
    "GRID_BITS",
    "HELD",
    "KEPT",
    "LEAVES",
    "LEAVES_ONLY",
    "LIST",
    "MX_CIF",
    "OPEN",
    "ORDERED",
    "PARENT",
    "PIVOTS",
    "ROOM",
    "SET",
    "SETS_FILLED",
    "SETS_KEPT",
    "SET_ROOM",
    "SPREAD",
    "USED",
    "Quadtree",
    "Region",
    "Rules",
    "X",
    "Y",
    "append_entry",
    "begins_inside",
    "divide_level",
    "gather_lists",
    "grid_box",
    "keeps",
    "key_tokens",
    "keys_of",
    "new_quadtree",
    "ordered_by_key",
    "region_around",
    "set_size",
    "sides_taken",
    "square_meets",
    "square_of",
    "square_to_meet",
    "squares_meet",
    "surely_meet",
    "with_room",
]  # fmt: skip

GRID_BITS = 24
DEEPEST = 20
SPREAD, LEAVES_ONLY, MX_CIF = range(3)  # placements

# Columns of `nodes`.  X and Y are the square's lowest lines; LEAVES and HELD count what is below,
# the node included; RETRY is the number of entries at which a leaf is looked at again.  A pivotal
# set is COVERS tokens, then others, PIVOTS in all, or OPEN: so many that it would
# prune nothing, but for the cover tokens.
X, Y, DEPTH, PARENT, CHILD, LEAVES, HELD, LIST = range(8)
COUNT, ROOM, ORDERED, RETRY, SET, COVERS, PIVOTS, SET_ROOM = range(8, 16)
OPEN = -1

# Fields of `state`: rows of `nodes` in use, places of `entries` and of `sets` in front of the room,
# entries and tokens of sets that are in lists and sets, leaves that wait to be divided.
USED, FILLED, KEPT, SETS_FILLED, SETS_KEPT, DUE = range(6)


class Quadtree(NamedTuple):
    nodes: np.ndarray  # i4[capacity, 16]
    bounds: np.ndarray  # f8[capacity, 2]  no score is greater: below the node; in its own list
    entries: np.ndarray  # i4[..., 4]
    sets: np.ndarray  # i4[...]  tokens
    state: np.ndarray  # i8[6]


class Region(NamedTuple):
    """What the grid lies over: (low, high, grid lines per unit), of x and of y."""

    x: tuple[float, float, float]
    y: tuple[float, float, float]


class Rules(NamedTuple):
    tau_num: int
    deepest: int  # no node is below
    placement: int  # SPREAD, LEAVES_ONLY or MX_CIF
    most_copies: float  # of a subscription on average, for one division
    most_pivots: int  # of a set; a larger one is OPEN
    rarest: int  # 1: a list's pivotal tokens are its keys; 0: the seed's greedy choice


def new_quadtree() -> Quadtree:
    """A root without anything, and no room."""
    nodes = np.zeros((1, 16), np.int32)
    nodes[0, [PARENT, CHILD]] = NIL
    nodes[0, LEAVES] = 1
    state = np.zeros(6, np.int64)
    state[USED] = 1
    return Quadtree(
        nodes,
        np.full((1, 2), -np.inf),
        np.empty((0, 4), np.int32),
        np.empty(0, np.int32),
        state,
    )


def with_room(q: Quadtree, nodes: int = 0, entries: int = 0, tokens: int = 0) -> Quadtree:
    """The tree with room for so many more."""
    state = q.state
    if state[USED] + nodes > len(q.nodes):
        more = max(nodes, int(state[USED]) // 4)
        q = q._replace(
            nodes=_longer(q.nodes, int(state[USED]), more),
            bounds=_longer(q.bounds, int(state[USED]), more),
        )
    if state[FILLED] + entries > len(q.entries):
        closing = 2 * state[KEPT] < state[FILLED]
        kept = int(state[KEPT] if closing else state[FILLED])
        new = np.empty((kept + max(entries, kept // 8), 4), np.int32)
        if closing:
            _close_entries(q, new)
        else:
            new[:kept] = q.entries[:kept]
        q = q._replace(entries=new)
    if state[SETS_FILLED] + tokens > len(q.sets):
        closing = 2 * state[SETS_KEPT] < state[SETS_FILLED]
        kept = int(state[SETS_KEPT] if closing else state[SETS_FILLED])
        sets = np.empty(kept + max(tokens, kept // 8), np.int32)
        if closing:
            _close_sets(q, sets)
        else:
            sets[:kept] = q.sets[:kept]
        q = q._replace(sets=sets)
    return q


def _longer(array: np.ndarray, used: int, more: int) -> np.ndarray:
    new = np.zeros((used + more, array.shape[1]), array.dtype)
    new[:used] = array[:used]
    return new


def region_around(boxes: np.ndarray) -> Region:
    """The least region around the finite sides of boxes, without a few that are far off.

    Where all of them lie in more than 16 times the space of most, the rest go to the edge.
    """
    return Region(_axis(boxes[:, [0, 2]].ravel()), _axis(boxes[:, [1, 3]].ravel()))


def _axis(sides: np.ndarray) -> tuple[float, float, float]:
    sides = sides[np.isfinite(sides)]
    if not len(sides):
        return 0.0, 0.0, 0.0
    low, high = float(sides.min()), float(sides.max())
    most_low, most_high = np.quantile(sides, (0.001, 0.999)).tolist()
    if high / 16 - low / 16 > most_high - most_low > 0:
        low, high = most_low, most_high
    with np.errstate(over="ignore", divide="ignore"):
        scale = float(np.float64(2**GRID_BITS - 1) / (np.float64(high) - low))
    return low, high, scale if np.isfinite(scale) else 0.0


@fused
def _line(value, axis):
    inside = min(max(value, axis[0]), axis[1])
    return np.int64((inside - axis[0]) * axis[2])


@fused
def grid_box(region, boxes, i):
    """The grid lines (x_low, y_low, x_high, y_high) of a box."""
    return (
        _line(boxes[i, 0], region.x),
        _line(boxes[i, 1], region.y),
        _line(boxes[i, 2], region.x),
        _line(boxes[i, 3], region.y),
    )


@fused
def keeps(q, rules, node, box):
    """Whether a node with children has a box with these lines in its own list."""
    depth = q.nodes[node, DEPTH]
    if rules.placement == LEAVES_ONLY:
        return depth >= rules.deepest
    if rules.placement == MX_CIF:
        differing = (box[0] ^ box[2]) | (box[1] ^ box[3])
        return differing >> (GRID_BITS - depth - 1) != 0
    side = 1 << (GRID_BITS - depth)
    x, y = q.nodes[node, X], q.nodes[node, Y]
    return box[0] <= x and box[1] <= y and box[2] >= x + side - 1 and box[3] >= y + side - 1


@fused
def set_size(q, node):
    """How many tokens are there of a node's pivotal set."""
    return q.nodes[node, COVERS] if q.nodes[node, PIVOTS] == OPEN else q.nodes[node, PIVOTS]


@fused
def square_meets(q, node, box):
    """Whether a node's square and a box have grid lines in common."""
    side = 1 << (GRID_BITS - q.nodes[node, DEPTH])
    x, y = q.nodes[node, X], q.nodes[node, Y]
    return box[0] < x + side and box[2] >= x and box[1] < y + side and box[3] >= y


@fused
def _in_128ths(line, low, shift):
    inside = line - low
    place = inside >> shift if shift >= 0 else inside << -shift
    return min(max(place, 0), 127)


@fused
def square_of(q, node, box):
    """A box in 128ths of a node's square, a byte a side.

    The lower bytes say how far its low sides are from the far end, the upper ones how far its high
    sides are from the near one: two boxes meet if each byte of one is at least the same byte of the
    other's `square_to_meet`, which a single subtraction finds out.
    """
    shift = GRID_BITS - q.nodes[node, DEPTH] - 7
    x, y = q.nodes[node, X], q.nodes[node, Y]
    return (
        (127 - _in_128ths(box[0], x, shift))
        | (127 - _in_128ths(box[1], y, shift)) << 8
        | _in_128ths(box[2], x, shift) << 16
        | _in_128ths(box[3], y, shift) << 24
    )


@fused
def square_to_meet(q, node, box):
    return square_of(q, node, (box[2], box[3], box[0], box[1]))


@fused
def squares_meet(square, to_meet):
    return ((np.int64(square) | 0x80808080) - to_meet) & 0x80808080 == 0x80808080


@fused
def key_tokens(table, row, frequencies):
    """The key and the other token of a subscription, as entries have them."""
    first, size = table.starts[row], table.sizes[row]
    key = table.tokens[first]
    if size == 1:
        return key, key
    other = np.int32(NIL)
    for place in range(first + 1, first + size):
        token = table.tokens[place]
        if frequencies[token] < frequencies[key]:
            key, other = token, key
        elif other == NIL or frequencies[token] < frequencies[other]:
            other = token
    return key, other if size == 2 else ~other


@fused
def surely_meet(square, to_meet):
    """Whether boxes meet for certain: none of their sides are in the same 128th."""
    return ((np.int64(square) | 0x80808080) - (to_meet + 0x01010101)) & 0x80808080 == 0x80808080


@fused
def begins_inside(square):
    """Whether the low sides of a box, which meets a node's square, are certainly inside of it."""
    return square & 0x7F != 127 and square >> 8 & 0x7F != 127


def ordered_by_key(table, rows: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
    """The rows in the order of their keys, which all lists have if a tree is laid out so."""
    return rows[stable_order(keys_of(table, rows, frequencies))]


@njit(cache=True, nogil=True)
def keys_of(table, rows, frequencies):
    keys = np.empty(len(rows), np.int32)
    for i in range(len(rows)):
        keys[i] = key_tokens(table, rows[i], frequencies)[0]
    return keys


@fused
def _write_entry(q, at, table, row, frequencies, node, box):
    key, other = key_tokens(table, row, frequencies)
    q.entries[at, 0], q.entries[at, 1], q.entries[at, 2] = row, key, other
    q.entries[at, 3] = np.int32(square_of(q, node, box))


@inner
def order_list(q, node):
    """Merge the entries of a list that came last into those that are ordered by key."""
    first, count = q.nodes[node, LIST], q.nodes[node, COUNT]
    ordered = q.nodes[node, ORDERED]
    if ordered == count:
        return
    added = q.entries[first + ordered : first + count].copy()
    order = np.argsort(added[:, 1])
    at, old = first + count - 1, first + ordered - 1
    new = len(order) - 1
    while new >= 0:
        if old >= first and q.entries[old, 1] > added[order[new], 1]:
            q.entries[at] = q.entries[old]
            old -= 1
        else:
            q.entries[at] = added[order[new]]
            new -= 1
        at -= 1
    q.nodes[node, ORDERED] = count


@inner
def append_entry(q, table, row, frequencies, rules, node, box):
    """Put a row on a node's list; False, and nothing is done, if there is no room for the list."""
    count, room = q.nodes[node, COUNT], q.nodes[node, ROOM]
    if count == room:
        room = count + count // 4 + 4
        if q.state[FILLED] + room > len(q.entries):
            return False
        old, new = q.nodes[node, LIST], q.state[FILLED]
        for i in range(count):
            for column in range(4):
                q.entries[new + i, column] = q.entries[old + i, column]
        q.state[FILLED] += room
        q.state[KEPT] += room - count
        q.nodes[node, LIST], q.nodes[node, ROOM] = new, room
    _write_entry(q, q.nodes[node, LIST] + count, table, row, frequencies, node, box)
    q.nodes[node, COUNT] = count + 1
    if count + 1 - q.nodes[node, ORDERED] > 16 + (count >> 3):
        order_list(q, node)
    leaf = q.nodes[node, CHILD] == NIL
    if leaf and count + 1 == max(q.nodes[node, RETRY], rules.tau_num):
        q.state[DUE] += 1
    return True


@njit(cache=True, nogil=True)
def gather_lists(q, rules):
    """The leaves that wait to be divided, and their rows by key; the lists are empty afterwards."""
    leaves, total = 0, 0
    for node in range(q.state[USED]):
        count = q.nodes[node, COUNT]
        if q.nodes[node, CHILD] == NIL and count >= max(q.nodes[node, RETRY], rules.tau_num):
            leaves += 1
            total += count
    chosen, starts = np.empty(leaves, np.int32), np.zeros(leaves + 1, np.int64)
    rows = np.empty(total, np.int32)
    i = 0
    for node in range(q.state[USED]):
        count = q.nodes[node, COUNT]
        if q.nodes[node, CHILD] == NIL and count >= max(q.nodes[node, RETRY], rules.tau_num):
            order_list(q, node)
            for j in range(count):
                rows[starts[i] + j] = q.entries[q.nodes[node, LIST] + j, 0]
            chosen[i], starts[i + 1] = node, starts[i] + count
            q.state[KEPT] -= q.nodes[node, ROOM]
            for column in (LIST, COUNT, ROOM, ORDERED):
                q.nodes[node, column] = 0
            i += 1
    q.state[DUE] = 0
    return chosen, rows, starts


@njit(cache=True, nogil=True)
def sides_taken(q, table, region, rules, nodes, rows, starts):
    """Which children each row of these leaves would go to, as bits; 0: it stays.

    Also, for each leaf, whether it is to be divided, and how many rows it then has for its
    children in all.
    """
    taken = np.zeros(len(rows), np.uint8)
    divided = np.zeros(len(nodes), np.bool_)
    for i in range(len(nodes)):
        node = nodes[i]
        depth = q.nodes[node, DEPTH]
        if starts[i + 1] - starts[i] < rules.tau_num or depth >= rules.deepest:
            continue
        half = 1 << (GRID_BITS - depth - 1)
        x, y = q.nodes[node, X] + half, q.nodes[node, Y] + half
        moving, copies = 0, 0
        for j in range(starts[i], starts[i + 1]):
            box = grid_box(region, table.boxes, rows[j])
            if keeps(q, rules, node, box):
                continue
            bits = 0
            if box[1] < y:
                bits |= (box[0] < x) | (box[2] >= x) << 1
            if box[3] >= y:
                bits |= (box[0] < x) << 2 | (box[2] >= x) << 3
            taken[j] = bits
            moving += 1
            copies += (bits & 1) + (bits >> 1 & 1) + (bits >> 2 & 1) + (bits >> 3)
        divided[i] = moving >= rules.tau_num and copies < rules.most_copies * moving
    return taken, divided


@njit(cache=True, nogil=True)
def divide_level(q, table, region, frequencies, nodes, rows, starts, taken, divided):
    """Give leaves their lists, and children to those to be divided; what these are to get follows.

    Rows of a node are in the order of their keys.  There is room.
    """
    children = 4 * divided.sum()
    counts = np.zeros(children + 1, np.int64)
    child = 0
    for i in range(len(nodes)):
        if divided[i]:
            for j in range(starts[i], starts[i + 1]):
                for side in range(4):
                    counts[child + side + 1] += taken[j] >> side & 1
            child += 4
    next_starts = np.cumsum(counts)
    next_rows = np.empty(next_starts[-1], np.int32)
    next_nodes = np.empty(children, np.int32)
    at = next_starts.copy()
    child = 0
    for i in range(len(nodes)):
        node = nodes[i]
        if divided[i]:
            _give_children(q, node)
            for side in range(4):
                next_nodes[child + side] = q.nodes[node, CHILD] + side
        first = q.state[FILLED]
        count = 0
        for j in range(starts[i], starts[i + 1]):
            if divided[i] and taken[j]:
                for side in range(4):
                    if taken[j] >> side & 1:
                        next_rows[at[child + side]] = rows[j]
                        at[child + side] += 1
            else:
                box = grid_box(region, table.boxes, rows[j])
                _write_entry(q, first + count, table, rows[j], frequencies, node, box)
                count += 1
        child += 4 * divided[i]
        q.nodes[node, LIST], q.nodes[node, ROOM] = first, count
        q.nodes[node, COUNT] = count
        q.nodes[node, ORDERED] = count if _is_ordered(q, first, count) else 0
        order_list(q, node)
        q.nodes[node, RETRY] = 2 * count
        q.state[FILLED] += count
        q.state[KEPT] += count
    return next_nodes, next_rows, next_starts


@bare
def _is_ordered(q, first, count):
    ordered = True
    for at in range(first + 1, first + count):
        ordered &= q.entries[at, 1] >= q.entries[at - 1, 1]
    return ordered


@bare
def _give_children(q, node):
    first = q.state[USED]
    q.state[USED] += 4
    half = 1 << (GRID_BITS - q.nodes[node, DEPTH] - 1)
    for side in range(4):
        child = first + side
        for column in range(16):
            q.nodes[child, column] = 0
        q.nodes[child, X] = q.nodes[node, X] + half * (side & 1)
        q.nodes[child, Y] = q.nodes[node, Y] + half * (side >> 1)
        q.nodes[child, DEPTH] = q.nodes[node, DEPTH] + 1
        q.nodes[child, PARENT], q.nodes[child, CHILD] = node, NIL
        q.nodes[child, LEAVES] = 1
        q.bounds[child, 0] = q.bounds[child, 1] = -np.inf
    q.nodes[node, CHILD] = first
    above = node
    while above != NIL:
        q.nodes[above, LEAVES] += 3
        above = q.nodes[above, PARENT]


@njit(cache=True, nogil=True)
def _close_entries(q, new):
    filled = 0
    for node in range(q.state[USED]):
        first, room = q.nodes[node, LIST], q.nodes[node, ROOM]
        for i in range(q.nodes[node, COUNT]):
            for column in range(4):
                new[filled + i, column] = q.entries[first + i, column]
        q.nodes[node, LIST] = filled
        filled += room
    q.state[FILLED] = filled


@njit(cache=True, nogil=True)
def _close_sets(q, new):
    filled = 0
    for node in range(q.state[USED]):
        first, room = q.nodes[node, SET], q.nodes[node, SET_ROOM]
        for i in range(set_size(q, node)):
            new[filled + i] = q.sets[first + i]
        q.nodes[node, SET] = filled
        filled += room
    q.state[SETS_FILLED] = filled
