"""The relation graph as arrays (the covering paper, §III.B).

An edge goes from a cover to what it covers.  Nodes are the rows of the cover's store.  Edges come
from a pool; each is in the list of those out of its cover and in the list of those into what it
covers, linked both ways.
"""

from typing import NamedTuple

import numpy as np

from indexes.kernels import NIL
from indexes.kernels.decorators import inlined

# Columns of `nodes`.  ORPHAN links the rows that one unsubscription leaves without a cover.
FIRST_IN, FIRST_OUT, FORWARDED, ORPHAN, NODE_FIELDS = range(5)
# Columns of `edges`.  A free edge has the next free one in COVER.
COVER, COVERED, NEXT_IN, BEFORE_IN, NEXT_OUT, BEFORE_OUT, EDGE_FIELDS = range(7)
# Fields of `state`.  Work done is counted apart for subscribing (+ 0) and unsubscribing (+ 1).
FREE_EDGE, USED_EDGES, LIVE_EDGES, LOGGED, SHORT, MIRROR_SHORT = range(6)
CALLS, VISITS, COMPARISONS, STATE_FIELDS = range(6, 14, 2)
# What the log says of an id.  One that leaves may come back with another box.
FORWARD, WITHDRAW, LEAVE = 1, -1, -2


class Graph(NamedTuple):
    nodes: np.ndarray  # i8[rows, 4]
    edges: np.ndarray  # i8[edges, 6]
    log: np.ndarray  # i8[entries, 2]  id and what became of it, in order
    # i8[12]  the free list and counts, entries of the log, what the next command is SHORT of here
    # and in the mirror; calls of the index, nodes visited, points compared
    state: np.ndarray


def allocate(rows: int, edges: int, log: int) -> Graph:
    state = np.zeros(STATE_FIELDS, np.int64)
    state[FREE_EDGE] = NIL
    return Graph(
        nodes=np.empty((rows, NODE_FIELDS), np.int64),
        edges=np.empty((edges, EDGE_FIELDS), np.int64),
        log=np.empty((log, 2), np.int64),
        state=state,
    )


def resized(graph: Graph, rows: int, edges: int, log: int) -> Graph:
    """A copy with room for so much; nothing shrinks."""
    copy = allocate(
        max(rows, len(graph.nodes)), max(edges, len(graph.edges)), max(log, len(graph.log))
    )
    copy.nodes[: len(graph.nodes)] = graph.nodes
    used, logged = int(graph.state[USED_EDGES]), int(graph.state[LOGGED])
    copy.edges[:used] = graph.edges[:used]
    copy.log[:logged] = graph.log[:logged]
    return copy._replace(state=graph.state)


@inlined
def has_room_for(graph, edges, entries):
    """Whether so many edges and entries of the log fit; notes what is missing."""
    free = len(graph.edges) - graph.state[LIVE_EDGES]
    graph.state[SHORT] = max(edges - free, entries + graph.state[LOGGED] - len(graph.log), 0)
    return graph.state[SHORT] == 0


@inlined
def log_change(graph, id, what):
    graph.log[graph.state[LOGGED], 0] = id
    graph.log[graph.state[LOGGED], 1] = what
    graph.state[LOGGED] += 1


@inlined
def add_node(graph, row):
    graph.nodes[row, FIRST_IN] = NIL
    graph.nodes[row, FIRST_OUT] = NIL
    graph.nodes[row, FORWARDED] = 0
    graph.nodes[row, ORPHAN] = NIL


@inlined
def add_edge(graph, cover, covered):
    nodes, edges, state = graph.nodes, graph.edges, graph.state
    edge = state[FREE_EDGE]
    if edge != NIL:
        state[FREE_EDGE] = edges[edge, COVER]
    else:
        edge = state[USED_EDGES]
        state[USED_EDGES] += 1
    state[LIVE_EDGES] += 1
    edges[edge, COVER] = cover
    edges[edge, COVERED] = covered
    first_in, first_out = nodes[covered, FIRST_IN], nodes[cover, FIRST_OUT]
    edges[edge, NEXT_IN] = first_in
    edges[edge, BEFORE_IN] = NIL
    edges[edge, NEXT_OUT] = first_out
    edges[edge, BEFORE_OUT] = NIL
    if first_in != NIL:
        edges[first_in, BEFORE_IN] = edge
    if first_out != NIL:
        edges[first_out, BEFORE_OUT] = edge
    nodes[covered, FIRST_IN] = edge
    nodes[cover, FIRST_OUT] = edge


@inlined
def remove_edge(graph, edge):
    nodes, edges, state = graph.nodes, graph.edges, graph.state
    following, before = edges[edge, NEXT_IN], edges[edge, BEFORE_IN]
    if following != NIL:
        edges[following, BEFORE_IN] = before
    if before != NIL:
        edges[before, NEXT_IN] = following
    else:
        nodes[edges[edge, COVERED], FIRST_IN] = following
    following, before = edges[edge, NEXT_OUT], edges[edge, BEFORE_OUT]
    if following != NIL:
        edges[following, BEFORE_OUT] = before
    if before != NIL:
        edges[before, NEXT_OUT] = following
    else:
        nodes[edges[edge, COVER], FIRST_OUT] = following
    edges[edge, COVER] = state[FREE_EDGE]
    state[FREE_EDGE] = edge
    state[LIVE_EDGES] -= 1


@inlined
def count_dependants(graph, row):
    """How many subscriptions have no other cover than `row`."""
    count, edge = 0, graph.nodes[row, FIRST_OUT]
    while edge != NIL:
        count += graph.edges[edge, NEXT_IN] == NIL and graph.edges[edge, BEFORE_IN] == NIL
        edge = graph.edges[edge, NEXT_OUT]
    return count
