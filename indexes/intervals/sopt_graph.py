"""The constraint graph of scored intervals (Machanavajjhala et al., Scalable Ranked
Publish/Subscribe, §3.2): which interval has to come before which in an arrangement.

There is an edge from a better to a worse interval where some point lies in both and in none
that ranks between them.  At most 3n edges, and each pair that meets is joined by a path.

Cells make "some point" exact for closed ends.  The line is cut before each low and after each
high; between two neighbouring cuts all points lie in the same intervals.  So a cell is a
point, an open or half-open gap, or more, and two intervals that only touch share the cell of
that one point.  The cut before x comes ahead of the cut after x.

The seed's visible blocks are runs of cells: painting the intervals in rank order, best first,
each over what it covers, a block is a run in the colour of one interval, its owner: the worst
so far around those points.  Painting an interval gives it an edge from the owner of each block
that it meets, hides the blocks inside it and shortens or divides those at its ends.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from indexes.intervals.scored_rows import ScoredRows
from indexes.intervals.sopt_slot_set import (
    add_slot,
    drop_slot,
    last_slot_to,
    new_slots,
    slot_from,
)

__all__ = ["NIL", "Graph", "constraint_graph"]

NIL = -1


class Graph(NamedTuple):
    """Nodes are the places of intervals in the order of their lows."""

    first: np.ndarray  # i4[n]  the latest edge out of a node, or NIL
    target: np.ndarray  # i4[edges]
    other: np.ndarray  # i4[edges]  the next edge out of the same node, or NIL
    incoming: np.ndarray  # i4[n]  how many edges lead to a node


class _Blocks(NamedTuple):
    """The visible blocks: where each begins is in a set of cells, whose it is in a column."""

    owner: np.ndarray  # i4[cells]  a node or NIL; of a cell with which a block begins
    latest: np.ndarray  # i4[n]  the node that an owner had its latest edge to


def constraint_graph(rows: ScoredRows, by_low: np.ndarray) -> Graph:
    """The graph of intervals in rank order; `by_low` lists them by ascending low."""
    n = len(by_low)
    begin, end = np.empty(n, np.int64), np.empty(n, np.int64)
    _cut(rows.lows, rows.highs, by_low, np.argsort(rows.highs), begin, end)
    node = np.empty(n, np.int64)
    node[by_low] = np.arange(n)
    graph = Graph(
        first=np.full(n, NIL, np.int32),
        target=np.empty(3 * n, np.int32),
        other=np.empty(3 * n, np.int32),
        incoming=np.empty(n, np.int32),
    )
    blocks = _Blocks(np.full(2 * n + 1, NIL, np.int32), np.full(n, NIL, np.int32))
    edges = _paint_all(graph, blocks, new_slots(2 * n + 1), node, begin, end)
    return graph._replace(target=graph.target[:edges], other=graph.other[:edges])


@njit(cache=True, nogil=True)
def _cut(lows, highs, by_low, by_high, begin, end):
    """Number the cells: interval i covers those from begin[i] up to, not with, end[i].

    A cell is numbered by how many ends lie before it, so equal ends make one cut and the
    numbers between are not used.
    """
    i, j, n = 0, 0, len(by_low)
    while j < n:
        cell = i + j
        if i < n and lows[by_low[i]] <= highs[by_high[j]]:
            low = lows[by_low[i]]
            while i < n and lows[by_low[i]] == low:
                begin[by_low[i]] = cell
                i += 1
        else:
            high = highs[by_high[j]]
            while j < n and highs[by_high[j]] == high:
                end[by_high[j]] = cell
                j += 1


@njit(cache=True, nogil=True)
def _paint_all(graph, blocks, starts, nodes, begins, ends):
    """Algorithm 2 of the seed; return the number of edges.

    One kernel, as a call for each interval would double its time.
    """
    first, target, other, incoming = graph
    owners, latest = blocks
    add_slot(starts, 0)
    add_slot(starts, len(owners) - 1)  # behind the last cell, so that each block has one after it
    edges = 0
    for rank in range(len(nodes)):
        node, begin, end, before = nodes[rank], begins[rank], ends[rank], edges
        block = last_slot_to(starts, begin)
        while True:
            owner = owners[block]
            # An owner whose block was divided is met more than once.
            if owner != NIL and latest[owner] != node:
                latest[owner] = node
                target[edges], other[edges] = node, first[owner]
                first[owner] = edges
                edges += 1
            after = slot_from(starts, block + 1)
            if block > begin:
                drop_slot(starts, block)
            if after >= end:
                break
            block = after
        if after > end:
            add_slot(starts, end)
            owners[end] = owner
        add_slot(starts, begin)
        owners[begin] = node
        incoming[node] = edges - before
    return edges
