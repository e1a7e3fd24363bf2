"""`KDCover`: covers found by a bucketed k-d tree (see `kd_layout`)."""

import numpy as np
from numpy.typing import ArrayLike

from indexes import validation
from indexes.covering import kd_layout
from indexes.covering.batches import any_cover
from indexes.covering.cover import Cover
from indexes.covering.kd_build import PLAN_FIELDS, plan_below, rebuild, rows_below
from indexes.covering.kd_check import check_tree
from indexes.covering.points import event_points
from indexes.covering.signatures import thresholds_of
from indexes.kernels import NIL

__all__ = ["KDCover"]


class KDCover(Cover):
    """Boxes that cover a box, or that an event lies in.

    >>> cover = KDCover(2)
    >>> cover.insert(7, [0, 0], [9, 9])
    >>> cover.insert(8, [0, 0], [5, float("inf")])
    >>> sorted(cover.covers([1, 1], [3, 3], k=5))
    [7, 8]
    >>> cover.stab_many([[6, 20], [5, 20]]).tolist()
    [False, True]
    """

    def __init__(self, dimensions: int, bucket: int = 64) -> None:
        super().__init__(dimensions)
        bucket = validation.as_count("bucket", bucket, least=2)
        if bucket > kd_layout.MOST_IN_BUCKET:
            most = kd_layout.MOST_IN_BUCKET
            raise ValueError(f"bucket: got {bucket} when at most {most} was expected")
        self.index: kd_layout.Tree = kd_layout.allocate(2 * self.dimensions, bucket, 0, 0)

    def stab_many(self, points: ArrayLike) -> np.ndarray:
        """Which events lie in any box; NaN says that the event lacks an attribute.

        A box without ends in an attribute does not ask for it; any other does.
        """
        asked = event_points(points, self.dimensions)
        covered = np.empty(len(asked), np.bool_)
        any_cover(self.index, self.rows.store, asked, covered)
        return covered

    def _put_in_order(self) -> None:
        top = int(self.index.state[kd_layout.SKEWED])
        if top != NIL:
            self._rebuild(top, rows_below(self.index, top))
        else:
            self.grow(4)

    def _rebuild(self, top: int, rows: np.ndarray) -> None:
        most = 2 * max(len(rows), 1)
        plan, cuts = np.empty((most, PLAN_FIELDS), np.int64), np.empty(most)
        store, thresholds = self.rows.store, self.index.thresholds
        if top == self.index.state[kd_layout.ROOT]:
            thresholds = thresholds_of(store.points[rows])
        used = plan_below(self.index, store, thresholds, top, rows, plan, cuts)
        planned = (top, rows, plan[:used], cuts[:used], thresholds)
        while not rebuild(self.index, store, *planned):
            self.grow(used)

    def grow(self, least: int) -> None:
        """Room for at least so many more nodes, and as many blocks."""
        nodes, blocks = len(self.index.nodes), len(self.index.owners)
        self.index = kd_layout.resized(
            self.index, nodes + max(least, nodes // 2), blocks + max(least, blocks // 2)
        )

    def _check_index(self, heads: np.ndarray) -> None:
        check_tree(self.index, self.rows.store, heads)
