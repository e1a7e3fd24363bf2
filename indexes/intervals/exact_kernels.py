"""Exact matching of events over several attributes: choosing a plan, walking, scanning.

Boxes and events are written as in `exact_boxes`.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from indexes.intervals.row_cursor import new_reader, open_reader, read
from indexes.kernels.decorators import inner
from indexes.kernels.quantile_codes import code_of

SCAN = -1  # the plan that reads subscriptions in rank order

# Nanoseconds, measured; only their ratios matter.
_COST_OF_OPENING = 300.0
_COST_OF_WALKING = 50.0  # one candidate out of a tree
_COST_OF_SCANNING = 0.35  # one subscription in rank order
_AT_ONCE = 16  # candidates of a walk
_LEAST_GIVEN_UP = 64  # candidates that are always worth reading


class Sample(NamedTuple):
    """The ends of some subscriptions' intervals, each attribute's in ascending order."""

    lows: np.ndarray  # f8[d, s]
    highs: np.ndarray  # f8[d, s]


@inner
def _below(values, bound):
    """How many of the ascending values are < bound."""
    low, high = 0, len(values)
    while low < high:
        middle = (low + high) // 2
        if values[middle] < bound:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def _share(lows, highs, lower, upper):
    """Estimate which part of the subscriptions an event meets in one attribute."""
    size = len(lows)
    beyond = size - _below(lows, np.nextafter(upper, np.inf))
    met = size - beyond - (_below(highs, lower) if lower <= upper else 0)
    return (met + 0.5) / (size + 1.0)


@njit(cache=True)
def choose_plans(sample, events, subscriptions, k):
    """For each event, the attribute whose trees to walk, or SCAN, whichever reads less.

    Attributes are taken as independent; a walk that finds this wrong gives up (see `walk`).
    """
    attributes = events.lowers.shape[1]
    plans = np.zeros(len(events.lowers), np.int64)
    shares = np.empty(attributes)
    for event in range(len(plans)):
        together = 1.0
        for j in range(attributes):
            lower, upper = events.lowers[event, j], events.uppers[event, j]
            shares[j] = _share(sample.lows[j], sample.highs[j], lower, upper)
            together *= shares[j]
        plans[event] = SCAN
        read = min(subscriptions, k / together)
        least = read * _COST_OF_SCANNING
        for j in range(attributes):
            cost = _COST_OF_OPENING + read * shares[j] * _COST_OF_WALKING
            if cost < least:
                plans[event], least = j, cost
    return plans


@inner
def _meets(lows, highs, row, lowers, uppers, event):
    for j in range(lows.shape[1]):
        if not (lows[row, j] <= uppers[event, j] and highs[row, j] >= lowers[event, j]):
            return False
    return True


def most_walked(subscriptions: int) -> int:
    """How many candidates a walk reads in the time of a whole scan."""
    return max(_LEAST_GIVEN_UP, int(subscriptions * _COST_OF_SCANNING / _COST_OF_WALKING))


@njit(cache=True)
def walk(trees, keys, boxes, events, chosen, attribute, most, table):
    """Answer the chosen events by walking one attribute's trees; return which were given up.

    A walk is given up when it has read more than `most` candidates, which bounds the loss.
    """
    base, covered, delta, visited = trees
    given_up = np.zeros(len(chosen), np.bool_)
    # With one attribute every candidate is a match.
    alone = max(1, min(table.ids.shape[1], len(keys.ids)))
    at_once = alone if boxes.lows.shape[1] == 1 else _AT_ONCE
    r = new_reader(base, delta, at_once)
    candidates = np.empty(at_once, np.int32)
    for i in range(len(chosen)):
        event, read_so_far, more = chosen[i], 0, True
        ids, scores, found = table.ids[event], table.scores[event], 0
        lower, upper = events.lowers[event, attribute], events.uppers[event, attribute]
        open_reader(base, delta, keys, r, lower, upper, visited)
        while more and read_so_far <= most:
            count = read(base, covered, delta, keys, r, lower, upper, candidates, visited)
            read_so_far += count
            for row in candidates[:count]:
                if found < len(ids) and _meets(
                    boxes.lows, boxes.highs, row, events.lowers, events.uppers, event
                ):
                    ids[found], scores[found] = keys.ids[row], keys.scores[row]
                    found += 1
            more = count == len(candidates) and found < len(ids)
        given_up[i] = more
        table.counts[event] = found
    return given_up


@inner
def _encode_event(bounds, lowers, uppers, event, codes):
    """The least code of a high end and the greatest of a low end that may be met."""
    for j in range(len(bounds)):
        missing = lowers[event, j] > uppers[event, j]
        codes[2 * j] = 0 if missing else code_of(bounds, j, uppers[event, j])
        codes[2 * j + 1] = 255 if missing else code_of(bounds, j, lowers[event, j])


@inner
def _sieve(codes, page, event, maybe):
    """Set `maybe` where the codes of a page do not exclude a match; vector instructions."""
    for j in range(codes.shape[1] // 2):
        most, least = event[2 * j], event[2 * j + 1]
        lows, highs = codes[page, 2 * j], codes[page, 2 * j + 1]
        for i in range(len(maybe)):
            met = np.uint8((lows[i] <= most) & (highs[i] >= least))
            maybe[i] = met if j == 0 else maybe[i] & met


@njit(cache=True)
def scan(p, rows, boxes, events, chosen, k, table):
    """Answer the chosen events by reading subscriptions in rank order; how many were read."""
    lows, highs, lowers, uppers = boxes.lows, boxes.highs, events.lowers, events.uppers
    refs, codes, filled, order, live = p.refs, p.codes, p.filled, p.order, p.live[0]
    maybe = np.zeros(codes.shape[2], np.uint8)
    eights = maybe.view(np.uint64)  # most pages have few candidates: skip eight at a time
    event_codes = np.empty(codes.shape[1], np.uint8)
    read = 0
    for i in range(len(chosen)):
        event, found, place = chosen[i], 0, 0
        _encode_event(p.bounds, lowers, uppers, event, event_codes)
        while found < k and place < live:
            page = order[place]
            place += 1
            read += filled[page]
            _sieve(codes, page, event_codes, maybe)
            pos, stop = 0, filled[page]
            while pos < stop and found < k:
                if pos % 8 == 0 and eights[pos // 8] == 0:
                    pos += 8
                    continue
                row = refs[page, pos]
                if maybe[pos] and _meets(lows, highs, row, lowers, uppers, event):
                    table.ids[event, found] = rows.ids[row]
                    table.scores[event, found] = rows.scores[row]
                    found += 1
                pos += 1
        table.counts[event] = found
    return read
