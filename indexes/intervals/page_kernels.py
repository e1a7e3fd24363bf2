"""Pages of rows in rank order and their codes; see `rank_pages` for what they are for.

`order` lists every page: the live ones in rank order, then the free ones.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from indexes.intervals.ir_layout import inner

STEPS = 253  # ascending bounds between the codes 1 to 254


class Pages(NamedTuple):
    refs: np.ndarray  # i4[pages, page]  rows
    codes: np.ndarray  # u1[pages, 2 * d, page]  codes of low and high, an attribute after another
    filled: np.ndarray  # i4[pages]
    order: np.ndarray  # i4[pages]
    live: np.ndarray  # i8[1]  pages in use
    where: np.ndarray  # i4[rows]  the page of each row
    bounds: np.ndarray  # f8[d, STEPS]


@inner
def code_of(bounds, j, value):
    """From 1 to 254, and never less for a greater value."""
    low, high = 0, bounds.shape[1]
    while low < high:
        middle = (low + high) // 2
        if bounds[j, middle] < value:
            low = middle + 1
        else:
            high = middle
    return low + 1


@njit(cache=True)
def encode_box(bounds, boxes, row, codes):
    for j in range(len(bounds)):
        low, high = boxes.lows[row, j], boxes.highs[row, j]
        free = low == -np.inf and high == np.inf
        codes[2 * j] = 0 if free else code_of(bounds, j, low)
        codes[2 * j + 1] = 255 if free else code_of(bounds, j, high)


@njit(cache=True, nogil=True)
def fill(p, rows, boxes, rows_each):
    for i in range(len(rows)):
        page, pos = i // rows_each, i % rows_each
        p.refs[page, pos] = rows[i]
        encode_box(p.bounds, boxes, rows[i], p.codes[page, :, pos])
        p.filled[page] = pos + 1
        p.where[rows[i]] = page
    p.live[0] = (len(rows) + rows_each - 1) // rows_each


@inner
def _page_for(p, rows, score, id):
    """The place in `order` of the page that a key belongs to."""
    refs, order, scores, ids = p.refs, p.order, rows.scores, rows.ids
    low, high = 0, p.live[0]
    while low < high:
        middle = (low + high) // 2
        row = refs[order[middle], 0]
        if scores[row] > score or (scores[row] == score and ids[row] < id):
            low = middle + 1
        else:
            high = middle
    return max(low - 1, 0)


@inner
def _position_for(p, rows, page, score, id):
    refs, scores, ids = p.refs, rows.scores, rows.ids
    low, high = 0, p.filled[page]
    while low < high:
        middle = (low + high) // 2
        row = refs[page, middle]
        if scores[row] > score or (scores[row] == score and ids[row] < id):
            low = middle + 1
        else:
            high = middle
    return low


@inner
def _move(p, source, start, target, to, count):
    """Copy entries between pages, or down or up within one."""
    refs, codes = p.refs, p.codes
    upwards = source == target and to > start
    for n in range(count):
        i = count - 1 - n if upwards else n
        refs[target, to + i] = refs[source, start + i]
    for column in range(codes.shape[1]):
        for n in range(count):
            i = count - 1 - n if upwards else n
            codes[target, column, to + i] = codes[source, column, start + i]
    if source != target:
        for i in range(to, to + count):
            p.where[refs[target, i]] = target


@inner
def _split(p, place):
    """Move the second half of a full page into a free one behind it."""
    full, fresh = p.order[place], p.order[p.live[0]]
    for i in range(p.live[0], place + 1, -1):
        p.order[i] = p.order[i - 1]
    p.order[place + 1] = fresh
    p.live[0] += 1
    half = p.filled[full] // 2
    _move(p, full, half, fresh, 0, p.filled[full] - half)
    p.filled[fresh] = p.filled[full] - half
    p.filled[full] = half


@njit(cache=True, nogil=True)
def insert_rows(p, rows, boxes, new, start):
    """Insert from position `start` on; return the position at which pages ran out."""
    for i in range(start, len(new)):
        if p.live[0] == len(p.order):
            return i
        row = new[i]
        score, id = rows.scores[row], rows.ids[row]
        p.live[0] = max(p.live[0], 1)
        place = _page_for(p, rows, score, id)
        if p.filled[p.order[place]] == p.refs.shape[1]:
            _split(p, place)
            place = _page_for(p, rows, score, id)
        page = p.order[place]
        pos = _position_for(p, rows, page, score, id)
        _move(p, page, pos, page, pos + 1, p.filled[page] - pos)
        p.refs[page, pos] = row
        encode_box(p.bounds, boxes, row, p.codes[page, :, pos])
        p.where[row] = page
        p.filled[page] += 1
    return len(new)


@njit(cache=True, nogil=True)
def delete_rows(p, old):
    for i in range(len(old)):
        page = p.where[old[i]]
        pos = 0
        while p.refs[page, pos] != old[i]:
            pos += 1
        _move(p, page, pos + 1, page, pos, p.filled[page] - pos - 1)
        p.filled[page] -= 1
        if p.filled[page] < max(1, p.refs.shape[1] // 4):
            _mend(p, page)


@inner
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
        _move(p, behind, 0, page, p.filled[page], p.filled[behind])
        p.filled[page] += p.filled[behind]
        p.filled[behind] = 0
        place += 1
    empty = p.order[place]
    for i in range(place, p.live[0] - 1):
        p.order[i] = p.order[i + 1]
    p.live[0] -= 1
    p.order[p.live[0]] = empty
