"""The global order of tokens, and the orders in which a trie places subscriptions.

A token's key is its place in the global order.  The tokens of a subscription are sorted by key, and
in token-set order (the seed, §3.1) subscriptions are sorted by their tokens as words are by their
letters: those with a common prefix are neighbours.  Those with equal tokens are sorted along a
curve through the plane, so that neighbours are near each other; and so are those with a common
prefix, where a trie asks for it.
"""

from collections.abc import Sequence

import numpy as np
from numba import njit

from indexes.kernels.decorators import bare, fused

__all__ = [
    "ALONG_CURVE", "BASE_KEY", "TokenKeys", "by_first_token", "curve_grid", "middle",
    "sort_places", "sort_tokens",
]  # fmt: skip

# Keys of tokens that are new since keys were given last count downwards from here: few have them.
BASE_KEY = 1 << 30
ALONG_CURVE = -1  # in the place of a depth: not by tokens at all
_RUN = 12  # subscriptions that are sorted by insertion
_CELLS = 1 << 16  # of a curve, along each axis
_SAMPLED = 4096  # subscriptions that say where the curve is needed


class TokenKeys:
    """The keys of a dictionary's tokens; those that nobody has asked for yet come first."""

    def __init__(self, order: str, spare: int = 8) -> None:
        self._order = order
        self._spare = spare
        self.of = np.zeros(0, np.int32)  # by token, then room
        self._known = 0
        self.lowest = self.highest = BASE_KEY  # of the keys: in [lowest, highest)

    @property
    def nbytes(self) -> int:
        return self.of.nbytes

    def learn(self, size: int) -> None:
        """Give keys to tokens that are new in a dictionary of this size."""
        if size <= self._known:
            return
        if size > len(self.of):
            grown = np.zeros(size + size // 8 + self._spare, np.int32)
            grown[: self._known] = self.of[: self._known]
            self.of = grown
        new = size - self._known
        self.of[self._known : size] = self.lowest - 1 - np.arange(new)
        self._known, self.lowest = size, self.lowest - new

    def renew(self, frequencies: np.ndarray, strings: Sequence[str | None]) -> None:
        """Give every token a key anew: by rarity, or by the alphabet."""
        size = len(strings)
        if self._order == "alphabetical":
            named = sorted(range(size), key=lambda number: strings[number] or "")
            sequence = np.array(named, np.int64)
        else:
            sequence = np.argsort(frequencies[:size], kind="stable")
        self.of = np.empty(size, np.int32)
        self.of[sequence] = BASE_KEY + np.arange(size)
        self._known, self.lowest, self.highest = size, BASE_KEY, BASE_KEY + size

    def check(self) -> None:
        keys = np.sort(self.of[: self._known])
        assert (keys == np.arange(self.lowest, self.highest)).all()
        assert 0 < self.lowest <= BASE_KEY


def curve_grid(boxes: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The grid of a curve through where most of these rows are: its corner and cells per length."""
    sampled = boxes[rows[:: max(1, len(rows) // _SAMPLED)]]
    grid = np.array([0.0, 0.0, 1.0, 1.0])
    for axis in range(2):
        ends = sampled[:, [axis, axis + 2]]
        ends = ends[np.isfinite(ends).all(axis=1)]
        if len(ends):
            low, high = np.quantile(0.5 * ends[:, 0] + 0.5 * ends[:, 1], [0.002, 0.998])
            grid[axis] = low
            if high > low and np.isfinite(_CELLS / (high - low)):
                grid[axis + 2] = _CELLS / (high - low)
    return grid


def by_first_token(table, keys: np.ndarray, grid: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """These rows by the key of their first token, then along the curve."""
    pairs = np.empty(len(rows), np.int64)
    _first_key_and_code(table, keys, grid, rows, pairs)
    return rows[np.argsort(pairs)]


@njit(cache=True, nogil=True)
def sort_tokens(table, keys, rows):
    """Sort the tokens of each row by key: by insertion, at first into every `gap`-th place."""
    tokens = table.tokens
    for row in rows:
        first, size = np.int64(table.starts[row]), np.int64(table.sizes[row])
        gap = 1
        while 9 * gap < size:
            gap = 3 * gap + 1
        while gap:
            for i in range(first + gap, first + size):
                token, at = tokens[i], i
                while at - gap >= first and keys[tokens[at - gap]] > keys[token]:
                    tokens[at] = tokens[at - gap]
                    at -= gap
                tokens[at] = token
            gap //= 3


@njit(cache=True, nogil=True)
def _first_key_and_code(table, keys, grid, rows, pairs):
    for i in range(len(rows)):
        key = keys[table.tokens[np.int64(table.starts[rows[i]])]]
        pairs[i] = np.int64(key) << 32 | _curve_code(grid, table.boxes, rows[i])


@bare
def sort_places(table, keys, grid, rows, spare, start, stop, depth):
    """Sort a stretch of rows that have this many tokens in common, or `ALONG_CURVE`."""
    for low in range(start, stop, _RUN):
        for i in range(low + 1, min(low + _RUN, stop)):
            row, at = rows[i], i
            while at > low and _comes_before(table, keys, grid, row, rows[at - 1], depth):
                rows[at] = rows[at - 1]
                at -= 1
            rows[at] = row
    width = _RUN
    while width < stop - start:
        for low in range(start, stop, 2 * width):
            middle, high = min(low + width, stop), min(low + 2 * width, stop)
            _merge(table, keys, grid, rows, spare, low, middle, high, depth)
        width *= 2


@bare
def _merge(table, keys, grid, rows, spare, low, middle, high, depth):
    if middle >= high or not _comes_before(
        table, keys, grid, rows[middle], rows[middle - 1], depth
    ):
        return
    for i in range(low, middle):
        spare[i] = rows[i]
    left, right, at = low, middle, low
    while left < middle:
        if right < high and _comes_before(table, keys, grid, rows[right], spare[left], depth):
            rows[at] = rows[right]
            right += 1
        else:
            rows[at] = spare[left]
            left += 1
        at += 1


@bare
def _comes_before(table, keys, grid, row, other, depth):
    if depth != ALONG_CURVE:
        mine, its = np.int64(table.sizes[row]), np.int64(table.sizes[other])
        first, second = np.int64(table.starts[row]), np.int64(table.starts[other])
        for i in range(depth, min(mine, its)):
            key, its_key = keys[table.tokens[first + i]], keys[table.tokens[second + i]]
            if key != its_key:
                return key < its_key
        if mine != its:
            return mine < its
    code, its_code = _curve_code(grid, table.boxes, row), _curve_code(grid, table.boxes, other)
    if code != its_code:
        return code < its_code
    return row < other


@bare
def _curve_code(grid, boxes, row):
    """Where the middle of a box is on a curve that goes through the cells in the shape of a Z."""
    x = _cell(middle(boxes, row, 0), grid[0], grid[2])
    y = _cell(middle(boxes, row, 1), grid[1], grid[3])
    return _spread(x) | (_spread(y) << 1)


@fused
def middle(boxes, row, axis):
    """Of a box along an axis, x or y; nan if the box has no ends there."""
    low, high = boxes[row, axis], boxes[row, axis + 2]
    return 0.5 * low + 0.5 * high if low > -np.inf or high < np.inf else np.nan


@fused
def _cell(place, low, per_length):
    """Outside of the grid, the cell at its edge; of no place, the last."""
    at = (place - low) * per_length
    if at < _CELLS - 1:
        return np.int64(max(at, 0.0))
    return np.int64(_CELLS - 1)


@fused
def _spread(bits):
    """A zero in front of each of 16 bits."""
    bits = (bits | (bits << 8)) & 0x00FF00FF
    bits = (bits | (bits << 4)) & 0x0F0F0F0F
    bits = (bits | (bits << 2)) & 0x33333333
    return (bits | (bits << 1)) & 0x55555555
