"""`ZOrderCover`: covers found along the Z-order curve (see `z_layout`)."""

import numpy as np

from indexes import validation
from indexes.covering import z_layout
from indexes.covering.cover import Cover
from indexes.covering.store import NEWER, PLACE
from indexes.covering.z_check import check_curve
from indexes.kernels import NIL

__all__ = ["ZOrderCover"]


class ZOrderCover(Cover):
    """The paper's second index.

    >>> cover = ZOrderCover(1)
    >>> cover.insert(7, [0], [9])
    >>> cover.covers([1], [10])
    []
    """

    def __init__(self, dimensions: int, bucket: int = 32) -> None:
        super().__init__(dimensions)
        self._bucket = validation.as_count("bucket", bucket, least=2)
        self.index: z_layout.Curve = z_layout.allocate(2 * self.dimensions, self._bucket, 0, 0)

    def reserve(self, more: int) -> None:
        super().reserve(more)
        short = self.rows.capacity - len(self.index.cells)
        if short > 0:
            room = np.empty((short, 2 * self.dimensions), np.int32)
            self.index = self.index._replace(cells=np.concatenate((self.index.cells, room)))

    def _put_in_order(self) -> None:
        """More blocks and, for twice as many points as before, a new grid."""
        store, old = self.rows.store, self.index
        live = self.rows.live()
        heads = live[store.links[live, NEWER] == NIL]
        half = max(1, self._bucket // 2)
        blocks = max(len(old.filled), 3 * len(heads) // half + 4)
        new = z_layout.allocate(2 * self.dimensions, self._bucket, 0, blocks)
        new = new._replace(cells=old.cells)
        new.grid[:] = z_layout.grid_over(store.points[heads])
        new.cells[heads] = z_layout.cells_of(store.points[heads], new.grid)
        heads = heads[_curve_order(new.cells[heads])]

        full = (len(heads) + half - 1) // half
        places = np.arange(len(heads)) // half * self._bucket + np.arange(len(heads)) % half
        new.members[places] = heads
        store.links[heads, PLACE] = places
        new.filled[:full] = np.bincount(np.arange(len(heads)) // half, minlength=full)
        new.order[:full] = new.ordinals[:full] = np.arange(full)
        new.state[:] = old.state
        new.state[[z_layout.BLOCKS, z_layout.USED_BLOCKS]] = full
        new.state[z_layout.FREE_BLOCK] = NIL
        new.state[z_layout.LAID] = len(heads)
        self.index = new

    def _check_index(self, heads: np.ndarray) -> None:
        check_curve(self.index, self.rows.store, heads)


def _curve_order(cells: np.ndarray) -> np.ndarray:
    """Where each cell comes along the curve: interleaved bits, from the top, as strings."""
    bits = np.arange(z_layout.BITS - 1, -1, -1)
    interleaved = (cells[:, np.newaxis, :] >> bits[:, np.newaxis]) & 1  # [n, bit, dimension]
    packed = np.packbits(
        interleaved.reshape(len(cells), cells.shape[1] * len(bits)).astype(np.uint8), axis=1
    )
    return np.argsort(packed.view(f"S{packed.shape[1]}").ravel(), kind="stable")
