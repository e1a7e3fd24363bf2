"""Matching in a BE*-tree: the k best with pruning of p-nodes and l-nodes (§VI), and all matches.

The p-nodes of the root are taken best first by their bound, and so are, once k hits are known,
the l-nodes below them.  What has a bound below the k-th best score is left out.
"""

import numpy as np
from numba import njit

from indexes.boolean.codes import prefetch_codes
from indexes.boolean.matching import close_event, spread, unspread
from indexes.boolean.tree_bounds import weigh_event
from indexes.boolean.tree_layout import COUNT
from indexes.boolean.tree_leaves import list_leaves
from indexes.boolean.tree_queue import drop_best, heapify
from indexes.boolean.tree_rates import SLACK, to_beat
from indexes.boolean.tree_reading import read_leaves
from indexes.boolean.tree_stab import clear_event, encode_event, follow, new_scratch, stab_root
from indexes.hits import sort_best_first
from indexes.kernels import NIL
from indexes.kernels.decorators import fused

_NEVER = 1 << 62  # more hits than there can be
# So many l-nodes, at least, are ranked together where weights differ: then the bounds of p-nodes
# say little.  Where all weights are 1 they are exact, and one p-node after another is read.
_TOGETHER = 32
_AHEAD = 8  # c-nodes that are prefetched, of p-nodes that come next, before one is followed


@fused
def _open_partitions(t, events, i, s):
    """The root's p-nodes that an event reaches; return how many."""
    waiting = 0
    for at in range(events.starts[i], events.starts[i + 1]):
        pnode = t.at_root[events.columns[at]]
        if pnode != NIL:
            s.partitions[waiting], s.tops[waiting] = pnode, t.p_top[pnode]
            waiting += 1
    return waiting


@fused
def _enough(leaves, all_followed, ones):
    """Whether to read the l-nodes found so far."""
    return leaves > 0 and all_followed if ones else leaves >= _TOGETHER


@fused
def rank_one(t, r, codes, events, i, s, prune, ids, scores, counted):
    """The best of what matches event i; return how many (Algorithm 6)."""
    encode_event(codes, events, i, s.seen, s.asked)
    most, ones = weigh_event(events, i, s.worth, s.folded)
    most = most if ones else most * SLACK
    size, k = 0, len(ids) if prune else _NEVER
    waiting = _open_partitions(t, events, i, s)
    heapify(s.tops, s.partitions, waiting)
    s.reached[0], reached = 0, 1 if t.c[0, COUNT] else 0  # the root's own l-node comes first
    done, leaves, ahead = 0, 0, 0 if ones else _AHEAD
    while True:
        score = to_beat(scores) if size == k else -1.0
        if waiting and s.tops[0] * most < score:
            waiting = 0
        least = score / (most * SLACK) if 0.0 < score < np.inf else -1.0
        if _enough(leaves, done == reached, ones) or (waiting == 0 and done == reached):
            size = read_leaves(
                t, r, events, i, s, leaves, most, ones, k, ids, scores, size, counted
            )
            leaves = 0
            if waiting == 0 and done == reached:
                break
        elif done < reached and (waiting == 0 or done + ahead < reached):
            reached, leaves = follow(t, least, s, done, reached, leaves)
            done += 1
        else:
            pnode = s.partitions[0]
            waiting = drop_best(s.tops, s.partitions, waiting)
            reached = stab_root(t, pnode, least, s, reached)
    sort_best_first(ids, scores, size)
    clear_event(events, i, s)
    return size


@njit(cache=True)
def rank(t, r, codes, events, columns, prune, table, counted):
    s = new_scratch(columns, len(t.c))
    for i in range(len(events.starts) - 1):
        prefetch_codes(codes, events, i + 1)
        spread(events, i, s.values, s.weights)
        ids, scores = table.ids[i], table.scores[i]
        table.counts[i] = rank_one(t, r, codes, events, i, s, prune, ids, scores, counted)
        unspread(events, i, s.values)


@fused
def list_one(t, r, codes, events, i, s, ids, end, counted):
    """Append the ids of what matches event i; return where they end, or NIL without room."""
    encode_event(codes, events, i, s.seen, s.asked)
    s.reached[0], reached = 0, 1  # the root's own l-node comes first
    for at in range(events.starts[i], events.starts[i + 1]):
        pnode = t.at_root[events.columns[at]]
        if pnode != NIL:
            reached = stab_root(t, pnode, -1.0, s, reached)
    done, leaves = 0, 0
    while done < reached:
        reached, leaves = follow(t, -1.0, s, done, reached, leaves)
        done += 1
    end = list_leaves(t, r, s, leaves, ids, end, counted)
    clear_event(events, i, s)
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
