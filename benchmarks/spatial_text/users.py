"""What a user would write instead of an index: two structures that are made once.

Both keep what a subscription is compared with in the order in which it is read, and compare in
compiled code: the box first, which is cheap, then tokens with a bit for each token of the message.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from benchmarks.workloads.spatial_texts import Messages, Subscriptions
from indexes.spatial_text.token_r_trees import pack

__all__ = ["RarestTokenLists", "StrRTree"]

_FANOUT = 16
_STACK = 1024


class _InOrder(NamedTuple):
    """Subscriptions in the order in which they are read."""

    ids: np.ndarray  # i8[n]
    boxes: np.ndarray  # f8[n, 4]
    tokens: np.ndarray  # i4[t]
    starts: np.ndarray  # i8[n + 1]


def _in_order(s: Subscriptions, order: np.ndarray) -> _InOrder:
    sizes = np.diff(s.starts)[order]
    starts = np.concatenate(([0], np.cumsum(sizes)))
    places = np.repeat(s.starts[:-1][order] - starts[:-1], sizes) + np.arange(starts[-1])
    return _InOrder(order.astype(np.int64), s.boxes[order], s.tokens[places], starts)


class RarestTokenLists:
    """Each subscription is in the list of its rarest token; a message goes through its lists."""

    def __init__(self, s: Subscriptions, vocabulary: int) -> None:
        frequencies = np.bincount(s.tokens, minlength=vocabulary)
        owners = np.repeat(np.arange(len(s.boxes)), np.diff(s.starts))
        # By rarity, then by token: the first of each owner is its rarest.
        by_rarity = np.lexsort((s.tokens, frequencies[s.tokens], owners))
        keys = s.tokens[by_rarity[s.starts[:-1]]]
        order = np.argsort(keys, kind="stable")
        self._data = _in_order(s, order)
        self._lists = np.searchsorted(keys[order], np.arange(vocabulary + 1))
        self._words = vocabulary // 64 + 1

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self._data) + self._lists.nbytes

    def match(self, messages: Messages) -> tuple[np.ndarray, np.ndarray]:
        return _match_lists(self._data, self._lists, messages, self._words)


class StrRTree:
    """An R-tree packed by Sort-Tile-Recursive; tokens are compared where boxes meet."""

    def __init__(self, s: Subscriptions, vocabulary: int) -> None:
        packed = pack(s.boxes, _FANOUT)
        self._data = _in_order(s, packed.order)
        self._nodes = (packed.boxes, packed.firsts, packed.counts, packed.levels)
        self._words = vocabulary // 64 + 1

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in (*self._data, *self._nodes))

    def match(self, messages: Messages) -> tuple[np.ndarray, np.ndarray]:
        return _match_r_tree(self._data, *self._nodes, messages, self._words)


@njit(cache=True)
def _set_bits(said, messages, i):
    for at in range(messages.starts[i], messages.starts[i + 1]):
        said[messages.tokens[at] >> 6] |= np.int64(1) << (messages.tokens[at] & 63)


@njit(cache=True)
def _clear_bits(said, messages, i):
    for at in range(messages.starts[i], messages.starts[i + 1]):
        said[messages.tokens[at] >> 6] = 0


@njit(cache=True)
def _meets(boxes, at, x_low, y_low, x_high, y_high):
    return (
        boxes[at, 0] <= x_high
        and boxes[at, 2] >= x_low
        and boxes[at, 1] <= y_high
        and boxes[at, 3] >= y_low
    )


@njit(cache=True)
def _scan(data, first, stop, box, said, ids, found):
    x_low, y_low, x_high, y_high = box
    for at in range(first, stop):
        if not _meets(data.boxes, at, x_low, y_low, x_high, y_high):
            continue
        place, end = data.starts[at], data.starts[at + 1]
        while place < end and said[data.tokens[place] >> 6] >> (data.tokens[place] & 63) & 1:
            place += 1
        if place == end:
            ids[found] = data.ids[at]
            found += 1
    return found


@njit(cache=True)
def _with_room(ids, found, more):
    if found + more <= len(ids):
        return ids
    return np.concatenate((ids[:found], np.empty(found + more, np.int64)))


@njit(cache=True, nogil=True)
def _match_lists(data, lists, messages, words):
    said, ids = np.zeros(words, np.int64), np.empty(1024, np.int64)
    starts = np.zeros(len(messages.boxes) + 1, np.int64)
    for i in range(len(messages.boxes)):
        found = starts[i]
        b = messages.boxes[i]
        box = (b[0], b[1], b[2], b[3])
        _set_bits(said, messages, i)
        for at in range(messages.starts[i], messages.starts[i + 1]):
            first, stop = lists[messages.tokens[at]], lists[messages.tokens[at] + 1]
            ids = _with_room(ids, found, stop - first)
            found = _scan(data, first, stop, box, said, ids, found)
        _clear_bits(said, messages, i)
        ids[starts[i] : found].sort()
        starts[i + 1] = found
    return ids[: starts[-1]].copy(), starts


@njit(cache=True, nogil=True)
def _match_r_tree(data, boxes, firsts, counts, levels, messages, words):
    said, ids = np.zeros(words, np.int64), np.empty(1024, np.int64)
    stack = np.empty(_STACK, np.int64)
    starts = np.zeros(len(messages.boxes) + 1, np.int64)
    for i in range(len(messages.boxes)):
        found = starts[i]
        b = messages.boxes[i]
        box = (b[0], b[1], b[2], b[3])
        _set_bits(said, messages, i)
        stack[0] = len(boxes) - 1
        waiting = 1
        while waiting:
            waiting -= 1
            node = stack[waiting]
            first, stop = firsts[node], firsts[node] + counts[node]
            if node < levels[1]:
                ids = _with_room(ids, found, stop - first)
                found = _scan(data, first, stop, box, said, ids, found)
                continue
            for child in range(first, stop):
                if _meets(boxes, child, box[0], box[1], box[2], box[3]):
                    stack[waiting] = child
                    waiting += 1
        _clear_bits(said, messages, i)
        ids[starts[i] : found].sort()
        starts[i + 1] = found
    return ids[: starts[-1]].copy(), starts
