"""The relation graph that withdraws what a new subscription covers: beyond the paper.

The forwarded subscriptions are kept in a second k-d tree with all points negated.  What covers a
negated point there is covered by the point.
"""

from numba import njit

from indexes.covering.dispatch import add_box, find_boxes, is_ready, remove_box
from indexes.covering.edges import (
    FORWARD,
    FORWARDED,
    LOGGED,
    MIRROR_SHORT,
    WITHDRAW,
    add_edge,
    has_room_for,
    log_change,
)
from indexes.covering.graph_kernels import REFUSED, count_changed, subscribe, unsubscribe
from indexes.covering.kd_layout import free_blocks, free_nodes
from indexes.covering.store import row_count, row_of
from indexes.kernels import NIL
from indexes.kernels.borrowed import borrowed

__all__ = ["apply_pruned"]


@njit(cache=True, nogil=True)
def apply_pruned(
    graph, index, store, mirror, shadows, ids, points, subscribes, found, covered, negated, done
):
    """As `apply`; `covered` and `negated` are room for the rows of the mirror and for a point."""
    graph, index, store = borrowed(graph), borrowed(index), borrowed(store)
    mirror, shadows = borrowed(mirror), borrowed(shadows)
    while done < len(ids):
        row = row_of(store, ids[done])
        if (row == NIL) != subscribes[done]:
            return REFUSED
        changed, below = count_changed(graph, row), 0
        if row == NIL:
            for j in range(len(negated)):
                negated[j] = 0.0 - points[done, j]
            below = find_boxes(mirror, shadows, negated, len(covered), True, covered)
        if not (is_ready(index) and is_ready(mirror)):
            break
        free = min(free_nodes(mirror) // 2, free_blocks(mirror))
        graph.state[MIRROR_SHORT] = max(changed - free, 0)
        if graph.state[MIRROR_SHORT]:
            break
        most = changed * min(len(found), row_count(store)) + below
        if not has_room_for(graph, most, changed + 1 + below):
            break
        logged = graph.state[LOGGED]
        if row == NIL:
            row = subscribe(graph, index, store, ids[done], points[done], found)
            _withdraw(graph, store, shadows, row, covered, below)
        else:
            unsubscribe(graph, index, store, row, found)
        _follow(graph, store, mirror, shadows, negated, logged)
        done += 1
    return done


@njit(cache=True)
def _withdraw(graph, store, shadows, row, covered, below):
    """Forwarded subscriptions that the new one covers hang from it from now on."""
    for i in range(below):
        id = shadows.ids[covered[i]]
        other = row_of(store, id)
        graph.nodes[other, FORWARDED] = 0
        add_edge(graph, row, other)
        log_change(graph, id, WITHDRAW)


@njit(cache=True)
def _follow(graph, store, mirror, shadows, negated, logged):
    """Bring the mirror up to date with what was logged."""
    for entry in range(logged, graph.state[LOGGED]):
        id = graph.log[entry, 0]
        if graph.log[entry, 1] == FORWARD:
            row = row_of(store, id)
            for j in range(len(negated)):
                negated[j] = 0.0 - store.points[row, j]
            add_box(mirror, shadows, id, negated)
        else:
            remove_box(mirror, shadows, row_of(shadows, id))
