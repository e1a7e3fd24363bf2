"""Matching in a BE*-tree: the k best with pruning of p-nodes and l-nodes (§VI), and all matches.

The p-nodes of the root are taken best first by their bound, and so are, once k hits are known,
the l-nodes below them.  What has a bound below the k-th best score is left out.
"""

from numba import njit

from indexes.boolean.kernels import NIL, bare, hot
from indexes.boolean.matching import close_event, spread, unspread
from indexes.boolean.ranking import sort_best_first
from indexes.boolean.tree_bounds import SLACK, drop_best, heapify, order_leaves, weigh_event
from indexes.boolean.tree_layout import COUNT
from indexes.boolean.tree_leaves import (
    EVALUATED,
    PRUNED,
    VISITED,
    list_leaf,
    prefetch_leaf,
    prefetch_members,
    read_leaf,
)
from indexes.boolean.tree_stab import clear_event, encode_event, find_leaves, new_scratch

_AHEAD = 6  # l-nodes that are asked for before they are read
_DENSE = 4  # times fewer that pass all tests than members
_NEVER = 1 << 62  # more hits than there can be


@hot
def _open_partitions(t, events, i, s):
    """Queue the root's p-nodes that an event reaches, the best first; return how many."""
    waiting = 0
    for at in range(events.starts[i], events.starts[i + 1]):
        pnode = t.at_root[events.columns[at]]
        if pnode != NIL:
            s.partitions[waiting], s.tops[waiting] = pnode, t.p_top[pnode]
            waiting += 1
    heapify(s.tops, s.partitions, waiting)
    return waiting


@hot
def _read_any(t, r, s, leaves, most, k, ids, scores, size, counted):
    """Read l-nodes in `found` until k hits are known; return hits and what is left."""
    while leaves and size < k:
        leaves -= 1
        if leaves >= _AHEAD:
            prefetch_leaf(t, s.found[leaves - _AHEAD])
        size = read_leaf(t, r, s.found[leaves], s, most, k, ids, scores, size, counted)
    return size, leaves


@hot
def _read_best(t, r, s, leaves, columns, most, ones, dense, k, ids, scores, size, counted):
    """Read the other l-nodes in `found`, about the best first, unless their bounds forbid."""
    left = order_leaves(t, s, leaves, columns, ones, ids, scores)
    counted[PRUNED] += leaves - left
    for j in range(left):
        if j + 2 < left and not s.bounds[s.places[j + 2]] < scores[0]:
            prefetch_leaf(t, s.found[s.places[j + 2]])
            if dense:
                prefetch_members(t, s.found[s.places[j + 2]])
        node, bound = s.found[s.places[j]], s.bounds[s.places[j]]
        if bound < scores[0] or (bound == scores[0] and t.oldest[node] > ids[0]):
            counted[PRUNED] += 1
        else:
            size = read_leaf(t, r, node, s, most, k, ids, scores, size, counted)
    return size


@bare
def rank_one(t, r, codes, events, i, s, prune, ids, scores, counted):
    """The best of what matches event i; return how many (Algorithm 6)."""
    encode_event(codes, events, i, s.seen)
    most, ones, columns = weigh_event(events, i, s.worth, s.by_worth)
    most = most if ones else most * SLACK
    size, k = 0, len(ids) if prune else _NEVER
    waiting = _open_partitions(t, events, i, s)
    # The root's own l-node comes first.
    s.found[0], leaves = 0, 1 if t.c[0, COUNT] else 0
    while True:
        if ones or waiting == 0:
            seen, before = counted[VISITED], counted[EVALUATED]
            size, leaves = _read_any(t, r, s, leaves, most, k, ids, scores, size, counted)
            # Where most members pass the tests of codes, all of them are asked for in advance.
            dense = _DENSE * (counted[EVALUATED] - before) > counted[VISITED] - seen
            if leaves:
                size = _read_best(
                    t, r, s, leaves, columns, most, ones, dense, k, ids, scores, size, counted
                )
            leaves = 0
        if waiting == 0 or (size == k and s.tops[0] * most < scores[0]):
            break
        # Where all weights are 1 the bounds of p-nodes are exact, and one after another is read.
        # Otherwise they say little, and the l-nodes of all p-nodes are ranked together.
        least = scores[0] / SLACK if size == k else -1.0
        pnode = s.partitions[0]
        waiting = drop_best(s.tops, s.partitions, waiting)
        leaves = find_leaves(t, pnode, least, s, leaves)
    sort_best_first(ids, scores, size)
    clear_event(events, i, s.seen, s.worth)
    return size


@njit(cache=True)
def rank(t, r, codes, events, columns, prune, table, counted):
    s = new_scratch(columns, len(t.c))
    for i in range(len(events.starts) - 1):
        spread(events, i, s.values, s.weights)
        ids, scores = table.ids[i], table.scores[i]
        table.counts[i] = rank_one(t, r, codes, events, i, s, prune, ids, scores, counted)
        unspread(events, i, s.values)


@bare
def list_one(t, r, codes, events, i, s, ids, end, counted):
    """Append the ids of what matches event i; return where they end, or NIL without room."""
    encode_event(codes, events, i, s.seen)
    s.found[0], leaves = 0, 1  # the root's own l-node comes first
    at = events.starts[i]
    while end != NIL:
        for j in range(leaves):
            if end + t.c[s.found[j], COUNT] > len(ids):
                end = NIL
                break
            end = list_leaf(t, r, s.found[j], s, ids, end, counted)
        if at == events.starts[i + 1]:
            break
        pnode = t.at_root[events.columns[at]]
        leaves = 0 if pnode == NIL else find_leaves(t, pnode, -1.0, s, 0)
        at += 1
    clear_event(events, i, s.seen, s.worth)
    return end


@njit(cache=True)
def collect(t, r, codes, events, columns, first, starts, ids, counted):
    s = new_scratch(columns, len(t.c))
    for i in range(first, len(events.starts) - 1):
        spread(events, i, s.values, s.weights)
        end = list_one(t, r, codes, events, i, s, ids, starts[i], counted)
        unspread(events, i, s.values)
        if end == NIL:
            return i
        starts[i + 1] = close_event(ids, starts[i], end)
    return len(events.starts) - 1
