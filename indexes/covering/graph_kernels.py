"""The G_k algorithm (the covering paper, §III.C), one command after the other.

What covers is made a strict order, so that no two subscriptions adopt each other: a greater box
covers, and of equal boxes an older one does.  The oldest of equal boxes that nothing else covers is
then the one that is forwarded.  The nearest older equal is preferred to anything else, so that its
leaving concerns one subscription and not all of the equal ones.
"""

from numba import njit

from indexes.covering.dispatch import add_box, find_boxes, is_ready, remove_box
from indexes.covering.edges import (
    CALLS,
    COMPARISONS,
    COVERED,
    FIRST_IN,
    FIRST_OUT,
    FORWARD,
    FORWARDED,
    LEAVE,
    ORPHAN,
    VISITS,
    add_edge,
    add_node,
    count_dependants,
    has_room_for,
    log_change,
    remove_edge,
)
from indexes.covering.store import COMPARED, OLDER, VISITED, row_count, row_of
from indexes.kernels import NIL
from indexes.kernels.borrowed import borrowed
from indexes.kernels.decorators import inlined

__all__ = ["DONE", "REFUSED", "apply", "carry_out", "count_changed", "subscribe", "unsubscribe"]

REFUSED, NOT_READY, DONE = range(-1, 2)


@njit(cache=True, nogil=True)
def apply(graph, index, store, ids, points, subscribes, found, done):
    """Carry out commands from number `done` on while there is room; how many are done then.

    REFUSED is a command that subscribes a known id, or unsubscribes an unknown one.
    """
    graph, index, store = borrowed(graph), borrowed(index), borrowed(store)
    while done < len(ids):
        did = carry_out(graph, index, store, ids[done], points[done], subscribes[done], found)
        if did == REFUSED:
            return REFUSED
        if did == NOT_READY:
            break
        done += 1
    return done


@inlined
def carry_out(graph, index, store, id, point, subscribes, found):
    """One command: DONE, REFUSED, or NOT_READY, where the graph or the index has to grow first."""
    row = row_of(store, id)
    if (row == NIL) != subscribes:
        return REFUSED
    changed = count_changed(graph, row)
    most = changed * min(len(found), row_count(store))
    if not (is_ready(index) and has_room_for(graph, most, changed + 1)):
        return NOT_READY
    if row == NIL:
        subscribe(graph, index, store, id, point, found)
    else:
        unsubscribe(graph, index, store, row, found)
    return DONE


@inlined
def count_changed(graph, row):
    """How many subscriptions get new covers when `row` leaves; NIL is one that comes."""
    return 1 if row == NIL else count_dependants(graph, row)


@inlined
def subscribe(graph, index, store, id, point, found):
    row = add_box(index, store, id, point)
    add_node(graph, row)
    _look_for_covers(graph, index, store, row, found, 0)
    return row


@inlined
def unsubscribe(graph, index, store, row, found):
    """Take a subscription out; those that it alone covered look for others, or are forwarded."""
    nodes, edges = graph.nodes, graph.edges
    if nodes[row, FORWARDED]:
        log_change(graph, store.ids[row], LEAVE)
    while nodes[row, FIRST_IN] != NIL:
        remove_edge(graph, nodes[row, FIRST_IN])
    orphans = NIL
    while nodes[row, FIRST_OUT] != NIL:
        covered = edges[nodes[row, FIRST_OUT], COVERED]
        remove_edge(graph, nodes[row, FIRST_OUT])
        if nodes[covered, FIRST_IN] == NIL:
            nodes[covered, ORPHAN] = orphans
            orphans = covered
    remove_box(index, store, row)
    while orphans != NIL:
        _look_for_covers(graph, index, store, orphans, found, 1)
        orphans = nodes[orphans, ORPHAN]


@inlined
def _look_for_covers(graph, index, store, row, found, work):
    """Add edges from up to k covers of a row that has none; forward it where there are none."""
    visited, compared = index.state[VISITED], index.state[COMPARED]
    graph.state[CALLS + work] += 1
    count, older = 0, store.links[row, OLDER]
    while older != NIL and count < len(found):
        add_edge(graph, older, row)
        count += 1
        older = store.links[older, OLDER]
    greater = find_boxes(index, store, store.points[row], len(found) - count, True, found)
    for i in range(greater):
        add_edge(graph, found[i], row)
    if count + greater == 0:
        graph.nodes[row, FORWARDED] = 1
        log_change(graph, store.ids[row], FORWARD)
    graph.state[VISITS + work] += index.state[VISITED] - visited
    graph.state[COMPARISONS + work] += index.state[COMPARED] - compared
