"""Whether a run of an MBRTrie is as it should be; see `trie_nodes` for what that is."""

import numpy as np

from indexes.kernels import NIL
from indexes.spatial_text.records import Table
from indexes.spatial_text.trie_nodes import (
    CHILDREN_END,
    END_KEY,
    FIRST_CHILD,
    PLACE_KEY,
    ROOT_KEY,
    START,
    STOP,
    Nodes,
)

__all__ = ["check_run"]


def check_run(
    table: Table, keys: np.ndarray, rows: np.ndarray, nodes: Nodes, first: int, bucket: int
) -> None:
    """Raise `AssertionError` unless every invariant holds from the root down."""
    assert nodes.keys[0] == ROOT_KEY
    seen = _check_node(table, keys, rows, nodes, first, bucket, 0, [], ended=False)
    assert seen == len(nodes.keys)


def _check_node(table, keys, rows, nodes, first, bucket, node, path, *, ended) -> int:
    """How many nodes there are from this one down; `path` is of keys, `ended` if it is all."""
    child, end = (nodes.heads[node, [FIRST_CHILD, CHILDREN_END]] - first).tolist()
    start, stop = nodes.heads[node, [START, STOP]].tolist()
    assert start < stop
    _check_places(table, keys, rows, nodes, node, path, range(start, stop), ended)
    if child == end:
        assert stop - start <= bucket
        return 1
    assert stop - start > bucket
    own = range(start, int(nodes.heads[child, START]))
    assert len(own) <= bucket
    assert all(rows[place] == NIL or table.sizes[rows[place]] == len(path) for place in own)
    children = nodes.keys[child:end].tolist()
    if set(children) not in ({END_KEY}, {PLACE_KEY}):
        assert not ended
        assert children == sorted(set(children))
    count, at = 1, own.stop
    for below, key in enumerate(children, child):
        assert nodes.heads[below, START] == at
        at = int(nodes.heads[below, STOP])
        assert (nodes.boxes[below, :2] >= nodes.boxes[node, :2]).all()
        assert (nodes.boxes[below, 2:] <= nodes.boxes[node, 2:]).all()
        assert nodes.bests[below] <= nodes.bests[node]
        further = path if key <= END_KEY else [*path, key]
        count += _check_node(
            table, keys, rows, nodes, first, bucket, below, further, ended=key == END_KEY
        )
    assert at == stop
    return count


def _check_places(table, keys, rows, nodes, node, path, places, ended) -> None:
    for place in places:
        row = rows[place]
        if row != NIL:
            tokens = table.tokens[table.starts[row] : table.starts[row] + table.sizes[row]]
            own = keys[tokens].tolist()
            assert own == sorted(own)
            assert own[: len(path)] == path
            assert not ended or len(own) == len(path)
            assert (nodes.boxes[node, :2] <= table.boxes[row, :2]).all()
            assert (nodes.boxes[node, 2:] >= table.boxes[row, 2:]).all()
            assert nodes.bests[node] >= table.scores[row]
