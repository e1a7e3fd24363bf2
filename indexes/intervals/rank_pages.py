"""All subscriptions of a matcher in rank order, with boxes coarse enough to scan at once.

Layout: a sequence of pages, each with up to `page` rows in rank order.  Beside its rows a page
has one byte for each end of each interval, attribute after attribute, so that a few vector
instructions test many subscriptions.  The bytes are monotone codes of the ends: a subscription
that an event meets is never missed, and what the codes let through is checked exactly.

Codes run from 1 to 254; 0 and 255 are for subscriptions that do not constrain the attribute.
"""

import numpy as np

from indexes.hits import is_ranked
from indexes.intervals.exact_boxes import GREATEST, Boxes
from indexes.intervals.ir_layout import Rows
from indexes.intervals.page_kernels import Pages, delete_rows, encode_box, fill, insert_rows
from indexes.kernels import NIL
from indexes.kernels.quantile_codes import MOST_BOUNDS, evenly


class RankPages:
    def __init__(self, attributes: int, page: int) -> None:
        self._page = page
        self.pages = _allocate(attributes, page, 0, 0)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.pages)

    def reserve_rows(self, capacity: int) -> None:
        if capacity > len(self.pages.where):
            where = np.full(capacity, NIL, np.int32)
            where[: len(self.pages.where)] = self.pages.where
            self.pages = self.pages._replace(where=where)

    def rebuild(self, keys: Rows, boxes: Boxes, rows: np.ndarray, bounds: np.ndarray) -> None:
        """Fill the pages with rows in rank order; `bounds` says what the codes tell apart."""
        rows_each = max(1, self._page * 3 // 4)  # the rest is room for insertions
        pages = -(-len(rows) // rows_each)
        fresh = _allocate(len(bounds), self._page, pages, len(boxes.lows))
        self.pages = fresh._replace(bounds=bounds)
        fill(self.pages, keys, rows, boxes, rows_each)

    def insert(self, keys: Rows, boxes: Boxes, rows: np.ndarray) -> None:
        done = 0
        while done < len(rows):
            done = insert_rows(self.pages, keys, boxes, rows, done)
            if done < len(rows):
                self._grow()

    def delete(self, keys: Rows, rows: np.ndarray) -> None:
        delete_rows(self.pages, keys, rows)

    def in_order(self) -> np.ndarray:
        """The rows in rank order."""
        p = self.pages
        live = p.order[: int(p.live[0])].tolist()
        return np.concatenate([np.empty(0, np.int32), *(p.refs[i, : p.filled[i]] for i in live)])

    def check(self, keys: Rows, boxes: Boxes, live: np.ndarray) -> None:
        p, used = self.pages, int(self.pages.live[0])
        assert sorted(p.order.tolist()) == list(range(len(p.order)))
        assert (p.filled[p.order[:used]] > 0).all()
        assert (p.filled <= self._page).all()
        rows = self.in_order()
        assert sorted(rows.tolist()) == live.tolist()
        assert is_ranked(keys.scores[rows], keys.ids[rows])
        for page in p.order[:used].tolist():
            first = p.refs[page, 0]
            assert (p.scores[page], p.ids[page]) == (keys.scores[first], keys.ids[first])
            for pos, row in enumerate(p.refs[page, : p.filled[page]].tolist()):
                assert p.where[row] == page
                expected = np.empty_like(p.codes[page, :, pos])
                encode_box(p.bounds, boxes, row, expected)
                assert (p.codes[page, :, pos] == expected).all()

    def _grow(self) -> None:
        old = self.pages
        pages = len(old.order) + len(old.order) // 8 + 1
        copy = _allocate(len(old.bounds), self._page, pages, 0)
        for name in ("refs", "codes", "filled", "scores", "ids", "order"):
            getattr(copy, name)[: len(old.order)] = getattr(old, name)
        self.pages = copy._replace(live=old.live, where=old.where, bounds=old.bounds)


def quantiles(sample: Boxes) -> np.ndarray:
    """Bounds f8[d, MOST_BOUNDS] that part the sampled ends evenly."""
    bounds = np.zeros((sample.lows.shape[1], MOST_BOUNDS))
    for j, row in enumerate(bounds):
        ends = np.concatenate((sample.lows[:, j], sample.highs[:, j]))
        ends = np.sort(ends[np.abs(ends) < GREATEST])
        if len(ends):
            row[:] = evenly(ends)
    return bounds


def _allocate(attributes: int, page: int, pages: int, rows: int) -> Pages:
    return Pages(
        refs=np.empty((pages, page), np.int32),
        codes=np.zeros((pages, 2 * attributes, page), np.uint8),
        filled=np.zeros(pages, np.int32),
        scores=np.empty(pages),
        ids=np.empty(pages, np.int64),
        order=np.arange(pages, dtype=np.int32),
        live=np.zeros(1, np.int64),
        where=np.full(rows, NIL, np.int32),
        bounds=np.zeros((attributes, MOST_BOUNDS)),
    )
