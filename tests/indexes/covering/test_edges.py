"""The pool of edges against a set of pairs: edges are used again, and the pool grows."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from indexes.covering.edges import (
    BEFORE_IN,
    BEFORE_OUT,
    COVER,
    COVERED,
    FIRST_IN,
    FIRST_OUT,
    FORWARD,
    FREE_EDGE,
    LIVE_EDGES,
    LOGGED,
    NEXT_IN,
    NEXT_OUT,
    SHORT,
    USED_EDGES,
    WITHDRAW,
    add_edge,
    add_node,
    allocate,
    count_dependants,
    has_room_for,
    log_change,
    remove_edge,
    resized,
)
from indexes.kernels import NIL

rows = st.integers(0, 9)


class EdgesAgainstPairs(RuleBasedStateMachine):
    @initialize(nodes=st.integers(0, 2))
    def start(self, nodes):
        self.graph = allocate(nodes, 0, 0)
        self.nodes = nodes
        for row in range(nodes):
            add_node(self.graph, row)
        self.into, self.out = {}, {}  # row -> its edges as (cover, covered), newest first
        self.log = []

    def fit(self, edges, entries):
        if not has_room_for(self.graph, edges, entries):
            short = int(self.graph.state[SHORT])
            assert short > 0
            room, logged = len(self.graph.edges) + short, len(self.graph.log) + short
            self.graph = resized(self.graph, 0, room, logged)
            assert has_room_for(self.graph, edges, entries)
        assert len(self.graph.edges) - self.graph.state[LIVE_EDGES] >= edges
        assert len(self.graph.log) - self.graph.state[LOGGED] >= entries

    @rule(more=st.integers(1, 3))
    def add_nodes(self, more):
        nodes = min(self.nodes + more, 10)
        self.graph = resized(self.graph, nodes, 0, 0)
        for row in range(self.nodes, nodes):
            add_node(self.graph, row)
        self.nodes = nodes

    @rule(pairs=st.sets(st.tuples(rows, rows), max_size=5))
    def add_edges(self, pairs):
        new = {pair for pair in pairs if max(pair) < self.nodes} - self.pairs
        self.fit(len(new), 0)
        for cover, covered in sorted(new):
            add_edge(self.graph, cover, covered)
            self.into[covered] = [(cover, covered), *self.into.get(covered, [])]
            self.out[cover] = [(cover, covered), *self.out.get(cover, [])]

    @property
    def pairs(self):
        return {pair for pairs in self.into.values() for pair in pairs}

    @rule(pairs=st.sets(st.tuples(rows, rows)), many=st.booleans())
    def remove_edges(self, pairs, many):
        for pair in sorted(self.pairs if many else pairs & self.pairs):
            cover, covered = pair
            remove_edge(self.graph, self.edge_of(pair))
            self.into[covered].remove(pair)
            self.out[cover].remove(pair)

    def edge_of(self, pair):
        edges, edge = self.graph.edges, int(self.graph.nodes[pair[0], FIRST_OUT])
        while edges[edge, COVERED] != pair[1]:
            edge = int(edges[edge, NEXT_OUT])
        return edge

    @rule(entries=st.lists(st.tuples(st.integers(0, 99), st.sampled_from([FORWARD, WITHDRAW]))))
    def log_changes(self, entries):
        self.fit(0, len(entries))
        for id, what in entries:
            log_change(self.graph, id, what)
        self.log += entries

    @rule()
    def forget_the_log(self):
        self.graph.state[LOGGED] = 0
        self.log = []

    @invariant()
    def lists_are_those_of_the_pairs(self):
        graph = self.graph
        for row in range(self.nodes):
            into = self.listed(row, FIRST_IN, NEXT_IN, BEFORE_IN)
            out = self.listed(row, FIRST_OUT, NEXT_OUT, BEFORE_OUT)
            assert (into, out) == (self.into.get(row, []), self.out.get(row, []))
            alone = sum(len(self.into[covered]) == 1 for _, covered in out)
            assert count_dependants(graph, row) == alone
        assert [tuple(entry) for entry in graph.log[: graph.state[LOGGED]].tolist()] == self.log
        assert graph.state[LIVE_EDGES] == len(self.pairs)

    def listed(self, row, first, following, before):
        pairs, last, edge = [], NIL, int(self.graph.nodes[row, first])
        while edge != NIL:
            entry = self.graph.edges[edge]
            assert entry[before] == last
            pairs.append((int(entry[COVER]), int(entry[COVERED])))
            last, edge = edge, int(entry[following])
        return pairs

    @invariant()
    def every_edge_ever_used_is_live_or_free(self):
        free, edge = [], int(self.graph.state[FREE_EDGE])
        while edge != NIL:
            free.append(edge)
            edge = int(self.graph.edges[edge, COVER])
        assert len(set(free)) == len(free)
        assert len(free) + len(self.pairs) == self.graph.state[USED_EDGES] <= len(self.graph.edges)


TestEdgesAgainstPairs = EdgesAgainstPairs.TestCase


def test_a_resized_graph_shares_its_counters_and_nothing_shrinks():
    graph = allocate(3, 4, 5)
    copy = resized(graph, 1, 1, 9)
    assert copy.state is graph.state
    assert [len(part) for part in copy[:3]] == [3, 4, 9]
    assert not np.shares_memory(copy.nodes, graph.nodes)
