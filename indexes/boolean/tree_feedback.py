"""Which l-nodes of a BE*-tree have earned to be settled anew (§V-B, the ranking function).

Searches count, for each l-node, the false candidates: members that were tested and did not match.
Over a window of events the loss of an l-node is their number an event; its gain is the number of
predicates that its members have in common, which are evaluated once on the way to it.  Members of
l-nodes whose rank, gain - loss, is least are taken out and inserted again.  By then it is known
how many events have each column, so that a column which few events have is the better key.
"""

import numpy as np
from numba import njit

from indexes.boolean.events import EncodedEvents
from indexes.boolean.tree_layout import COUNT, DEPTH, SEGMENT, Tree, row_of
from indexes.kernels import NIL

WINDOW = 1000  # events
_PRIOR = 16  # events that are taken to have all columns, before any is met


class Demand:
    """How many events of late have each column."""

    def __init__(self) -> None:
        self.events = 0  # met in this window
        self._met = np.zeros(0, np.int64)
        self._share = np.zeros(0)  # of the events of windows before

    @property
    def nbytes(self) -> int:
        return self._met.nbytes + self._share.nbytes

    def meet(self, events: EncodedEvents, columns: int) -> None:
        if len(self._met) < columns:
            self._met = np.concatenate((self._met, np.zeros(columns - len(self._met), np.int64)))
        self._met += np.bincount(events.columns, minlength=len(self._met))
        self.events += len(events.starts) - 1

    def shares(self, columns: int) -> np.ndarray:
        """f8[columns]: of each 1, until a window of events says otherwise."""
        shares = np.ones(columns)
        shares[: len(self._share)] = self._share
        return shares

    def close_window(self) -> None:
        self._share = (self._met + _PRIOR) / (self.events + _PRIOR)
        self.events = 0
        self._met[:] = 0


def rows_to_move(tree: Tree, events: int, most: int) -> np.ndarray:
    """Up to so many rows of l-nodes with a rank below zero, the worst first."""
    rank = tree.c[:, DEPTH] - tree.lost / max(events, 1)
    nodes = np.flatnonzero((rank < 0) & (tree.c[:, COUNT] > 0) & (tree.c[:, DEPTH] != NIL))
    nodes = nodes[np.argsort(rank[nodes], kind="stable")]
    ends = np.cumsum(tree.c[nodes, COUNT])
    return _rows_in(tree, nodes[: int(np.searchsorted(ends, most)) + 1])[:most]


@njit(cache=True)
def _rows_in(t, nodes):
    total = 0
    for node in nodes:
        total += t.c[node, COUNT]
    rows, used = np.empty(total, np.int32), 0
    for node in nodes:
        for at in range(t.c[node, SEGMENT], t.c[node, SEGMENT] + t.c[node, COUNT]):
            rows[used] = row_of(t, at)
            used += 1
    return rows
