"""Pages of rows in rank order and their codes; see `rank_pages` for what they are for.

`order` lists every page: the live ones in rank order, then the free ones.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from indexes.hits import better_at
from indexes.kernels.decorators import bare
from indexes.kernels.prefetch import prefetch
from indexes.kernels.quantile_codes import NO_END, code_of

_AHEAD = 4  # rows whose pages are prefetched before they are changed
_LINE = 64  # bytes


class Pages(NamedTuple):
    refs: np.ndarray  # i4[pages, page]  rows
    codes: np.ndarray  # u1[pages, 2 * d, page]  codes of low and high, an attribute after another
    filled: np.ndarray  # i4[pages]
    scores: np.ndarray  # f8[pages]  of the first row of each live page
    ids: np.ndarray  # i8[pages]  the same
    order: np.ndarray  # i4[pages]
    live: np.ndarray  # i8[1]  pages in use
    where: np.ndarray  # i4[rows]  the page of each row
    bounds: np.ndarray  # f8[d, MOST_BOUNDS]  between the codes


@njit(cache=True)
def encode_box(bounds, boxes, row, codes):
    for j in range(len(bounds)):
        low, high = boxes.lows[row, j], boxes.highs[row, j]
        free = low == -np.inf and high == np.inf
        codes[2 * j] = 0 if free else code_of(bounds, j, low)
        codes[2 * j + 1] = NO_END if free else code_of(bounds, j, high)


@njit(cache=True, nogil=True)
def fill(p, keys, rows, boxes, rows_each):
    for i in range(len(rows)):
        page, pos = i // rows_each, i % rows_each
        p.refs[page, pos] = rows[i]
        encode_box(p.bounds, boxes, rows[i], p.codes[page, :, pos])
        p.filled[page] = pos + 1
        p.where[rows[i]] = page
    p.live[0] = (len(rows) + rows_each - 1) // rows_each
    for page in range(p.live[0]):
        _note_first(p, keys, page)


@bare
def _note_first(p, keys, page):
    first = p.refs[page, 0]
    p.scores[page], p.ids[page] = keys.scores[first], keys.ids[first]


@bare
def _page_for(p, score, id):
    """The place in `order` of the page that a key belongs to."""
    order, scores, ids = p.order, p.scores, p.ids
    low, high = 0, p.live[0]
    while low < high:
        middle = (low + high) // 2
        page = order[middle]
        if better_at(scores, ids, page, score, id):
            low = middle + 1
        else:
            high = middle
    return max(low - 1, 0)


@bare
def _position_for(p, keys, page, score, id):
    refs, scores, ids = p.refs, keys.scores, keys.ids
    low, high = 0, p.filled[page]
    while low < high:
        middle = (low + high) // 2
        row = refs[page, middle]
        if better_at(scores, ids, row, score, id):
            low = middle + 1
        else:
            high = middle
    return low


@bare
def _prefetch_page(p, page):
    """Prefetch all that a page has: a change moves about half of it."""
    size, columns = p.refs.shape[1], p.codes.shape[1]
    for at in range(0, p.filled[page], _LINE // 4):
        prefetch(p.refs, page * size + at)
    for column in range(columns):
        for at in range(0, p.filled[page], _LINE):
            prefetch(p.codes, (page * columns + column) * size + at)


@bare
def _carry(p, source, start, target, to, count):
    """Copy entries into another page."""
    for i in range(count):
        row = p.refs[source, start + i]
        p.refs[target, to + i] = row
        p.where[row] = target
    for column in range(p.codes.shape[1]):
        for i in range(count):
            p.codes[target, column, to + i] = p.codes[source, column, start + i]


@bare
def _open_gap(entries, at, end):
    for i in range(end, at, -1):
        entries[i] = entries[i - 1]


@bare
def _close_gap(entries, at, end):
    for i in range(at, end - 1):
        entries[i] = entries[i + 1]


@bare
def _split(p, keys, place):
    """Move the second half of a full page into a free one behind it."""
    full, fresh = p.order[place], p.order[p.live[0]]
    for i in range(p.live[0], place + 1, -1):
        p.order[i] = p.order[i - 1]
    p.order[place + 1] = fresh
    p.live[0] += 1
    half = p.filled[full] // 2
    _carry(p, full, half, fresh, 0, p.filled[full] - half)
    p.filled[fresh] = p.filled[full] - half
    p.filled[full] = half
    _note_first(p, keys, fresh)


@njit(cache=True, nogil=True)
def insert_rows(p, keys, boxes, new, start):
    """Insert from position `start` on; return the position at which pages ran out."""
    for i in range(start, len(new)):
        if p.live[0] == len(p.order):
            return i
        if i + _AHEAD < len(new):
            ahead = new[i + _AHEAD]
            _prefetch_page(p, np.int64(p.order[_page_for(p, keys.scores[ahead], keys.ids[ahead])]))
        row = new[i]
        score, id = keys.scores[row], keys.ids[row]
        p.live[0] = max(p.live[0], 1)
        place = _page_for(p, score, id)
        if p.filled[p.order[place]] == p.refs.shape[1]:
            _split(p, keys, place)
            place = _page_for(p, score, id)
        page = p.order[place]
        pos = _position_for(p, keys, page, score, id)
        _open_gap(p.refs[page], pos, p.filled[page])
        for column in range(p.codes.shape[1]):
            _open_gap(p.codes[page, column], pos, p.filled[page])
        p.refs[page, pos] = row
        encode_box(p.bounds, boxes, row, p.codes[page, :, pos])
        p.where[row] = page
        p.filled[page] += 1
        if pos == 0:
            _note_first(p, keys, page)
    return len(new)


@njit(cache=True, nogil=True)
def delete_rows(p, keys, old):
    for i in range(len(old)):
        if i + _AHEAD < len(old):
            _prefetch_page(p, np.int64(p.where[old[i + _AHEAD]]))
        page = p.where[old[i]]
        pos = 0
        while p.refs[page, pos] != old[i]:
            pos += 1
        _close_gap(p.refs[page], pos, p.filled[page])
        for column in range(p.codes.shape[1]):
            _close_gap(p.codes[page, column], pos, p.filled[page])
        p.filled[page] -= 1
        if pos == 0 and p.filled[page] > 0:
            _note_first(p, keys, page)
        if p.filled[page] < max(1, p.refs.shape[1] // 4):
            _mend(p, page)


@bare
def _mend(p, page):
    """Free an empty page, or join a sparse one with the page behind it if that leaves room."""
    place = 0
    while p.order[place] != page:
        place += 1
    if p.filled[page] > 0:
        if place + 1 == p.live[0]:
            return
        behind = p.order[place + 1]
        if 4 * (p.filled[page] + p.filled[behind]) > 3 * p.refs.shape[1]:
            return
        _carry(p, behind, 0, page, p.filled[page], p.filled[behind])
        p.filled[page] += p.filled[behind]
        p.filled[behind] = 0
        place += 1
    empty = p.order[place]
    for i in range(place, p.live[0] - 1):
        p.order[i] = p.order[i + 1]
    p.live[0] -= 1
    p.order[p.live[0]] = empty
