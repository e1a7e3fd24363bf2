"""The invariants of the relation graph, written once."""

import numpy as np

from indexes.covering.cover import Cover
from indexes.covering.edges import (
    BEFORE_IN,
    BEFORE_OUT,
    COVER,
    COVERED,
    FIRST_IN,
    FIRST_OUT,
    FORWARDED,
    FREE_EDGE,
    LIVE_EDGES,
    NEXT_IN,
    NEXT_OUT,
    USED_EDGES,
    Graph,
)
from indexes.covering.store import OLDER, RowTable
from indexes.kernels import NIL

__all__ = ["check_graph", "check_mirror"]


def check_graph(graph: Graph, rows: RowTable, k: int) -> None:
    """Raise `AssertionError` unless edges come from covers and the forwarded have none.

    A cover is greater, or equal and older.  So whoever follows edges backwards comes to an end, at
    a subscription that is forwarded and covers all on the way.
    """
    live, store = rows.live().tolist(), rows.store
    into, out_of = set(), set()
    for row in live:
        own = _listed(graph, row, FIRST_IN, NEXT_IN, BEFORE_IN, COVERED)
        covers = [int(graph.edges[edge, COVER]) for edge in own]
        assert len(set(covers)) == len(covers) <= k
        assert bool(covers) != bool(graph.nodes[row, FORWARDED])
        older, above = set(), int(store.links[row, OLDER])
        while above != NIL:
            older.add(above)
            above = int(store.links[above, OLDER])
        for cover in covers:
            equal = (store.points[cover] == store.points[row]).all()
            assert cover in older if equal else (store.points[cover] >= store.points[row]).all()
        into |= set(own)
        out_of |= set(_listed(graph, row, FIRST_OUT, NEXT_OUT, BEFORE_OUT, COVER))
    assert into == out_of
    assert len(into) == graph.state[LIVE_EDGES]

    free, edge = set(), int(graph.state[FREE_EDGE])
    while edge != NIL:
        assert edge not in free
        free.add(edge)
        edge = int(graph.edges[edge, COVER])
    assert free == set(range(int(graph.state[USED_EDGES]))) - into


def _listed(graph: Graph, row: int, first: int, following: int, before: int, end: int) -> list[int]:
    """The edges of one list of a row, of which the row is this end."""
    edges: list[int] = []
    edge = int(graph.nodes[row, first])
    while edge != NIL:
        assert graph.edges[edge, end] == row
        assert graph.edges[edge, before] == (edges[-1] if edges else NIL)
        edges.append(edge)
        edge = int(graph.edges[edge, following])
    return edges


def check_mirror(graph: Graph, cover: Cover, mirror: Cover) -> None:
    """The mirror holds the forwarded, and of these nothing covers any but an equal one."""
    live, store = cover.rows.live(), cover.rows.store
    forwarded = live[graph.nodes[live, FORWARDED] == 1]
    shadows = mirror.rows.rows_of(store.ids[forwarded])
    assert len(mirror) == len(forwarded)
    assert (shadows != NIL).all()
    assert (mirror.rows.store.points[shadows] == 0.0 - store.points[forwarded]).all()
    for row in forwarded.tolist():
        point = store.points[row]
        above = live[(store.points[live] >= point).all(axis=1)]
        assert (store.points[above] == point).all()
        assert np.isin(above, forwarded).sum() == 1
