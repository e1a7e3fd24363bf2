"""The invariants of the Z-order curve, written once."""

from itertools import pairwise

import numpy as np

from indexes.covering.store import PLACE, Store
from indexes.covering.z_layout import (
    BLOCKS,
    FREE_BLOCK,
    POINTS,
    USED_BLOCKS,
    Curve,
    cells_of,
    comes_before,
)
from indexes.kernels import NIL

__all__ = ["check_curve"]


def check_curve(curve: Curve, store: Store, heads: np.ndarray) -> None:
    """Raise `AssertionError` unless the curve holds exactly `heads`, in its order."""
    state = curve.state
    blocks = curve.order[: state[BLOCKS]]
    bucket = len(curve.members) // max(len(curve.filled), 1)
    assert (curve.ordinals[blocks] == np.arange(len(blocks))).all()
    assert (curve.filled[blocks] > 0).all()
    assert (curve.filled[blocks] <= bucket).all()
    rows: list[int] = []
    for block in blocks.tolist():
        own = curve.members[block * bucket : block * bucket + curve.filled[block]]
        assert (store.links[own, PLACE] == block * bucket + np.arange(len(own))).all()
        rows += own.tolist()
    assert sorted(rows) == sorted(heads.tolist())
    assert len(rows) == state[POINTS]
    assert (curve.cells[rows] == cells_of(store.points[rows], curve.grid)).all()
    for row, following in pairwise(rows):
        assert not comes_before(curve.cells, following, row)

    free, block = set(), int(state[FREE_BLOCK])
    while block != NIL:
        assert block not in free
        free.add(block)
        block = int(curve.members[block * bucket])
    assert free == set(range(int(state[USED_BLOCKS]))) - set(blocks.tolist())
