"""The arrangement of a SOPT-R-tree (Machanavajjhala et al., Scalable Ranked
Publish/Subscribe, §3.2.1, Algorithm 1).
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from indexes.intervals.scored_rows import ScoredRows
from indexes.intervals.sopt_graph import NIL, constraint_graph
from indexes.intervals.sopt_slot_set import add_slot, drop_slot, first_slot, new_slots

__all__ = ["Arrangement", "score_optimal"]


class Arrangement(NamedTuple):
    ranks: np.ndarray  # i8[n] or i4[n]  of the intervals as arranged
    edges: int  # of the constraint graph


def score_optimal(rows: ScoredRows, by_low: np.ndarray) -> Arrangement:
    """Arrange intervals in rank order; `by_low` lists them by ascending low.

    Nodes of the graph are numbered by low, so the one with the smallest left end is the least,
    and a set of slots takes the place of the seed's heap.
    """
    graph = constraint_graph(rows, by_low)
    arranged = np.empty(len(by_low), np.int64)
    _arrange(graph, graph.incoming, new_slots(len(arranged)), arranged)
    return Arrangement(by_low[arranged], len(graph.target))


@njit(cache=True, nogil=True)
def _arrange(graph, incoming, free, arranged):
    """Always next the least node that all its predecessors precede; `incoming` is used up."""
    for node in range(len(incoming)):
        if incoming[node] == 0:
            add_slot(free, node)
    for place in range(len(arranged)):
        node = first_slot(free)
        drop_slot(free, node)
        arranged[place] = node
        edge = graph.first[node]
        while edge != NIL:
            target = np.int64(graph.target[edge])
            incoming[target] -= 1
            if incoming[target] == 0:
                add_slot(free, target)
            edge = graph.other[edge]
