"""Filtering with an MBRTrie (the seed, §3.2 and §3.3): all matches, or the best ones.

A candidate pair is a node, all of whose path is in the message and whose box meets the message's,
with how many of the message's tokens, sorted by key, are behind it in the path's order: only those
after them can come next.  The pairs below a pair are found by reading the node's children and
asking for each whether the message has it (ProbeTokenSet), or by asking for each of the message's
tokens whether the node has such a child (ProbeTrie): the latter by binary search, at the root of
the largest trie by a table.  Whether the message has a token is a bit, where the seed has another
binary search.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from indexes.hits import better, offer, sort_best_first
from indexes.kernels import NIL
from indexes.kernels.decorators import bare, fused, inner
from indexes.kernels.prefetch import prefetch
from indexes.spatial_text.records import boxes_meet
from indexes.spatial_text.token_order import BASE_KEY
from indexes.spatial_text.trie_nodes import (
    CHILDREN_END,
    END_KEY,
    FANOUT,
    FIRST_CHILD,
    START,
    STOP,
    Nodes,
)

__all__ = [
    "COST_BASED", "PROBED", "PROBE_TOKEN_SET", "PROBE_TRIE", "VERIFIED", "VISITED", "Trie",
    "match_trie", "rank_trie",
]  # fmt: skip

PROBE_TOKEN_SET, PROBE_TRIE, COST_BASED = range(3)
VISITED, PROBED, VERIFIED = range(3)  # of `counted`: nodes; children and tokens asked for; rows

# To ask for a token by binary search takes as long, for each bit of the number of children, as to
# read so many children (measured).
_PROBE_COST = 3
_AHEAD = 4  # pairs that are prefetched before they are visited


class Trie(NamedTuple):
    """All runs: their roots, and in `rows` the rows of each, then those not in a run yet."""

    nodes: Nodes
    rows: np.ndarray  # i4[places]  NIL where a subscription was deleted
    roots: np.ndarray  # i4[runs]  the first one, if it has a table, is the largest
    loose: np.ndarray  # i8[2]  the places of rows that are in no run
    root_table: np.ndarray  # i4[base keys]  the child of the first root with a key, or NIL
    keys: np.ndarray  # i4[tokens]  see `TokenKeys`
    key_range: np.ndarray  # i8[2]  the lowest key, and one more than the highest


class _Marks(NamedTuple):
    """The message's tokens as bits, by number and by key."""

    tokens: np.ndarray  # i8[...]
    keys: np.ndarray  # i8[...]


@njit(cache=True, nogil=True)
def match_trie(trie, table, boxes, tokens, sorted_keys, starts, algorithm, counted):
    """The ids that match each message, in no order, and where those of each message begin."""
    found, used = np.empty(1024, np.int64), 0
    found_starts = np.zeros(len(boxes) + 1, np.int64)
    stack = np.empty((1024, 2), np.int32)
    marks = _new_marks(trie)
    for message in range(len(boxes)):
        first, last = starts[message], starts[message + 1]
        if first < last:
            box, keys = boxes[message], sorted_keys[first:last]
            _mark(marks, trie, tokens[first:last], keys)
            found = _with_room(found, used, trie.loose[1] - trie.loose[0])
            used = _collect(
                trie, table, marks, trie.loose[0], trie.loose[1], box, True, found, used, counted
            )
            for root in trie.roots:
                stack[0, 0], stack[0, 1] = root, 0
                top = 1
                while top:
                    top -= 1
                    node, behind = np.int64(stack[top, 0]), np.int64(stack[top, 1])
                    _prefetch_pairs(trie, table, stack, top)
                    counted[VISITED] += 1
                    low, high = np.int64(trie.nodes.heads[node, START]), _read_to(trie.nodes, node)
                    found = _with_room(found, used, high - low)
                    textual = _is_bucket(trie.nodes, node)
                    used = _collect(
                        trie, table, marks, low, high, box, textual, found, used, counted
                    )
                    stack = _with_room_for_pairs(stack, top, _most_pairs(trie.nodes, node, keys))
                    top = _select_pairs(
                        trie, marks, node, behind, box, keys, algorithm, stack, top, counted
                    )
            _unmark(marks, trie, tokens[first:last], keys)
        found_starts[message + 1] = used
    return found[:used], found_starts


@njit(cache=True, nogil=True)
def rank_trie(trie, table, boxes, tokens, sorted_keys, starts, algorithm, hits, counted):
    """Fill `hits` with the best matches of each message: pairs are visited by their best score."""
    pairs, heap = np.empty((1024, 2), np.int32), np.empty((1024, 2), np.int32)
    marks = _new_marks(trie)
    for message in range(len(boxes)):
        first, last = starts[message], starts[message + 1]
        if first < last:
            box, keys = boxes[message], sorted_keys[first:last]
            ids, scores = hits.ids[message], hits.scores[message]
            _mark(marks, trie, tokens[first:last], keys)
            size = _offer_all(
                trie, table, marks, trie.loose[0], trie.loose[1], box, True, ids, scores, 0, counted
            )
            waiting = 0
            for root in trie.roots:
                heap = _with_room_for_pairs(heap, waiting, 1)
                waiting = _push(trie.nodes.bests, heap, waiting, np.int64(root), 0)
            while waiting:
                node, behind = np.int64(heap[0, 0]), np.int64(heap[0, 1])
                if size == len(ids) and trie.nodes.bests[node] < scores[0]:
                    break
                waiting = _pop(trie.nodes.bests, heap, waiting)
                counted[VISITED] += 1
                low, high = np.int64(trie.nodes.heads[node, START]), _read_to(trie.nodes, node)
                textual = _is_bucket(trie.nodes, node)
                size = _offer_all(
                    trie, table, marks, low, high, box, textual, ids, scores, size, counted
                )
                pairs = _with_room_for_pairs(pairs, 0, _most_pairs(trie.nodes, node, keys))
                selected = _select_pairs(
                    trie, marks, node, behind, box, keys, algorithm, pairs, 0, counted
                )
                heap = _with_room_for_pairs(heap, waiting, selected)
                for i in range(selected):
                    child = np.int64(pairs[i, 0])
                    if size < len(ids) or trie.nodes.bests[child] >= scores[0]:
                        waiting = _push(
                            trie.nodes.bests, heap, waiting, child, np.int64(pairs[i, 1])
                        )
            sort_best_first(ids, scores, size)
            hits.counts[message] = size
            _unmark(marks, trie, tokens[first:last], keys)


@fused
def _prefetch_pairs(trie, table, stack, top):
    """Load what will be read for pairs that are visited soon; those of the base are rows, too."""
    if top >= 2 * _AHEAD:
        prefetch(trie.nodes.heads, 4 * np.int64(stack[top - 2 * _AHEAD, 0]))
    if top >= _AHEAD:
        place = np.int64(trie.nodes.heads[stack[top - _AHEAD, 0], START])
        prefetch(trie.rows, place)
        for row in range(place, place + 8, 2):
            prefetch(table.boxes, 4 * row)


@fused
def _children(nodes, node):
    return np.int64(nodes.heads[node, CHILDREN_END] - nodes.heads[node, FIRST_CHILD])


@fused
def _most_pairs(nodes, node, keys):
    """No more than children; those that have a token, no more than the message."""
    return min(_children(nodes, node), FANOUT + len(keys))


@fused
def _read_to(nodes, node):
    """Where the places end that are read when a node is visited."""
    if _children(nodes, node):
        return np.int64(nodes.heads[nodes.heads[node, FIRST_CHILD], START])
    return np.int64(nodes.heads[node, STOP])


@fused
def _is_bucket(nodes, node):
    """Whether subscriptions that are read there may have tokens that nobody has looked at."""
    return _children(nodes, node) == 0 and nodes.keys[node] != END_KEY


@bare
def _select_pairs(trie, marks, node, behind, box, keys, algorithm, pairs, used, counted):
    """The candidate pairs right below a pair (the seed's SelectPair), written from `used` on."""
    nodes = trie.nodes
    child, end = np.int64(nodes.heads[node, FIRST_CHILD]), np.int64(nodes.heads[node, CHILDREN_END])
    while child < end and nodes.keys[child] <= END_KEY:
        if _meets(nodes.boxes, child, box):
            pairs[used, 0], pairs[used, 1] = child, behind
            used += 1
        child += 1
    left = len(keys) - behind
    if child == end or left == 0:
        return used
    by_table = len(trie.root_table) > 0 and node == trie.roots[0]
    bits = 1 if by_table else _bit_length(end - child)
    if algorithm == PROBE_TRIE or (
        algorithm == COST_BASED and _PROBE_COST * bits * left < end - child
    ):
        counted[PROBED] += left
        if by_table:
            return _probe_table(trie, box, keys, pairs, used)
        return _probe_children(nodes, child, end, box, keys, behind, pairs, used)
    counted[PROBED] += end - child
    return _probe_tokens(trie, marks, child, end, box, keys, behind, pairs, used)


@bare
def _probe_tokens(trie, marks, child, end, box, keys, behind, pairs, used):
    nodes, lowest = trie.nodes, trie.key_range[0]
    for node in range(child, end):
        key = np.int64(nodes.keys[node])
        if _has(marks.keys, key - lowest) and _meets(nodes.boxes, node, box):
            behind = _first_not_less(keys, behind, len(keys), key) + 1
            pairs[used, 0], pairs[used, 1] = node, behind
            used += 1
    return used


@bare
def _probe_children(nodes, child, end, box, keys, behind, pairs, used):
    for i in range(behind, len(keys)):
        key = np.int64(keys[i])
        child = _first_not_less(nodes.keys, child, end, key)
        if child == end:
            break
        if nodes.keys[child] == key:
            if _meets(nodes.boxes, child, box):
                pairs[used, 0], pairs[used, 1] = child, i + 1
                used += 1
            child += 1
    return used


@bare
def _probe_table(trie, box, keys, pairs, used):
    """First all children that there are, then those whose boxes meet the message's."""
    first = used
    for i in range(len(keys)):
        key = np.int64(keys[i]) - BASE_KEY
        if 0 <= key < len(trie.root_table) and trie.root_table[key] != NIL:
            pairs[used, 0], pairs[used, 1] = trie.root_table[key], i + 1
            prefetch(trie.nodes.boxes, 4 * np.int64(trie.root_table[key]))
            used += 1
    kept = first
    for pair in range(first, used):
        if _meets(trie.nodes.boxes, np.int64(pairs[pair, 0]), box):
            pairs[kept, 0], pairs[kept, 1] = pairs[pair, 0], pairs[pair, 1]
            kept += 1
    return kept


@fused
def _meets(boxes, node, box):
    return (
        boxes[node, 0] <= box[2]
        and boxes[node, 2] >= box[0]
        and boxes[node, 1] <= box[3]
        and boxes[node, 3] >= box[1]
    )


@bare
def _first_not_less(keys, low, high, key):
    while low < high:
        middle = (low + high) >> 1
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low


@bare
def _bit_length(number):
    bits = 0
    while number:
        bits += 1
        number >>= 1
    return bits


@bare
def _collect(trie, table, marks, low, high, box, textual, found, used, counted):
    """The verification: rows by place, and with `textual` by their tokens too."""
    counted[VERIFIED] += high - low
    for place in range(low, high):
        row = np.int64(trie.rows[place])
        if (
            row != NIL
            and boxes_meet(table.boxes, row, box)
            and (not textual or _has_all(table, marks, row))
        ):
            found[used] = table.ids[row]
            used += 1
    return used


@bare
def _offer_all(trie, table, marks, low, high, box, textual, ids, scores, size, counted):
    counted[VERIFIED] += high - low
    for place in range(low, high):
        row = np.int64(trie.rows[place])
        if (
            row != NIL
            and boxes_meet(table.boxes, row, box)
            and (size < len(ids) or better(table.scores[row], table.ids[row], scores[0], ids[0]))
            and (not textual or _has_all(table, marks, row))
        ):
            size = offer(ids, scores, size, table.ids[row], table.scores[row])
    return size


@fused
def _has_all(table, marks, row):
    first = np.int64(table.starts[row])
    for place in range(first, first + table.sizes[row]):
        if not _has(marks.tokens, np.int64(table.tokens[place])):
            return False
    return True


@fused
def _has(bits, at):
    return (bits[at >> 6] >> (at & 63)) & 1 != 0


@inner
def _new_marks(trie):
    keys = trie.key_range[1] - trie.key_range[0]
    return _Marks(
        np.zeros((len(trie.keys) >> 6) + 1, np.int64), np.zeros((keys >> 6) + 1, np.int64)
    )


@bare
def _mark(marks, trie, tokens, keys):
    for token in tokens:
        marks.tokens[token >> 6] |= np.int64(1) << (np.int64(token) & 63)
    for key in keys:
        at = np.int64(key) - trie.key_range[0]
        marks.keys[at >> 6] |= np.int64(1) << (at & 63)


@bare
def _unmark(marks, trie, tokens, keys):
    for token in tokens:
        marks.tokens[token >> 6] = 0
    for key in keys:
        marks.keys[(np.int64(key) - trie.key_range[0]) >> 6] = 0


@inner
def _with_room(found, used, more):
    if used + more <= len(found):
        return found
    longer = np.empty(2 * (used + more), np.int64)
    longer[:used] = found[:used]
    return longer


@inner
def _with_room_for_pairs(pairs, used, more):
    if used + more <= len(pairs):
        return pairs
    longer = np.empty((2 * (used + more), 2), np.int32)
    longer[:used] = pairs[:used]
    return longer


@bare
def _push(bests, heap, size, node, behind):
    at = size
    while at and bests[heap[(at - 1) >> 1, 0]] < bests[node]:
        above = (at - 1) >> 1
        heap[at, 0], heap[at, 1] = heap[above, 0], heap[above, 1]
        at = above
    heap[at, 0], heap[at, 1] = node, behind
    return size + 1


@bare
def _pop(bests, heap, size):
    """Take the pair with the best score out."""
    size -= 1
    node, behind, at = heap[size, 0], heap[size, 1], 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and bests[heap[child + 1, 0]] > bests[heap[child, 0]]:
            child += 1
        if not bests[heap[child, 0]] > bests[node]:
            break
        heap[at, 0], heap[at, 1] = heap[child, 0], heap[child, 1]
        at = child
    heap[at, 0], heap[at, 1] = node, behind
    return size
