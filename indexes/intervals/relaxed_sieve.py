"""All subscriptions of a relaxed matcher, with terms coarse enough to scan at once.

Layout: row r is at position r % PAGE of page r // PAGE.  A page has, attribute after attribute,
a byte for each end (monotone codes, see `quantile_codes`) and the weight in whole steps,
rounded up, so that a few vector instructions bound the scores of many subscriptions from above.
Only those that may reach the k-th best are looked up.  A row that is not in use, and an attribute
that is not constrained, has 255 and 0 for ends and no steps: no event meets it.

Steps are so wide that those of one subscription never exceed the greatest step count, whatever
holds.  A page also has the greatest total weight and the least id of its rows, which alone may
rule it out.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from indexes.hits import better, offer, sort_best_first
from indexes.intervals.exact_boxes import GREATEST, Boxes
from indexes.intervals.ir_layout import Rows
from indexes.intervals.rank_pages import quantiles
from indexes.intervals.relaxed_terms import HIGH, LOW, score_of
from indexes.kernels.decorators import inner
from indexes.kernels.quantile_codes import MOST_BOUNDS, code_of

PAGE = 256
MOST_ATTRIBUTES = 10_000  # rounding each weight up must leave most steps for the weights
_MOST_STEPS = np.iinfo(np.uint16).max
_SLACK = 1e-9  # far more than rounding can add to, or take from, a sum of weights
_SAMPLED = 1024
_EVERY_ID = np.iinfo(np.int64).max


class Coarse(NamedTuple):
    ends: np.ndarray  # u1[pages, 2 * d, PAGE]  codes of low and high, an attribute after another
    steps: np.ndarray  # u2[pages, d, PAGE]
    tops: np.ndarray  # f8[pages]  no total weight of a row of the page is greater
    firsts: np.ndarray  # i8[pages]  no id of a row of the page is less
    bounds: np.ndarray  # f8[d, MOST_BOUNDS]  between the codes
    width: np.ndarray  # f8[1]  of a step


class Sieve:
    def __init__(self, attributes: int) -> None:
        self._heaviest = 0.0  # total weight that the steps are made for
        self.coarse = _allocate(attributes, 0)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.coarse)

    def takes(self, totals: np.ndarray) -> bool:
        """Whether the steps are wide enough for rows of these total weights."""
        return bool(totals.max(initial=0.0) <= self._heaviest)

    def reserve_rows(self, capacity: int) -> None:
        old = self.coarse
        pages = -(-capacity // PAGE)
        if pages > len(old.tops):
            grown = _allocate(len(old.bounds), pages)
            for name in ("ends", "steps", "tops", "firsts"):
                getattr(grown, name)[: len(old.tops)] = getattr(old, name)
            self.coarse = grown._replace(bounds=old.bounds, width=old.width)

    def rebuild(self, terms: np.ndarray, keys: Rows, rows: np.ndarray) -> None:
        """Code all rows anew, in steps with room for twice the greatest total weight."""
        attributes = terms.shape[1]
        self._heaviest = min(2.0 * float(keys.scores[rows].max(initial=0.0)), GREATEST)
        self.coarse = _allocate(attributes, -(-len(keys.ids) // PAGE))
        width = self._heaviest / (_MOST_STEPS - attributes - 1)  # each may be rounded up
        self.coarse.width[0] = max(width, np.finfo(np.float64).tiny)
        picked = terms[rows[:: max(1, len(rows) // _SAMPLED)]]
        self.coarse.bounds[:] = quantiles(Boxes(picked[:, :, LOW], picked[:, :, HIGH]))
        encode_rows(self.coarse, terms, keys, rows)

    def insert(self, terms: np.ndarray, keys: Rows, rows: np.ndarray) -> None:
        encode_rows(self.coarse, terms, keys, rows)

    def delete(self, rows: np.ndarray) -> None:
        self.coarse.ends[rows // PAGE, 0::2, rows % PAGE] = 255
        self.coarse.ends[rows // PAGE, 1::2, rows % PAGE] = 0
        self.coarse.steps[rows // PAGE, :, rows % PAGE] = 0

    def check(self, terms: np.ndarray, keys: Rows, live: np.ndarray) -> None:
        c = self.coarse
        assert self.takes(keys.scores[live])
        assert (keys.scores[live] <= c.tops[live // PAGE]).all()
        assert (keys.ids[live] >= c.firsts[live // PAGE]).all()
        expected = _allocate(len(c.bounds), len(c.tops))
        expected = expected._replace(bounds=c.bounds, width=c.width)
        encode_rows(expected, terms, keys, live)
        assert (c.ends == expected.ends).all()
        assert (c.steps == expected.steps).all()
        assert c.steps.sum(axis=1, dtype=np.int64).max(initial=0) <= _MOST_STEPS


def _allocate(attributes: int, pages: int) -> Coarse:
    ends = np.zeros((pages, 2 * attributes, PAGE), np.uint8)
    ends[:, 0::2] = 255
    return Coarse(
        ends=ends,
        steps=np.zeros((pages, attributes, PAGE), np.uint16),
        tops=np.zeros(pages),
        firsts=np.full(pages, _EVERY_ID),
        bounds=np.zeros((attributes, MOST_BOUNDS)),
        width=np.ones(1),
    )


@njit(cache=True, nogil=True)
def encode_rows(c, terms, keys, rows):
    for i in range(len(rows)):
        row = rows[i]
        page, pos = row // PAGE, row % PAGE
        c.tops[page] = max(c.tops[page], keys.scores[row])
        c.firsts[page] = min(c.firsts[page], keys.ids[row])
        for j in range(terms.shape[1]):
            weight = terms[row, j, 2]
            if weight > 0.0:
                c.ends[page, 2 * j, pos] = code_of(c.bounds, j, terms[row, j, 0])
                c.ends[page, 2 * j + 1, pos] = code_of(c.bounds, j, terms[row, j, 1])
                steps = np.ceil(weight / c.width[0] * (1.0 + _SLACK))
                c.steps[page, j, pos] = max(1, int(steps))
            else:
                c.ends[page, 2 * j, pos], c.ends[page, 2 * j + 1, pos] = 255, 0
                c.steps[page, j, pos] = 0


@inner
def _sift(ends, steps, page, codes, needed, reach, maybe):
    """Set `maybe` where the steps of what may hold are as many as needed; whether any are.

    All loops compile to vector instructions.
    """
    none = np.uint16(0)  # of the type of steps, or sums are made in wider lanes
    reach[:] = none
    for j in range(len(codes)):
        code = codes[j]
        if code == 0:  # the event lacks the attribute
            continue
        lows, highs, step = ends[page, 2 * j], ends[page, 2 * j + 1], steps[page, j]
        for i in range(PAGE):
            met = step[i] if lows[i] <= code else none
            reach[i] = reach[i] + (met if highs[i] >= code else none)
    best = none
    for i in range(PAGE):
        best = max(best, reach[i])
    if best < needed:
        return False
    for i in range(PAGE):
        maybe[i] = reach[i] >= needed
    return True


@inner
def _look_up(terms, row_ids, point, page, maybe, eights, ids, scores, found, floor):
    """Offer the rows of a page that may be among the best; how many these are, and the floor."""
    pos = 0
    while pos < PAGE:
        if pos % 8 == 0 and eights[pos // 8] == 0:
            pos += 8
            continue
        if maybe[pos]:
            row = page * PAGE + pos
            score = score_of(terms, row, point)
            if score > 0.0 and score >= floor:
                found = offer(ids, scores, found, row_ids[row], score)
                if found == len(ids):
                    floor = max(floor, scores[0])
        pos += 1
    return found, floor


@inner
def _left(tops, firsts, page, floor, worst):
    """How many pages from this one on may have a row that is among the best."""
    left = 0
    for i in range(page, len(tops)):
        left += not better(floor, worst, tops[i], firsts[i])
    return left


@njit(cache=True)
def scan(c, terms, keys, values, chosen, least, floors, left, table):
    """Answer events by sifting pages, but give up those that turn out to be costly.

    An event for which, after `least` pages, more than so many are left is given up, and `left`
    tells how many; it is 0 for an answered event.  `floors` has, before and after, a score that
    the k-th best reaches, or 0.  Returns how many rows were sifted.
    """
    ends, steps, tops, firsts, bounds = c.ends, c.steps, c.tops, c.firsts, c.bounds
    width, row_ids, all_sifted = c.width[0], keys.ids, 0
    reach, maybe = np.zeros(PAGE, np.uint16), np.zeros(PAGE, np.uint8)
    eights = maybe.view(np.uint64)  # most pages have few candidates: skip eight at a time
    codes = np.zeros(terms.shape[1], np.uint8)
    for n in range(len(chosen)):
        event, found, sifted = chosen[n], 0, 0
        ids, scores, floor = table.ids[event], table.scores[event], floors[event]
        point = values[event]
        for j in range(len(codes)):
            codes[j] = code_of(bounds, j, point[j]) if point[j] == point[j] else 0
        left[event] = 0
        for page in range(len(tops)):
            worst = ids[0] if found == len(ids) and scores[0] == floor else _EVERY_ID
            if better(floor, worst, tops[page], firsts[page]):
                continue
            if sifted >= least:
                left[event] = _left(tops, firsts, page, floor, worst)
                if left[event] > least:
                    break
                left[event], sifted = 0, -len(tops)  # so few that it goes on to the end
            sifted += 1
            all_sifted += PAGE
            needed = np.uint16(max(1, int(floor / width * (1.0 - _SLACK))))
            if _sift(ends, steps, page, codes, needed, reach, maybe):
                found, floor = _look_up(
                    terms, row_ids, point, page, maybe, eights, ids, scores, found, floor
                )
        floors[event], table.counts[event] = floor, found
        sort_best_first(ids, scores, found)
    return all_sifted
