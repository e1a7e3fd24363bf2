"""What a zone holds, and what a record of `messages` does to it, without Kafka.

A function of the partition of `messages`: the same records give the same lists and the same bytes,
whatever restarts were between.  What comes again, because a painter did not know that it had been
said, changes nothing: subscriptions and their ends come in the order of their offsets, and groups
of messages are older than the lists that have them.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from msgspec import UNSET

from configs.collection import Collection
from indexes.paint.lists import Changed, ListArrays, SubscriberLists
from indexes.paint.named import ObjectStates, Painted
from topics.lists import ListRecord, ListWriter, Subscriber
from topics.messages import BEGIN, CLAIM, FORGET, LAST, Coming, ZoneRecord, place_of

_OF_LISTS = "lists."


class Output(NamedTuple):
    """A record of `matches`."""

    key: bytes
    value: bytes | None
    as_of: bytes  # the value of the header `podium-as-of`


class Known(NamedTuple):
    """The last record of a subscription in `matches`."""

    life: int
    record: ListRecord


class ZoneLists:
    """Live once the painter has said what there is; until then it waits for a reset."""

    def __init__(
        self, number: int, collection: Collection, objects: str, subscriptions: str
    ) -> None:
        self.number = number
        self.next_offset = 0  # of `messages`
        self._collection = collection
        self._shards, self._k = collection.shards, collection.k
        self._topics = objects, subscriptions
        self.is_live = False
        self.is_lost = False  # lists are not to be had without a reset
        self.reset = 0  # the latest that was followed
        self.objects = 0  # next offset that the lists do not have
        self._epoch = 0
        self._world = 0
        self._clear()

    def _clear(self) -> None:
        self._hold(SubscriberLists(self._k))
        self._subscribers: dict[int, Subscriber] = {}  # by life
        # By shard, the last subscription that came, and up to where all have left that are to.
        self._came = [-1] * self._shards
        self._left = [-1] * self._shards
        self._begun: list[ZoneRecord] = []  # records of a group, or of a reset, that goes on
        self._resetting = 0

    def _hold(self, lists: SubscriberLists) -> None:
        """Other lists have other states in their rows, so what was written of those is void."""
        self.lists = lists
        of = self._collection
        self._writer = ListWriter(*self._topics, of.shards, of.emit, of.epsilon)

    def __len__(self) -> int:
        return len(self.lists)

    @property
    def nbytes(self) -> int:
        return self.lists.nbytes + 200 * len(self._subscribers)

    @property
    def left(self) -> dict[int, int]:
        """By shard, up to where nothing more is written for subscriptions that left."""
        return {shard: offset for shard, offset in enumerate(self._left) if offset >= 0}

    @property
    def is_whole(self) -> bool:
        """Whether a snapshot of it says everything."""
        return self.is_live and not self._begun

    def lose(self) -> None:
        """Hold nothing, and write nothing, until the painter has sent the lists anew."""
        self._clear()
        self.is_live, self.is_lost = False, True

    def ends_reset(self, record: ZoneRecord) -> bool:
        current = record.epoch >= self._epoch and record.reset == self._resetting
        return current and record.phase == LAST

    def resuming(self, record: ZoneRecord) -> dict[bytes, int]:
        """The lives that go on where `matches` leave them when this record ends a reset, by key."""
        return {
            key: life
            for part in (*self._begun, record)
            for key, life in zip(part.coming.keys.unpack(), part.coming.lives.tolist(), strict=True)
            if key is not None
        }

    @property
    def lives(self) -> dict[bytes, int]:
        return {one.key: life for life, one in self._subscribers.items()}

    def count_on(self, history: Mapping[bytes, Known]) -> None:
        """Number records on from those that were written; lists are as they say."""
        for known in history.values():
            self.lists.count_on(known.life, known.record.seq)

    def take(
        self,
        record: ZoneRecord,
        history: Mapping[bytes, Known] | None = None,
        ended: Sequence[tuple[bytes, int]] = (),
        due: bool = True,
        at: Mapping[bytes, float] | None = None,
    ) -> list[Output]:
        """What is to be written because of a record; without `due` changes of lists are put off.

        At the end of a reset `history` has the last records of lives that go on, `ended` the keys
        that have ended since their last record, and what has ended them, and `at` the x of the
        objects in those records (nan: removed).
        """
        if record.epoch < self._epoch:
            return []
        self._epoch = record.epoch
        if record.phase == CLAIM:
            return []
        came = record.coming
        if max(came.counts.max(initial=0), came.ks.max(initial=0)) > self._k:
            self.lose()  # the painter is of another k; compiled code would write beyond the lists
            return []
        if record.reset:
            return self._take_reset(record, history or {}, ended, at or {})
        if not self.is_live:
            return []
        if record.world != self._world:
            self.lose()
            return []
        outputs = [*self._leave(record), *self._come(record.coming, record)]
        outputs += self._apply(record, due)
        if not record.more:
            self.objects = max(self.objects, record.objects)
        # Of a life that began and ended within a batch no zone is told.
        told = (record.positions - 1).tolist()
        self._left = [max(offsets) for offsets in zip(self._left, told, strict=True)]
        return outputs

    def flush(self) -> list[Output]:
        """What was put off."""
        return self._written(self.lists.flush())

    def _take_reset(
        self,
        record: ZoneRecord,
        history: Mapping[bytes, Known],
        ended: Sequence[tuple[bytes, int]],
        at: Mapping[bytes, float],
    ) -> list[Output]:
        if record.phase in (FORGET, BEGIN):
            self._clear()
            self.is_live = False
            if record.phase == FORGET:
                self.reset = record.reset
            else:
                self._resetting = record.reset
            return []
        if record.reset != self._resetting:  # records before this one are gone
            self.lose()
            return []
        self._begun.append(record)
        if record.phase != LAST:
            return []
        parts, self._begun = self._begun, []
        outputs = [Output(key, None, self._writer.as_of(by)) for key, by in ended]
        for part in parts:
            outputs += self._come(part.coming, part, history, at, resumed=True)
        self._came = [int(offset) - 1 for offset in record.positions]
        self._left = list(self._came)
        self._resetting = 0
        self._world, self.reset = record.world, record.reset
        self.objects = record.objects
        self.is_live, self.is_lost = True, False
        return outputs

    def _leave(self, record: ZoneRecord) -> Iterable[Output]:
        leaving = record.leaving
        columns = (leaving.lives.tolist(), leaving.by.tolist(), leaving.silent.tolist())
        gone = []
        for life, by, silent, key in zip(*columns, leaving.keys.unpack(), strict=True):
            shard, offset = place_of(by, self._shards)
            if offset <= self._left[shard]:
                continue
            self._left[shard] = offset
            if self._subscribers.pop(life, None) is not None:
                gone.append(life)
            if not silent:
                yield Output(key or b"", None, self._writer.as_of(by))
        if gone:
            self.lists.unsubscribe_many(gone)

    def _come(
        self,
        coming: Coming,
        record: ZoneRecord,
        history: Mapping[bytes, Known] | None = None,
        at: Mapping[bytes, float] | None = None,
        resumed: bool = False,
    ) -> list[Output]:
        """Lists that begin; `resumed`, also those that go on where `matches` leave them."""
        rows = []
        for row, life in enumerate(coming.lives.tolist()):
            shard, offset = place_of(life, self._shards)
            if resumed or offset > self._came[shard]:
                self._came[shard] = max(offset, self._came[shard])
                rows.append(row)
        if not rows:
            return []
        keys = coming.keys.unpack()
        for row in rows:
            key, life = keys[row] or b"", int(coming.lives[row])
            self._subscribers[life] = Subscriber(key, int(coming.ks[row]))
        chosen = np.array(rows)
        starts = np.cumsum(coming.counts) - coming.counts
        entries = np.concatenate(
            [coming.entries[:0], *(
                coming.entries[starts[row] : starts[row] + coming.counts[row]] for row in rows
            )]
        )  # fmt: skip
        self.lists.subscribe_many(
            coming.lives[chosen],
            coming.lows[chosen],
            coming.highs[chosen],
            coming.ks[chosen],
            record.as_of,
            coming.counts[chosen],
            entries,
            object_states(record),
        )
        self._writer.forget(self.lists.rewritten)
        outputs = []
        for life in coming.lives[chosen].tolist():
            known = (history or {}).get(self._subscribers[life].key)
            if known is not None and known.life == life:
                outputs += self._resume(life, known, record.as_of, at or {})
            else:
                outputs.append(self._first(life, record.as_of))
        return outputs

    def _first(self, life: int, as_of: int) -> Output:
        whose = self._subscribers[life]
        rows = self.lists.entries_of(life)[: whose.k]
        value = self._writer.first_record(
            whose, life, as_of, rows, self.lists.states, self.lists.object_ids
        )
        return Output(whose.key, value, self._writer.as_of(life))

    def _resume(
        self, life: int, known: Known, as_of: int, at: Mapping[bytes, float]
    ) -> list[Output]:
        """Go on behind the last record: from its list to the one that is right now."""
        now = self.lists.entries_of(life)
        names = self.lists.named(now)
        before = known.record.list
        if before is UNSET:  # its changes cannot be told, so its list is
            self.lists.count_on(life, known.record.seq)
            return self._written(self.lists.tell(life, as_of), whole=True)
        was = ObjectStates(
            [one.id.encode() for one in before],
            np.array([one.x for one in before], np.float64),
            np.array([one.y for one in before], np.float64),
        )
        self.lists.set_list(life, was, known.record.seq)
        self.lists.note_gone(was.ids, np.array([at.get(id, np.nan) for id in was.ids]))
        objects = ObjectStates(
            [id for id, _, _ in names],
            np.array([x for _, x, _ in names], np.float64),
            np.array([y for _, _, y in names], np.float64),
        )
        changed = self.lists.replace_many(
            [life], [len(names)], np.arange(len(names)), objects, as_of
        )
        return self._written(changed, whole=True)

    def _apply(self, record: ZoneRecord, due: bool) -> list[Output]:
        if record.more:
            self._begun.append(record)
            return []
        if self._begun:
            parts, self._begun = [*self._begun, record], []
            painted, numbers = joined(parts)
        elif not len(record.messages.numbers):
            return []
        else:
            painted, numbers = painted_of(record), record.messages.numbers
        return self._written(self.lists.apply(painted, numbers, due))

    def _written(self, changed: Changed, whole: bool = False) -> list[Output]:
        self._writer.forget(self.lists.rewritten)
        records = self._writer.records(
            changed, self.lists.states, self.lists.object_ids, self._subscribers.__getitem__, whole
        )
        return [Output(one.key, value, self._writer.as_of(life)) for one, life, value in records]

    def to_arrays(self) -> dict[str, np.ndarray]:
        lists = {_OF_LISTS + n: a for n, a in self.lists.to_arrays()._asdict().items()}
        found = sorted(self._subscribers.items())
        keys = [one.key for _, one in found]
        return lists | {
            "key_lengths": np.array([len(key) for key in keys], np.int32),
            "key_data": np.frombuffer(b"".join(keys), np.uint8),
            "came": np.array(self._came),
            "left": np.array(self._left),
            "said": np.array([self._epoch, self.reset, self.objects]),
            "world": np.array([self._world], np.uint64),
        }

    def restore(self, arrays: Mapping[str, np.ndarray], next_offset: int) -> None:
        """Become what `to_arrays()` gave.  If that raises, nothing has changed."""
        of_lists = {
            name.removeprefix(_OF_LISTS): array
            for name, array in arrays.items()
            if name.startswith(_OF_LISTS)
        }
        saved = ListArrays(**of_lists)
        lists = SubscriberLists.from_arrays(saved)
        came, left = arrays["came"].tolist(), arrays["left"].tolist()
        if (lists.k, len(came), len(left)) != (self._k, self._shards, self._shards):
            got = f"k = {lists.k} and {len(came)} shards"
            raise ValueError(f"got {got}, expected {self._k} and {self._shards}")
        data, ends = arrays["key_data"].tobytes(), np.cumsum(arrays["key_lengths"]).tolist()
        keys = [data[start:end] for start, end in pairwise([0, *ends])]
        columns = (saved.ids.tolist(), keys, saved.own_k.tolist())
        self._subscribers = {
            life: Subscriber(key, k) for life, key, k in zip(*columns, strict=True)
        }
        self._hold(lists)
        self._came, self._left = came, left
        self._epoch, self.reset, self.objects = arrays["said"].tolist()
        self._world = int(arrays["world"][0])
        self._begun, self._resetting = [], 0
        self.next_offset = next_offset
        self.is_live, self.is_lost = True, False


def object_states(record: ZoneRecord) -> ObjectStates:
    states = record.states
    ids = [id or b"" for id in states.ids.unpack()]
    return ObjectStates(ids, states.x, states.y)


def painted_of(record: ZoneRecord) -> Painted:
    m = record.messages
    return Painted(
        m.group.astype(np.int64),
        m.state,
        m.inner_low,
        m.inner_high,
        m.outer_low,
        m.outer_high,
        object_states(record),
        m.gone_group.astype(np.int64),
        [id or b"" for id in m.gone_ids.unpack()],
        m.gone_to,
    )


def joined(parts: list[ZoneRecord]) -> tuple[Painted, np.ndarray]:
    """Groups in several records, each of which goes on with the last group of the one before."""
    numbers: list[int] = []
    painted = []
    for part in parts:
        given = part.messages.numbers.tolist()
        first = len(numbers) - 1 if numbers and given and numbers[-1] == given[0] else len(numbers)
        numbers += given[len(numbers) - first :]
        one = painted_of(part)
        painted.append(one._replace(group=one.group + first, gone_group=one.gone_group + first))
    starts = np.cumsum([0, *(len(one.states.ids) for one in painted)])[:-1].tolist()

    def column(name: str) -> np.ndarray:
        return np.concatenate([getattr(one, name) for one in painted])

    def of_states(name: str) -> np.ndarray:
        return np.concatenate([getattr(one.states, name) for one in painted])

    return Painted(
        column("group"),
        np.concatenate([one.state + start for one, start in zip(painted, starts, strict=True)]),
        column("inner_low"),
        column("inner_high"),
        column("outer_low"),
        column("outer_high"),
        ObjectStates(
            [id for one in painted for id in one.states.ids],
            of_states("x"),
            of_states("y"),
        ),
        column("gone_group"),
        [id for one in painted for id in one.gone_ids],
        column("gone_to"),
    ), np.array(numbers, np.int64)
