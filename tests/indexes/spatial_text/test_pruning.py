"""What the filters are for: most nodes and subscriptions are never looked at."""

import functools

import pytest

from indexes.spatial_text import InvertedRTree, MBRTrie, PTQuadtree, RtTree
from tests.indexes.spatial_text.strategies import INF, Subject, crowd

EVERYWHERE = (-INF, -INF, INF, INF)
SMALL_NODES = {
    MBRTrie: {"bucket": 4, "loose": 8},
    PTQuadtree: {"tau_num": 8},
    RtTree: {"fanout": 8},
    InvertedRTree: {"fanout": 8},
}
ALL = list(SMALL_NODES)
NOWHERE = (1e6, 1e6, 1e6, 1e6)
NAMES = [f"w{number}" for number in range(1, 101)]


def looked_at(index):
    """Nodes since the index is there."""
    return index.work.nodes if isinstance(index, PTQuadtree) else index.visited


def work(index, ask):
    before = looked_at(index)
    ask(index)
    return looked_at(index) - before


@functools.cache
def built(cls):
    return Subject(cls, SMALL_NODES[cls]).build(crowd(600, 100, seed=8))


def matching(box, tokens):
    return lambda index: index.match(box, tokens)


@pytest.mark.parametrize("cls", ALL)
def test_far_from_everything_hardly_a_node_is_visited(cls):
    nodes = work(built(cls), matching(NOWHERE, NAMES))
    assert nodes <= 2


@pytest.mark.parametrize("cls", ALL)
def test_a_point_visits_a_part_of_what_the_world_does(cls):
    point, world = (work(built(cls), matching(at, NAMES)) for at in ((9, 9, 9, 9), EVERYWHERE))
    assert 3 * point < world


@pytest.mark.parametrize("cls", [MBRTrie, PTQuadtree, InvertedRTree])
def test_few_tokens_visit_a_part_of_what_many_do(cls):
    few, many = (work(built(cls), matching(EVERYWHERE, names)) for names in (NAMES[80:82], NAMES))
    assert 2 * few < many


@pytest.mark.parametrize("cls", ALL)
def test_unknown_tokens_visit_at_most_the_first_nodes(cls):
    nodes = work(built(cls), matching(EVERYWHERE, ["unheard of"]))
    assert nodes <= 2


@pytest.mark.parametrize("cls", ALL)
def test_the_best_are_found_without_a_look_at_all(cls):
    """Score bounds in the nodes: the best one alone is found in a part of the nodes."""
    best, all_of_them = (
        work(built(cls), ask)
        for ask in (lambda i: i.top_k(EVERYWHERE, NAMES, 1), matching(EVERYWHERE, NAMES))
    )
    assert 3 * best < 2 * all_of_them
