"""The cursors of one query on an IR-tree (see `ir_cursor`), in a heap."""

from typing import NamedTuple

import numpy as np
from numba import njit

from indexes.hits import better
from indexes.intervals.ir_build import MOST_PENDING
from indexes.intervals.ir_layout import LIVE_NODES, TALLEST
from indexes.kernels.decorators import fused

NO_ID = -1  # in the key of a cursor above the leaves: among equal scores it goes first


class Cursors(NamedTuple):
    """A binary heap of cursors, best key first, and where each of them stands.

    Indices are unsigned, which spares compiled code a look whether they are negative.
    """

    score: np.ndarray  # f8[nodes]  by place in the heap
    id: np.ndarray  # i8[nodes]  by place
    cursor: np.ndarray  # u4[nodes]  by place; all that follows is by cursor
    level: np.ndarray  # u4[nodes]
    top: np.ndarray  # u4[nodes]  the level of the root
    blocks: np.ndarray  # u4[nodes, height]  by level
    words: np.ndarray  # u4[nodes, height]  the first entry of each mask
    masks: np.ndarray  # i8[nodes, height]  bit i: entry word + i meets the query, is not done
    pending: np.ndarray  # i4[MOST_PENDING]  nodes to be looked at
    size: np.ndarray  # i8[1]  cursors in the heap


@njit(cache=True)
def new_cursors(t):
    nodes, height = t.state[LIVE_NODES], t.state[TALLEST]
    return Cursors(
        np.empty(nodes),
        np.empty(nodes, np.int64),
        np.empty(nodes, np.uint32),
        np.empty(nodes, np.uint32),
        np.empty(nodes, np.uint32),
        np.empty((nodes, height), np.uint32),
        np.empty((nodes, height), np.uint32),
        np.empty((nodes, height), np.int64),
        np.empty(MOST_PENDING, np.int32),
        np.zeros(1, np.int64),
    )


@fused
def sink(score, id, cursor, size, i):
    sunk_score, sunk_id, sunk = score[i], id[i], cursor[i]
    child = 2 * i + 1
    while child < size:
        other = child + 1
        if other < size and better(score[other], id[other], score[child], id[child]):
            child = other
        if better(sunk_score, sunk_id, score[child], id[child]):
            break
        score[i], id[i], cursor[i] = score[child], id[child], cursor[child]
        i, child = child, 2 * child + 1
    score[i], id[i], cursor[i] = sunk_score, sunk_id, sunk


@fused
def rival(score, id, size):
    """The best key behind the first one, or one that is behind all."""
    if size < 2:
        return -np.inf, NO_ID
    if size > 2 and better(score[2], id[2], score[1], id[1]):
        return score[2], id[2]
    return score[1], id[1]
