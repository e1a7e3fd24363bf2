"""All boxes in a row, compared one block after the other: no index at all, but a quick one.

Points lie in blocks, dimension by dimension, as in the leaves of the k-d tree; a block is left as
soon as one dimension rules out all its points.
"""

from typing import NamedTuple

import numpy as np

from indexes.covering.dominance import dominating
from indexes.covering.store import COMPARED, PLACE, VISITED, Store, take_chain
from indexes.kernels import NIL
from indexes.kernels.decorators import inlined

__all__ = ["Scan", "allocate", "check_scan", "resized", "scan_delete", "scan_find", "scan_insert"]

BLOCK_POINTS = 64
COUNT, STATE_FIELDS = range(2, 4)  # fields of `state`, behind the counters of work


class Scan(NamedTuple):
    blocks: np.ndarray  # f8[blocks, 2d, 64]  NaN beyond the last point
    members: np.ndarray  # i8[blocks * 64]  rows
    state: np.ndarray  # i8[3]  VISITED blocks, COMPARED points, and how many points there are


def allocate(width: int, blocks: int) -> Scan:
    return Scan(
        blocks=np.full((blocks, width, BLOCK_POINTS), np.nan),
        members=np.empty(blocks * BLOCK_POINTS, np.int64),
        state=np.zeros(STATE_FIELDS, np.int64),
    )


def resized(scan: Scan, blocks: int) -> Scan:
    copy = allocate(scan.blocks.shape[1], blocks)
    copy.blocks[: len(scan.blocks)] = scan.blocks
    copy.members[: len(scan.members)] = scan.members
    return copy._replace(state=scan.state)


@inlined
def scan_is_ready(scan):
    return scan.state[COUNT] < len(scan.members)


@inlined
def scan_insert(scan, store, row):
    place = scan.state[COUNT]
    scan.state[COUNT] += 1
    block, slot = place // BLOCK_POINTS, place % BLOCK_POINTS
    for j in range(scan.blocks.shape[1]):
        scan.blocks[block, j, slot] = store.points[row, j]
    scan.members[place] = row
    store.links[row, PLACE] = place


@inlined
def scan_delete(scan, store, row):
    """The last point moves into the place of the one that leaves."""
    place = store.links[row, PLACE]
    scan.state[COUNT] -= 1
    last = scan.state[COUNT]
    moved = scan.members[last]
    scan.members[place] = moved
    store.links[moved, PLACE] = place
    store.links[row, PLACE] = NIL
    block, slot = place // BLOCK_POINTS, place % BLOCK_POINTS
    for j in range(scan.blocks.shape[1]):
        scan.blocks[block, j, slot] = store.points[moved, j]
        scan.blocks[last // BLOCK_POINTS, j, last % BLOCK_POINTS] = np.nan


@inlined
def scan_find(scan, store, point, k, strict, found):
    """Rows of up to k boxes that cover `point`; with `strict`, none that are equal to it."""
    count, points = 0, scan.state[COUNT]
    if k == 0:
        return 0
    alive, order = np.empty(BLOCK_POINTS, np.int64), np.arange(len(point))
    for block in range((points + BLOCK_POINTS - 1) // BLOCK_POINTS):
        first = block * BLOCK_POINTS
        scan.state[VISITED] += 1
        scan.state[COMPARED] += min(BLOCK_POINTS, points - first)
        if dominating(scan.blocks, block, point, order, alive):
            for slot in range(BLOCK_POINTS):
                if alive[slot] and count < k:
                    head = scan.members[first + slot]
                    count = take_chain(store, head, point, k, strict, found, count)
            if count == k:
                break
    return count


def check_scan(scan: Scan, store: Store, heads: np.ndarray) -> None:
    """Raise `AssertionError` unless the blocks hold exactly `heads`."""
    count = int(scan.state[COUNT])
    rows = scan.members[:count]
    assert sorted(rows.tolist()) == sorted(heads.tolist())
    assert (store.links[rows, PLACE] == np.arange(count)).all()
    points = scan.blocks.transpose(0, 2, 1).reshape(-1, scan.blocks.shape[1])
    assert (points[:count] == store.points[rows]).all()
    assert np.isnan(points[count:]).all()
