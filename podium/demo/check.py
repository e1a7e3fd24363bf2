"""Are the answers right, and is there one for everybody who should have one?

Judged from three topics alone: what was published, what was subscribed, what was delivered.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from podium.demo.scan import FOREVER, Hit, Ledger, hits, matching, top_k

Place = tuple[int, int]  # partition and offset in the events topic
State = dict[int, int]  # the last offset that each shard had applied
Stretch = tuple[int, int]  # the first and the last number of visitors in a row

_SHARE = 5  # of the sample, a fifth from each stretch where answers may most easily go wrong


class Event(NamedTuple):
    place: Place
    key: bytes
    value: bytes


class Answer(NamedTuple):
    """A match record."""

    place: Place  # of its event
    key: bytes
    as_of: State
    hits: list[Hit]


class Disagreement(NamedTuple):
    event: Event
    as_of: State
    expected: list[Hit]
    got: list[Hit]


class Agreement(NamedTuple):
    checked: int
    agreed: int
    states: int  # different `podium-as-of` among the checked
    first: Disagreement | None


class Delivery(NamedTuple):
    """How many got a record, and the first of each kind of mistake."""

    events: int
    answered: int
    repeated: list[Place]  # which may happen to those on their way when a worker is killed
    unknown: list[Place]  # answers to nothing that was published, or under another key
    missing: list[Place]  # events that have a match and no record

    @property
    def fine(self) -> bool:
        return not (self.unknown or self.missing)


def spread_sample(count: int, wanted: int, seed: int) -> list[int]:
    """`wanted` of `range(count)`, ascending: one at random from each of equal stretches."""
    wanted = min(wanted, count)
    edges = np.linspace(0, count, wanted + 1).astype(np.int64)
    return np.random.default_rng(seed).integers(edges[:-1], edges[1:]).tolist()


def telling_sample(
    visitors: np.ndarray, stretches: Iterable[Stretch], wanted: int, seed: int
) -> list[int]:
    """`wanted` of the indices of `visitors`, whose numbers ascend: some of every stretch."""
    chosen = np.empty(0, np.int64)
    for first, last in stretches:
        within = np.flatnonzero((visitors >= first) & (visitors <= last))
        some = spread_sample(len(within), max(1, wanted // _SHARE), seed)
        chosen = np.union1d(chosen, within[some])
    others = np.setdiff1d(np.arange(len(visitors)), chosen)
    some = spread_sample(len(others), max(0, wanted - len(chosen)), seed)
    return np.union1d(chosen, others[some]).tolist()


def compare(
    ledger: Ledger, events: Mapping[Place, Event], answers: Iterable[Answer], k: int
) -> Agreement:
    """Recompute each answer by a full scan of the subscriptions as of its `podium-as-of`."""
    checked = agreed = 0
    first = None
    states = set()
    for answer in answers:
        event = events[answer.place]
        rows = top_k(ledger, json.loads(event.value), answer.as_of, k)
        expected = hits(ledger, rows)
        checked += 1
        states.add(tuple(sorted(answer.as_of.items())))
        if answer.hits == expected:
            agreed += 1
        elif first is None:
            first = Disagreement(event, answer.as_of, expected, answer.hits)
    return Agreement(checked, agreed, len(states), first)


def check_delivery(
    ledger: Ledger, events: Mapping[Place, Event], answers: Sequence[Answer], before: State
) -> Delivery:
    """Whether every event with a match has a record.

    `before` is what the shards had applied when the first event was published.
    """
    counts = Counter(answer.place for answer in answers)
    unknown = [a.place for a in answers if a.place not in events or events[a.place].key != a.key]
    states = {answer.place: answer.as_of for answer in answers}
    end = dict.fromkeys(before, FOREVER - 1)  # whatever was never replaced is live then
    return Delivery(
        events=len(events),
        answered=len(counts),
        repeated=[place for place, count in counts.items() if count > 1],
        unknown=unknown,
        missing=_missing(ledger, events, states, before, end),
    )


def _missing(
    ledger: Ledger,
    events: Mapping[Place, Event],
    states: Mapping[Place, State],
    before: State,
    end: State,
) -> list[Place]:
    """The first event, if any, that has no record but surely a match.

    An event without a record does not say as of when it was looked at, but it was between its
    answered neighbours in the partition: what was live all that time must not match it.
    """
    later: dict[Place, State] = {}
    following: dict[int, State] = {}
    for place in sorted(events, reverse=True):
        later[place] = following.get(place[0], end)
        if place in states:
            following[place[0]] = states[place]
    earlier: dict[int, State] = {}
    for place in sorted(events):
        if place in states:
            earlier[place[0]] = states[place]
            continue
        since = earlier.get(place[0], before)
        if len(matching(ledger, json.loads(events[place].value), since, later[place])):
            return [place]
    return []
