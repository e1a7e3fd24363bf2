"""The objects of a Paint server: points (x, y) found by x, and the best of a range by y.

Blocks of up to B objects, in ascending order of x, as a B-tree's leaves are; nothing is above them
but a few columns with one entry per block, which are read from one end of a range to the other.
With blocks of 128 a million objects have about 10,000 entries, so that the longest reading takes
as long as the paper's k-d tree of √n nodes would, and the short ones of most queries less.

Order is (y, x): a lower y is better, and of equal ones the lower x.  So a key is a pair, and no two
objects have the same.  Each block holds its objects twice, by x and by key:

    objects (1, 50) (2, 10) (4, 30) | (5, 20) (9, 40)     blocks of 3
    x       [1, 2, 4] [5, 9]                              y       [50, 10, 30] [20, 40]
    key_y   [10, 30, 50] [20, 40]                         key_x   [2, 4, 1] [5, 9]
    order   [0, 1]  first_x [1, 5]  best_y [10, 20]  best_x [2, 5]  worst_y [50, 40]
"""

from collections.abc import Iterable
from math import inf
from typing import Any, NamedTuple, Self

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from indexes.kernels.decorators import bare, fused, inner
from indexes.validation import as_count, as_number_array, as_table, require_finite

__all__ = [
    "BLOCKS",
    "ObjectArrays",
    "ObjectIndex",
    "Objects",
    "find",
    "find_many",
    "first_k",
    "is_below",
    "least_above",
    "load",
    "new_objects",
    "place_of",
    "position_of",
    "put",
    "remove",
    "reserve",
    "top_k_many",
]  # fmt: skip

BLOCK = 128
BLOCKS, LIVE = range(2)  # fields of `state`

Key = float | tuple[float, float]


class Objects(NamedTuple):
    """What kernels take.  Columns by position follow the x axis; the first BLOCKS are in use."""

    x: np.ndarray  # f8[blocks, B]  ascending
    y: np.ndarray  # f8[blocks, B]  of the object at the same place in `x`
    key_y: np.ndarray  # f8[blocks, B]  keys ascending, best first
    key_x: np.ndarray  # f8[blocks, B]
    size: np.ndarray  # i8[blocks]
    order: np.ndarray  # i8[blocks]  by position: the block; behind those in use, the free ones
    first_x: np.ndarray  # f8[blocks]  by position: the least x
    best_y: np.ndarray  # f8[blocks]  by position: the block's first key
    best_x: np.ndarray  # f8[blocks]
    worst_y: np.ndarray  # f8[blocks]  by position: the y of the block's last key
    state: np.ndarray  # i8[2]  blocks in use, objects


class ObjectArrays(NamedTuple):
    x: np.ndarray  # f8[n]  ascending
    y: np.ndarray  # f8[n]


class ObjectIndex:
    """Objects with distinct x.

    >>> index = ObjectIndex.build([(1, 50), (2, 10), (4, 30), (5, 20)])
    >>> index.first_k(4, 40, 2, "left"), index.min_y(1, 4, 10), index.top_k(2, 9, 2)
    ([2.0], (4.0, 30.0), [(2.0, 10.0), (5.0, 20.0)])
    """

    def __init__(self, capacity: int = 8, block: int = BLOCK) -> None:
        """Room for `capacity` blocks, at least, of `block` objects each, at most."""
        self._least = as_count("capacity", capacity, least=1)
        self._objects = new_objects(self._least, as_count("block", block, least=2))

    @classmethod
    def build(
        cls, objects: ArrayLike | Iterable[tuple[float, float]], block: int = BLOCK
    ) -> "ObjectIndex":
        index = cls(block=block)
        index.put_many(objects)
        return index

    @property
    def arrays(self) -> Objects:
        """For kernels; growth replaces them, so ask anew after each change."""
        return self._objects

    def adopt(self, arrays: Objects) -> None:
        """Go on with the arrays that a kernel has changed, and perhaps replaced."""
        self._objects = arrays

    def reserve(self, more: int) -> Objects:
        """The arrays with room for that many further objects."""
        self._objects = reserve(self._objects, more)
        return self._objects

    def __len__(self) -> int:
        return int(self._objects.state[LIVE])

    def __contains__(self, x: float) -> bool:
        return bool(find(self._objects, float(x)) != inf)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self._objects)

    def y_of(self, x: float) -> float:
        """The y of a known object."""
        y = float(find(self._objects, as_coordinate("x", x)))
        if y == inf:
            raise KeyError(f"x: got {x}, which no object has, when a known one was expected")
        return y

    def find_many(self, xs: np.ndarray) -> np.ndarray:
        """The y of the object at each x; inf: there is none."""
        return find_many(self._objects, xs)

    def put(self, x: float, y: float) -> None:
        """Add an object, or give a known one another y."""
        at, value = as_coordinate("x", x), as_coordinate("y", y)
        put(self.reserve(1), at, value)

    def put_many(self, objects: ArrayLike | Iterable[tuple[float, float]]) -> None:
        """Add objects that are all new: pairs (x, y)."""
        table = as_objects(objects)
        order = np.argsort(table[:, 0])
        x, y = table[order, 0].copy(), table[order, 1].copy()
        twice = x[1:][x[1:] == x[:-1]]
        if len(twice):
            raise KeyError(f"x: got {twice[0]} twice when distinct objects were expected")
        if not len(self):
            self._objects = load(self._objects, x, y)
            return
        known = [at for at in x.tolist() if at in self]
        if known:
            raise KeyError(f"x: got {known[0]}, which an object has, when a new one was expected")
        for at, value in zip(x.tolist(), y.tolist(), strict=True):
            put(self.reserve(1), at, value)

    def remove(self, x: float) -> None:
        self.y_of(x)
        remove(self._objects, float(x))

    def first_k(self, x: float, y: Key, k: int, side: str) -> list[float]:
        """The x of the k objects next to `x`, on one side, whose keys are below `y`."""
        if side not in ("left", "right"):
            raise ValueError(f"side: got {side!r} when 'left' or 'right' was expected")
        key_y, key_x = as_key(y, -inf)
        found = np.empty(as_count("k", k))
        at = as_bound("x", x)
        count = first_k(self._objects, at, key_y, key_x, len(found), side == "right", found)
        return found[:count].tolist()

    def min_y(self, low: float, high: float, y: Key) -> tuple[float, float] | None:
        """The best object (x, y) of the closed range among those whose keys are above `y`."""
        ends = as_range(low, high)
        found_x, found_y = least_above(self._objects, *ends, *as_key(y, inf))
        return None if found_y == inf else (float(found_x), float(found_y))

    def top_k(self, low: float, high: float, k: int) -> list[tuple[float, float]]:
        """The k best objects (x, y) of the closed range, best first."""
        ends = as_range(low, high)
        x, y = _top_k(self._objects, *ends, as_count("k", k))
        return list(zip(x.tolist(), y.tolist(), strict=True))

    def to_arrays(self) -> ObjectArrays:
        objects = self._objects
        blocks = objects.order[: objects.state[BLOCKS]].tolist()
        parts = [(objects.x[b, : objects.size[b]], objects.y[b, : objects.size[b]]) for b in blocks]
        x, y = (np.concatenate([part[i] for part in parts] or [np.empty(0)]) for i in range(2))
        return ObjectArrays(x, y)

    @classmethod
    def from_arrays(cls, arrays: ObjectArrays, block: int = BLOCK) -> Self:
        index = cls(block=block)
        index.put_many(np.column_stack(arrays))
        return index

    def check(self) -> None:
        """Raise `AssertionError` unless every structural invariant holds."""
        o, blocks = self._objects, int(self._objects.state[BLOCKS])
        assert sorted(o.order.tolist()) == list(range(len(o.order)))
        sizes = o.size[o.order[:blocks]]
        assert (sizes >= 1).all()
        assert (sizes <= o.x.shape[1]).all()
        assert sizes.sum() == o.state[LIVE]
        arrays = self.to_arrays()
        assert (arrays.x[1:] > arrays.x[:-1]).all(), "ascending, each x once"
        assert np.isfinite(arrays.x).all()
        assert np.isfinite(arrays.y).all()
        for position, block in enumerate(o.order[:blocks].tolist()):
            held = range(int(o.size[block]))
            keys = [(o.key_y[block, i], o.key_x[block, i]) for i in held]
            assert keys == sorted((o.y[block, i], o.x[block, i]) for i in held)
            assert o.first_x[position] == o.x[block, 0]
            assert (o.best_y[position], o.best_x[position]) == keys[0]
            assert o.worst_y[position] == keys[-1][0]


def as_coordinate(name: str, value: float) -> float:
    return float(require_finite(name, as_number_array(name, [value]))[0])


def as_bound(name: str, value: float) -> float:
    bound = float(as_number_array(name, [value])[0])
    if np.isnan(bound):
        raise ValueError(f"{name}: got nan when a number or an infinite end was expected")
    return bound


def as_range(low: float, high: float) -> tuple[float, float]:
    ends = as_bound("low", low), as_bound("high", high)
    if ends[0] > ends[1]:
        raise ValueError(f"range: got [{low}, {high}] when low <= high was expected")
    return ends


def as_key(y: Key, x: float) -> tuple[float, float]:
    """A key as it is, or that of a number: before or behind all objects with that y."""
    if isinstance(y, tuple):
        if len(y) != 2:
            raise ValueError(f"y: got {y} when a number or a key (y, x) was expected")
        return as_bound("y", y[0]), as_bound("x", y[1])
    return as_bound("y", y), x


def as_objects(objects: ArrayLike | Iterable[tuple[float, float]]) -> np.ndarray:
    pairs: Any = objects if isinstance(objects, np.ndarray) else list(objects)  # type: ignore[arg-type]
    if not len(pairs):
        return np.empty((0, 2))
    return require_finite("objects", as_table("objects", pairs, columns=2))


def new_objects(blocks: int, block: int) -> Objects:
    return Objects(
        x=np.empty((blocks, block)),
        y=np.empty((blocks, block)),
        key_y=np.empty((blocks, block)),
        key_x=np.empty((blocks, block)),
        size=np.zeros(blocks, np.int64),
        order=np.arange(blocks),
        first_x=np.empty(blocks),
        best_y=np.empty(blocks),
        best_x=np.empty(blocks),
        worst_y=np.empty(blocks),
        state=np.zeros(2, np.int64),
    )


@njit(cache=True)
def reserve(o, more):
    """The arrays, or larger ones, so that `more` objects can be put: each may split a block."""
    blocks = len(o.order)
    if o.state[BLOCKS] + more <= blocks:
        return o
    # A split leaves two halves, so that many objects need few blocks; a few may need one each.
    full = (o.state[LIVE] + more) // max(1, o.x.shape[1] // 4) + 1
    needed = o.state[BLOCKS] + min(more, full)
    if needed <= blocks:
        return o
    return _resized(o, needed + needed // 2)


@inner
def _resized(o, blocks):
    width, used = o.x.shape[1], len(o.order)
    x, y = np.empty((blocks, width)), np.empty((blocks, width))
    key_y, key_x = np.empty((blocks, width)), np.empty((blocks, width))
    x[:used], y[:used], key_y[:used], key_x[:used] = o.x, o.y, o.key_y, o.key_x
    size, order = np.zeros(blocks, np.int64), np.arange(blocks)
    size[:used], order[:used] = o.size, o.order
    first_x, best_y = np.empty(blocks), np.empty(blocks)
    best_x, worst_y = np.empty(blocks), np.empty(blocks)
    first_x[:used], best_y[:used] = o.first_x, o.best_y
    best_x[:used], worst_y[:used] = o.best_x, o.worst_y
    return Objects(
        x, y, key_y, key_x, size, order, first_x, best_y, best_x, worst_y, o.state.copy()
    )


@njit(cache=True)
def load(o, x, y):
    """Arrays with these objects and no others; `x` ascends.  Blocks are three quarters full."""
    width = o.x.shape[1]
    share = max(1, 3 * width // 4)
    blocks = (len(x) + share - 1) // share
    if blocks > len(o.order):
        o = _resized(o, blocks + blocks // 2)
    for position in range(blocks):
        start = position * share
        stop = min(start + share, len(x))
        block = o.order[position]
        o.size[block] = stop - start
        o.x[block, : stop - start] = x[start:stop]
        o.y[block, : stop - start] = y[start:stop]
        _order_keys(o, block)
        _summarise(o, position)
    o.state[BLOCKS] = blocks
    o.state[LIVE] = len(x)
    return o


@inner
def _order_keys(o, block):
    size = o.size[block]
    # Objects ascend by x, so a stable sort by y has them in the order of their keys.
    by_key = np.argsort(o.y[block, :size], kind="mergesort")
    o.key_y[block, :size] = o.y[block, :size][by_key]
    o.key_x[block, :size] = o.x[block, :size][by_key]


@fused
def is_below(y, x, key_y, key_x):
    """Whether the key (y, x) comes before another."""
    return y < key_y or (y == key_y and x < key_x)


@bare
def position_of(o, x):
    """The last block that begins at or before x, or the first block."""
    low, high = 0, o.state[BLOCKS]
    while high - low > 1:
        middle = (low + high) // 2
        if o.first_x[middle] <= x:
            low = middle
        else:
            high = middle
    return low


@bare
def place_of(o, block, x):
    """How many objects of the block have a lower x."""
    low, high = 0, o.size[block]
    while low < high:
        middle = (low + high) // 2
        if o.x[block, middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


@bare
def _key_place_of(o, block, y, x):
    """How many keys of the block come before (y, x)."""
    low, high = 0, o.size[block]
    while low < high:
        middle = (low + high) // 2
        if is_below(o.key_y[block, middle], o.key_x[block, middle], y, x):
            low = middle + 1
        else:
            high = middle
    return low


@bare
def _summarise(o, position):
    block = o.order[position]
    o.first_x[position] = o.x[block, 0]
    o.best_y[position] = o.key_y[block, 0]
    o.best_x[position] = o.key_x[block, 0]
    o.worst_y[position] = o.key_y[block, o.size[block] - 1]


@njit(cache=True)
def find(o, x):
    """The y of the object at x, or inf."""
    if o.state[BLOCKS] == 0:
        return np.inf
    block = o.order[position_of(o, x)]
    place = place_of(o, block, x)
    if place < o.size[block] and o.x[block, place] == x:
        return o.y[block, place]
    return np.inf


@njit(cache=True)
def find_many(o, xs):
    ys = np.empty(len(xs))
    for i in range(len(xs)):
        ys[i] = find(o, xs[i])
    return ys


@njit(cache=True)
def put(o, x, y):
    """Add an object, for which there is room, or give a known one another y."""
    if o.state[BLOCKS] == 0:
        o.state[BLOCKS] = 1
        o.size[o.order[0]] = 0
    position = position_of(o, x)
    block = o.order[position]
    place = place_of(o, block, x)
    if place < o.size[block] and o.x[block, place] == x:
        _take_key(o, block, o.y[block, place], x)
        o.y[block, place] = y
        _add_key(o, block, y, x, o.size[block] - 1)
    else:
        if o.size[block] == o.x.shape[1]:
            _split(o, position)
            if x > o.first_x[position + 1]:
                position += 1
            block = o.order[position]
            place = place_of(o, block, x)
        size = o.size[block]
        for i in range(size, place, -1):
            o.x[block, i] = o.x[block, i - 1]
            o.y[block, i] = o.y[block, i - 1]
        o.x[block, place] = x
        o.y[block, place] = y
        o.size[block] = size + 1
        _add_key(o, block, y, x, size)
        o.state[LIVE] += 1
    _summarise(o, position)


@bare
def _add_key(o, block, y, x, size):
    i = size
    while i > 0 and is_below(y, x, o.key_y[block, i - 1], o.key_x[block, i - 1]):
        o.key_y[block, i] = o.key_y[block, i - 1]
        o.key_x[block, i] = o.key_x[block, i - 1]
        i -= 1
    o.key_y[block, i] = y
    o.key_x[block, i] = x


@bare
def _take_key(o, block, y, x):
    for i in range(_key_place_of(o, block, y, x), o.size[block] - 1):
        o.key_y[block, i] = o.key_y[block, i + 1]
        o.key_x[block, i] = o.key_x[block, i + 1]


@inner
def _split(o, position):
    """The upper half of a full block goes to a free one behind it."""
    free = o.order[o.state[BLOCKS]]
    for i in range(o.state[BLOCKS], position + 1, -1):
        _move_position(o, i - 1, i)
    o.state[BLOCKS] += 1
    block, width = o.order[position], o.x.shape[1]
    half = width // 2
    o.order[position + 1] = free
    o.size[block], o.size[free] = half, width - half
    o.x[free, : width - half] = o.x[block, half:width]
    o.y[free, : width - half] = o.y[block, half:width]
    _order_keys(o, block)
    _order_keys(o, free)
    _summarise(o, position)
    _summarise(o, position + 1)


@bare
def _move_position(o, source, target):
    o.order[target] = o.order[source]
    o.first_x[target] = o.first_x[source]
    o.best_y[target] = o.best_y[source]
    o.best_x[target] = o.best_x[source]
    o.worst_y[target] = o.worst_y[source]


@njit(cache=True)
def remove(o, x):
    """Take a known object out; blocks that are left nearly empty join."""
    position = position_of(o, x)
    block = o.order[position]
    place = place_of(o, block, x)
    _take_key(o, block, o.y[block, place], x)
    for i in range(place, o.size[block] - 1):
        o.x[block, i] = o.x[block, i + 1]
        o.y[block, i] = o.y[block, i + 1]
    o.size[block] -= 1
    o.state[LIVE] -= 1
    if o.size[block] == 0:
        _free(o, position)
        return
    _summarise(o, position)
    if position > 0:
        _join(o, position - 1)
    if position + 1 < o.state[BLOCKS]:
        _join(o, position)


@inner
def _join(o, position):
    """Two neighbours that together fill half a block become one, if both are still there."""
    block, behind = o.order[position], o.order[position + 1]
    size, more = o.size[block], o.size[behind]
    if position + 1 >= o.state[BLOCKS] or size + more > o.x.shape[1] // 2:
        return
    o.x[block, size : size + more] = o.x[behind, :more]
    o.y[block, size : size + more] = o.y[behind, :more]
    o.size[block] = size + more
    _order_keys(o, block)
    _summarise(o, position)
    _free(o, position + 1)


@bare
def _free(o, position):
    block = o.order[position]
    o.state[BLOCKS] -= 1
    for i in range(position, o.state[BLOCKS]):
        _move_position(o, i + 1, i)
    o.order[o.state[BLOCKS]] = block
    o.size[block] = 0


@njit(cache=True)
def first_k(o, x, key_y, key_x, k, rightwards, found):
    """Write the x of the k objects next to x, strictly beside it, whose keys are below a key.

    Objects are met in the order of their distance.  Returns how many there are.
    """
    count, blocks = 0, o.state[BLOCKS]
    if blocks == 0 or k == 0:
        return 0
    position = position_of(o, x)
    block = o.order[position]
    place = place_of(o, block, x)
    if rightwards:
        if place < o.size[block] and o.x[block, place] == x:
            place += 1
        while True:
            for i in range(place, o.size[block]):
                if is_below(o.y[block, i], o.x[block, i], key_y, key_x):
                    found[count] = o.x[block, i]
                    count += 1
                    if count == k:
                        return count
            position += 1
            while position < blocks and not is_below(
                o.best_y[position], o.best_x[position], key_y, key_x
            ):
                position += 1
            if position == blocks:
                return count
            block, place = o.order[position], 0
    while True:
        for i in range(place - 1, -1, -1):
            if is_below(o.y[block, i], o.x[block, i], key_y, key_x):
                found[count] = o.x[block, i]
                count += 1
                if count == k:
                    return count
        position -= 1
        while position >= 0 and not is_below(o.best_y[position], o.best_x[position], key_y, key_x):
            position -= 1
        if position < 0:
            return count
        block = o.order[position]
        place = o.size[block]


@njit(cache=True)
def least_above(o, low, high, key_y, key_x):
    """The object (x, y) with the least key above a key in the closed range; y = inf: none."""
    found_x, found_y = np.inf, np.inf
    if o.state[BLOCKS] == 0:
        return found_x, found_y
    position = position_of(o, low)
    while position < o.state[BLOCKS] and o.first_x[position] <= high:
        best_y, best_x = o.best_y[position], o.best_x[position]
        if o.worst_y[position] >= key_y and is_below(best_y, best_x, found_y, found_x):
            block = o.order[position]
            last = o.x[block, o.size[block] - 1]
            if o.first_x[position] < low or last > high:
                for i in range(place_of(o, block, low), o.size[block]):
                    x, y = o.x[block, i], o.y[block, i]
                    if x > high:
                        break
                    if is_below(key_y, key_x, y, x) and is_below(y, x, found_y, found_x):
                        found_x, found_y = x, y
            elif is_below(key_y, key_x, best_y, best_x):
                found_x, found_y = best_x, best_y
            else:
                place = _key_place_of(o, block, key_y, key_x)
                if place < o.size[block] and (
                    o.key_y[block, place] == key_y and o.key_x[block, place] == key_x
                ):
                    place += 1
                if place < o.size[block]:
                    x, y = o.key_x[block, place], o.key_y[block, place]
                    if is_below(y, x, found_y, found_x):
                        found_x, found_y = x, y
        position += 1
    return found_x, found_y


@njit(cache=True)
def _top_k(o, low, high, k):
    """One after the other: each is the least above the one before it."""
    most = min(k, o.state[LIVE])
    x, y = np.empty(most), np.empty(most)
    key_y, key_x = -np.inf, -np.inf
    for i in range(most):
        key_x, key_y = least_above(o, low, high, key_y, key_x)
        if key_y == np.inf:
            return x[:i], y[:i]
        x[i], y[i] = key_x, key_y
    return x, y


@njit(cache=True, nogil=True)
def top_k_many(o, lows, highs, k):
    """The k best objects of each range, range by range: how many, their x and their y."""
    most = min(k, o.state[LIVE])
    counts = np.empty(len(lows), np.int64)
    xs, ys, used = (
        np.empty(16 + len(lows) * min(most, 4)),
        np.empty(16 + len(lows) * min(most, 4)),
        0,
    )
    for i in range(len(lows)):
        x, y = _top_k(o, lows[i], highs[i], k)
        if used + len(x) > len(xs):
            xs, ys = _longer(xs, used + len(x)), _longer(ys, used + len(x))
        xs[used : used + len(x)], ys[used : used + len(x)] = x, y
        counts[i] = len(x)
        used += len(x)
    return counts, xs[:used], ys[:used]


@inner
def _longer(values, wanted):
    longer = np.empty(2 * wanted)
    longer[: len(values)] = values
    return longer
