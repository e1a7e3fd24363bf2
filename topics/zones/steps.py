"""From what changes in the world to the records of `messages`, without Kafka.

What comes in are the columns of `indexes.paint.world`, of which this layer knows the names alone.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from topics.codecs.byte_strings import ByteStrings
from topics.limits import ZONE_MESSAGES_BYTES
from topics.messages import Coming, Leaving, Messages, States, ZoneRecord

_BYTES_OF_A_MESSAGE = 64
_LISTED_OBJECTS = 200_000  # in one record; longer lists are cut into more of them


class Leaver(Protocol):
    """A subscription that ends, by what ends it, or begins another life."""

    @property
    def key(self) -> bytes: ...
    @property
    def life(self) -> int: ...
    @property
    def by(self) -> int: ...
    @property
    def follows(self) -> bool: ...


class ObjectStates(Protocol):
    """By row; see `States`."""

    @property
    def ids(self) -> list[bytes]: ...
    @property
    def x(self) -> np.ndarray: ...
    @property
    def y(self) -> np.ndarray: ...


class FirstLists(Protocol):
    @property
    def counts(self) -> np.ndarray: ...
    @property
    def states(self) -> np.ndarray: ...  # rows of `objects`
    @property
    def objects(self) -> ObjectStates: ...


class Bounds(Protocol):
    @property
    def inner_low(self) -> np.ndarray: ...
    @property
    def inner_high(self) -> np.ndarray: ...
    @property
    def outer_low(self) -> np.ndarray: ...
    @property
    def outer_high(self) -> np.ndarray: ...


class ZoneMessages(Protocol):
    """Groups of messages for one zone; see `Messages`."""

    @property
    def numbers(self) -> np.ndarray: ...
    @property
    def group(self) -> np.ndarray: ...
    @property
    def state(self) -> np.ndarray: ...
    @property
    def bounds(self) -> Bounds: ...
    @property
    def states(self) -> ObjectStates: ...
    @property
    def gone_group(self) -> np.ndarray: ...
    @property
    def gone_ids(self) -> list[bytes]: ...
    @property
    def gone_to(self) -> np.ndarray: ...


class NewSubscriptions(NamedTuple):
    """Of one zone, by life."""

    keys: list[bytes]
    lives: np.ndarray  # i8[n]
    lows: np.ndarray  # f8[n]
    highs: np.ndarray  # f8[n]
    ks: np.ndarray  # i4[n]

    def part(self, rows: np.ndarray) -> "NewSubscriptions":
        keys = [self.keys[row] for row in rows.tolist()]
        return NewSubscriptions(keys, *(column[rows] for column in self[1:]))


def most_coming(k: int) -> int:
    """Subscriptions whose first lists fit into one record, however long ids are."""
    return max(1, min(5_000, _LISTED_OBJECTS // k))


def leaving(leavers: Sequence[Leaver]) -> Leaving:
    return Leaving(
        np.array([one.life for one in leavers], np.int64),
        np.array([one.by for one in leavers], np.int64),
        np.array([one.follows for one in leavers], np.uint8),
        ByteStrings.pack([one.key for one in leavers]),
    )


def coming(new: NewSubscriptions, first: FirstLists) -> tuple[Coming, States]:
    return (
        Coming(
            new.lives,
            new.lows,
            new.highs,
            new.ks,
            first.counts.astype(np.int32),
            first.states,
            ByteStrings.pack(new.keys),
        ),
        states_of(first.objects),
    )


def states_of(states: ObjectStates) -> States:
    return States(ByteStrings.pack(states.ids), states.x, states.y)


def message_records(
    header: ZoneRecord, told: ZoneMessages, next_object: int
) -> Iterator[ZoneRecord]:
    """The groups of one zone in as many records as they need, as few as can be.

    All but the last are of positions that the zone has: it is where the last one says when it has
    them all.
    """
    most = ZONE_MESSAGES_BYTES // _BYTES_OF_A_MESSAGE
    for start, stop, more in _cuts(told.group, most):
        last = stop == len(told.group)
        first_group = int(told.group[start])
        after = int(told.group[stop - 1]) + 1
        rows, state = np.unique(told.state[start:stop], return_inverse=True)
        gone = (told.gone_group >= first_group) & (told.gone_group < after)
        states = States(
            ByteStrings.pack([told.states.ids[row] for row in rows.tolist()]),
            told.states.x[rows],
            told.states.y[rows],
        )
        gone_ids = [told.gone_ids[i] for i in np.flatnonzero(gone).tolist()]
        reached = next_object if last else header.objects
        if not last and not more:
            reached = int(told.numbers[after - 1]) + 1
        yield header._replace(
            objects=reached,
            more=more,
            states=states,
            messages=Messages(
                numbers=told.numbers[first_group:after],
                group=told.group[start:stop] - np.int32(first_group),
                state=state.astype(np.int32),
                inner_low=told.bounds.inner_low[start:stop],
                inner_high=told.bounds.inner_high[start:stop],
                outer_low=told.bounds.outer_low[start:stop],
                outer_high=told.bounds.outer_high[start:stop],
                gone_group=told.gone_group[gone] - np.int32(first_group),
                gone_ids=ByteStrings.pack(gone_ids),
                gone_to=told.gone_to[gone],
            ),
        )


def _cuts(group: np.ndarray, most: int) -> Iterator[tuple[int, int, bool]]:
    """Runs of messages: whole groups, or (True) the beginning of one that is too large."""
    start = 0
    while start < len(group):
        stop = min(start + most, len(group))
        if stop < len(group):
            whole = int(np.searchsorted(group, group[stop]))
            if whole > start:
                stop = whole
        more = stop < len(group) and group[stop - 1] == group[stop]
        yield start, stop, bool(more)
        start = stop
