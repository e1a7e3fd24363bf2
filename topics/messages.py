"""`messages`: what a painter says to a zone, in the order in which it is to be done.

Partition = zone, a slice of the left ends of ranges.  A record is one step of the painter: first
the subscriptions that leave, then those that come, with their first lists, then groups of messages,
one for each object record (or Paint-Batch) that matters to the zone.

    PODZ | version | zone u32, zones u32, epoch i64, objects i64, as_of i64, reset i64, world u64,
    low f64, high f64, phase u32, more u32, counts u64 …
    positions i64[shards], begun i64[shards] | who leaves … | who comes … | states … | messages … |
    gone …

`epoch` grows with each painter; a zone does nothing that an older one says once it has heard of a
newer.  `objects` and `positions` are the next offsets of `objects` and of each shard of
`subscriptions`: everything below is told when this record is done.  Records of `subscriptions` are
told of in batches, and of a batch only what is left of it when later records have undone others;
`begun` is where the batch ends that a shard is at.  A painter that takes over tells of the same
batch again: of another, zones that have heard a part would make something else.  `world` is a
fingerprint of what offsets and lists are of: topics and settings.

A life is one record of `subscriptions` until its key has another: `life_of(shard, offset, shards)`.

A message carries an object state to the zone's ranges [low, high] with low <= inner_low, high >=
inner_high, low > outer_low, high < outer_high; an infinite outer bound is none.  `more`: the last
group goes on in the next record.

`reset`, if it is not 0: what the zone holds is void, in phases.  FORGET: drop it, write nothing
more, and say so in `progress`.  BEGIN: drop it, as all subscriptions come anew.  LISTS: these; the
last such record is LAST.  Lives that go on keep counting: their last records are in `matches`.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from topics.codecs.byte_strings import ByteStrings
from topics.codecs.columns import CodecError, RecordLayout, check_lengths

MAGIC, VERSION = b"PODZ", 2

FORGET, BEGIN, LISTS, LAST = range(1, 5)  # phases of a reset
CLAIM = 5  # a phase without a reset: a painter takes over, and nobody is to listen to older ones

_LAYOUT = RecordLayout(
    MAGIC,
    VERSION,
    [
        ("zone", "I"),
        ("zones", "I"),
        ("epoch", "q"),
        ("objects", "q"),
        ("as_of", "q"),
        ("reset", "q"),
        ("world", "Q"),
        ("low", "d"),
        ("high", "d"),
        ("phase", "I"),
        ("more", "I"),
        ("shards", "Q"),
        ("leaving", "Q"),
        ("leaving_bytes", "Q"),
        ("coming", "Q"),
        ("coming_bytes", "Q"),
        ("listed", "Q"),
        ("objects_named", "Q"),
        ("id_bytes", "Q"),
        ("groups", "Q"),
        ("messages", "Q"),
        ("gone", "Q"),
        ("gone_bytes", "Q"),
    ],
    [
        ("positions", "<i8", "shards"),
        ("begun", "<i8", "shards"),
        ("left_lives", "<i8", "leaving"),
        ("left_by", "<i8", "leaving"),
        ("lives", "<i8", "coming"),
        ("lows", "<f8", "coming"),
        ("highs", "<f8", "coming"),
        ("x", "<f8", "objects_named"),
        ("y", "<f8", "objects_named"),
        ("numbers", "<i8", "groups"),
        ("inner_low", "<f8", "messages"),
        ("inner_high", "<f8", "messages"),
        ("outer_low", "<f8", "messages"),
        ("outer_high", "<f8", "messages"),
        ("gone_to", "<f8", "gone"),
        ("group", "<i4", "messages"),
        ("state", "<i4", "messages"),
        ("gone_group", "<i4", "gone"),
        ("gone_lengths", "<i4", "gone"),
        ("id_lengths", "<i4", "objects_named"),
        ("ks", "<i4", "coming"),
        ("counts", "<i4", "coming"),
        ("entries", "<i4", "listed"),
        ("coming_lengths", "<i4", "coming"),
        ("leaving_lengths", "<i4", "leaving"),
        ("silent", "u1", "leaving"),
        ("gone_ids", "u1", "gone_bytes"),
        ("ids", "u1", "id_bytes"),
        ("coming_keys", "u1", "coming_bytes"),
        ("leaving_keys", "u1", "leaving_bytes"),
    ],
)

_NO_IDS = ByteStrings(np.empty(0, np.int32), np.empty(0, np.uint8))
_NO_NUMBERS, _NO_ROWS, _NO_FLOATS = np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0)


class Leaving(NamedTuple):
    """Subscriptions that end, or begin another life."""

    lives: np.ndarray  # i8[n]  that end
    by: np.ndarray  # i8[n]  the lives that their records would begin: what ends them
    silent: np.ndarray  # u1[n]  1: another life follows, so nobody has to be told
    keys: ByteStrings


class Coming(NamedTuple):
    """Subscriptions that begin, with their first lists."""

    lives: np.ndarray  # i8[n]
    lows: np.ndarray  # f8[n]
    highs: np.ndarray  # f8[n]
    ks: np.ndarray  # i4[n]
    counts: np.ndarray  # i4[n]
    entries: np.ndarray  # i4[sum of counts]  rows of the states
    keys: ByteStrings


class States(NamedTuple):
    """Objects, as messages and first lists carry them."""

    ids: ByteStrings
    x: np.ndarray  # f8[s]
    y: np.ndarray  # f8[s]  inf: gone


class Messages(NamedTuple):
    numbers: np.ndarray  # i8[g]  the object offsets that the groups are of
    group: np.ndarray  # i4[m]  ascending
    state: np.ndarray  # i4[m]
    inner_low: np.ndarray  # f8[m]
    inner_high: np.ndarray  # f8[m]
    outer_low: np.ndarray  # f8[m]
    outer_high: np.ndarray  # f8[m]
    # Objects that were removed, or moved to another x, whether a message says so or not.
    gone_group: np.ndarray  # i4[e]
    gone_ids: ByteStrings
    gone_to: np.ndarray  # f8[e]  the new x; nan: removed


NOBODY_LEAVES = Leaving(_NO_NUMBERS, _NO_NUMBERS, np.empty(0, np.uint8), _NO_IDS)
NOBODY_COMES = Coming(_NO_NUMBERS, _NO_FLOATS, _NO_FLOATS, _NO_ROWS, _NO_ROWS, _NO_ROWS, _NO_IDS)
NO_STATES = States(_NO_IDS, _NO_FLOATS, _NO_FLOATS)
NO_MESSAGES = Messages(
    numbers=_NO_NUMBERS,
    group=_NO_ROWS,
    state=_NO_ROWS,
    inner_low=_NO_FLOATS,
    inner_high=_NO_FLOATS,
    outer_low=_NO_FLOATS,
    outer_high=_NO_FLOATS,
    gone_group=_NO_ROWS,
    gone_ids=_NO_IDS,
    gone_to=_NO_FLOATS,
)


class ZoneRecord(NamedTuple):
    zone: int
    zones: int
    low: float  # of the zone: left ends from here
    high: float  # ... to below this
    epoch: int
    world: int
    objects: int
    positions: np.ndarray  # i8[shards]
    begun: np.ndarray  # i8[shards]
    as_of: int = -1  # the object offset that first lists are as of; -1: before any
    reset: int = 0
    phase: int = 0
    more: bool = False
    leaving: Leaving = NOBODY_LEAVES
    coming: Coming = NOBODY_COMES
    states: States = NO_STATES
    messages: Messages = NO_MESSAGES

    def arrivals(self) -> "Iterator[Arrival]":
        """The subscriptions that begin, one by one, with their first lists."""
        ids, keys, came = self.states.ids.unpack(), self.coming.keys.unpack(), self.coming
        entries = came.entries.tolist()
        columns = [column.tolist() for column in came[:5]]
        start = 0
        for key, life, low, high, k, count in zip(keys, *columns, strict=True):
            rows = entries[start : start + count]
            items = [
                ((ids[row] or b"").decode(), float(self.states.x[row]), float(self.states.y[row]))
                for row in rows
            ]
            start += count
            yield Arrival(life, (key or b"").decode(), low, high, k, items)

    def deliveries(self) -> "Iterator[Delivery]":
        """The messages one by one, for whoever keeps few lists."""
        ids, m = self.states.ids.unpack(), self.messages
        bounds = (m.inner_low, m.inner_high, m.outer_low, m.outer_high)
        columns = [column.tolist() for column in (m.group, m.state, *bounds)]
        for group, state, *box in zip(*columns, strict=True):
            x, y = float(self.states.x[state]), float(self.states.y[state])
            yield Delivery(int(m.numbers[group]), (ids[state] or b"").decode(), x, y, *box)


class Arrival(NamedTuple):
    """A subscription that begins; its list is as of the record's `as_of`."""

    life: int
    key: str
    low: float
    high: float
    k: int  # that it wants; the list has up to the collection's
    items: list[tuple[str, float, float]]  # id, x, y


class Delivery(NamedTuple):
    """An object for all whose range has [inner_low, inner_high] and lies inside outer bounds."""

    objects: int  # the offset of the object record that it is of
    id: str
    x: float
    y: float  # inf: gone
    inner_low: float
    inner_high: float
    outer_low: float
    outer_high: float

    def reaches(self, low: float, high: float) -> bool:
        return (
            low <= self.inner_low
            and high >= self.inner_high
            and (low > self.outer_low or self.outer_low == -np.inf)
            and (high < self.outer_high or self.outer_high == np.inf)
        )


def life_of(shard: int, offset: int, shards: int) -> int:
    """
    >>> life_of(1, 88, 2), place_of(177, 2)
    (177, (1, 88))
    """
    return offset * shards + shard


def place_of(life: int, shards: int) -> tuple[int, int]:
    """Shard and offset of the record that began a life."""
    offset, shard = divmod(life, shards)
    return shard, offset


def encode(record: ZoneRecord) -> bytes:
    leaving, coming, states, messages = (
        record.leaving, record.coming, record.states, record.messages,
    )  # fmt: skip
    return _LAYOUT.write(
        zone=record.zone,
        zones=record.zones,
        epoch=record.epoch,
        objects=record.objects,
        as_of=record.as_of,
        reset=record.reset,
        world=record.world,
        low=record.low,
        high=record.high,
        phase=record.phase,
        more=int(record.more),
        shards=len(record.positions),
        leaving=len(leaving.lives),
        leaving_bytes=leaving.keys.data.size,
        coming=len(coming.lives),
        coming_bytes=coming.keys.data.size,
        listed=len(coming.entries),
        objects_named=len(states.x),
        id_bytes=states.ids.data.size,
        groups=len(messages.numbers),
        messages=len(messages.group),
        gone=len(messages.gone_group),
        gone_bytes=messages.gone_ids.data.size,
        positions=record.positions,
        begun=record.begun,
        left_lives=leaving.lives,
        left_by=leaving.by,
        lives=coming.lives,
        lows=coming.lows,
        highs=coming.highs,
        x=states.x,
        y=states.y,
        numbers=messages.numbers,
        inner_low=messages.inner_low,
        inner_high=messages.inner_high,
        outer_low=messages.outer_low,
        outer_high=messages.outer_high,
        gone_to=messages.gone_to,
        group=messages.group,
        state=messages.state,
        gone_group=messages.gone_group,
        gone_lengths=messages.gone_ids.lengths,
        id_lengths=states.ids.lengths,
        ks=coming.ks,
        counts=coming.counts,
        entries=coming.entries,
        coming_lengths=coming.keys.lengths,
        leaving_lengths=leaving.keys.lengths,
        silent=leaving.silent,
        gone_ids=messages.gone_ids.data,
        ids=states.ids.data,
        coming_keys=coming.keys.data,
        leaving_keys=leaving.keys.data,
    )


def decode(data: bytes | memoryview) -> ZoneRecord:
    """`CodecError` unless the parts fit each other: compiled code trusts what comes out."""
    read = _LAYOUT.read(data)
    check_lengths("object ids", read.id_lengths, read.id_bytes)
    check_lengths("ids of gone objects", read.gone_lengths, read.gone_bytes)
    check_lengths("subscriptions that come", read.coming_lengths, read.coming_bytes)
    check_lengths("subscriptions that leave", read.leaving_lengths, read.leaving_bytes)
    _check_rows("states of lists", read.entries, read.objects_named)
    _check_rows("states of messages", read.state, read.objects_named)
    _check_rows("groups of messages", read.group, read.groups)
    _check_rows("groups of gone objects", read.gone_group, read.groups)
    if read.counts.min(initial=0) < 0 or read.counts.sum(dtype=np.int64) != read.listed:
        raise CodecError(f"got lengths of lists that do not add up to {read.listed}")
    if (np.diff(read.group) < 0).any() or (np.diff(read.gone_group) < 0).any():
        raise CodecError("got groups that are not in order")
    return ZoneRecord(
        zone=read.zone,
        zones=read.zones,
        low=read.low,
        high=read.high,
        epoch=read.epoch,
        world=read.world,
        objects=read.objects,
        positions=read.positions,
        begun=read.begun,
        as_of=read.as_of,
        reset=read.reset,
        phase=read.phase,
        more=bool(read.more),
        leaving=Leaving(
            read.left_lives,
            read.left_by,
            read.silent,
            ByteStrings(read.leaving_lengths, read.leaving_keys),
        ),
        coming=Coming(
            read.lives,
            read.lows,
            read.highs,
            read.ks,
            read.counts,
            read.entries,
            ByteStrings(read.coming_lengths, read.coming_keys),
        ),
        states=States(ByteStrings(read.id_lengths, read.ids), read.x, read.y),
        messages=Messages(
            read.numbers,
            read.group,
            read.state,
            read.inner_low,
            read.inner_high,
            read.outer_low,
            read.outer_high,
            read.gone_group,
            ByteStrings(read.gone_lengths, read.gone_ids),
            read.gone_to,
        ),
    )


def _check_rows(what: str, rows: np.ndarray, count: int) -> None:
    if len(rows) and not (rows.min() >= 0 and rows.max() < count):
        raise CodecError(f"got {what} from {rows.min()} to {rows.max()}, expected 0 to {count - 1}")
