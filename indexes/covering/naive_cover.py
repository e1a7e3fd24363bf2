"""`NaiveCover`: every box is compared, until k covers are found."""

import numpy as np

from indexes.covering import scan
from indexes.covering.cover import Cover

__all__ = ["NaiveCover"]


class NaiveCover(Cover):
    """The paper's naive algorithm, as quick as a scan can be made.

    >>> cover = NaiveCover(2)
    >>> cover.insert(7, [0, 0], [9, 9])
    >>> cover.covers([1, 1], [3, 3])
    [7]
    """

    def __init__(self, dimensions: int) -> None:
        super().__init__(dimensions)
        self.index: scan.Scan = scan.allocate(2 * self.dimensions, 0)

    def _put_in_order(self) -> None:
        blocks = len(self.index.blocks)
        self.index = scan.resized(self.index, blocks + blocks // 2 + 1)

    def _check_index(self, heads: np.ndarray) -> None:
        scan.check_scan(self.index, self.rows.store, heads)
