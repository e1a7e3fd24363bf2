"""One shard of a collection: its index, how it changes, and how it answers a frame.

An index is rebuilt in another thread while the shard goes on answering and changing.  That thread
works on a fork of the index.  What changes meanwhile is noted and applied to the fork as well, so
that at the swap both hold the same subscriptions, and every answer is the same.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numba import njit

from indexes.kinds import KINDS, ShardIndex
from topics import kinds as topic_kinds
from topics.codecs.byte_strings import ByteStrings
from topics.frames import Frame
from topics.partials import Partial
from workers.shard.changes import Changes
from workers.shard.key_table import KeyTable, MixedUp

_MOST_BACKLOG = 1_000_000  # subscriptions


class ShardInconsistent(Exception):
    """The keys of a shard and its index do not say the same: it must not answer any more.

    A replay of `subscriptions` from the beginning makes it whole again.
    """


class IndexChange(NamedTuple):
    """What one batch of changes does to an index: the ids that go, then the rows that come."""

    gone: np.ndarray  # i8[m]
    ids: np.ndarray  # i8[n]
    columns: tuple[np.ndarray, ...]

    def apply_to(self, index: ShardIndex) -> None:
        if len(self.gone):
            index.delete_many(self.gone)
        if len(self.ids):
            index.insert_many(self.ids, *self.columns)


def folded(changes: Sequence[IndexChange]) -> IndexChange:
    """The net effect of changes in a row, of which there is at least one."""
    gone = np.concatenate([change.gone for change in changes])
    ids = np.concatenate([change.ids for change in changes])
    stays = ~np.isin(ids, gone)
    columns = zip(*(change.columns for change in changes), strict=True)
    return IndexChange(
        gone[~np.isin(gone, ids)],
        ids[stays],
        tuple(np.concatenate(column)[stays] for column in columns),
    )


class Taken(NamedTuple):
    """Hits of many events, one event after the other, each event's best first."""

    counts: np.ndarray  # i4[m]
    ids: np.ndarray  # i8[h]
    scores: np.ndarray  # f8[h]


class Rebuild:
    """A new index: built, and caught up, in another thread than the one that calls `note`."""

    def __init__(self, index: ShardIndex) -> None:
        self.index = index
        self._missed: deque[IndexChange] = deque()

    def note(self, change: IndexChange) -> None:
        self._missed.append(change)

    @property
    def behind(self) -> int:
        """How many batches of changes the new index still misses."""
        return len(self._missed)

    def catch_up(self) -> None:
        for _ in range(len(self._missed)):
            self._missed.popleft().apply_to(self.index)


class Watcher(Protocol):
    """Follows what a shard holds: the index that it begins with, then every change."""

    def restored(self, arrays: Mapping[str, np.ndarray], live: np.ndarray) -> None: ...

    def note(self, change: IndexChange) -> None: ...


class Shard:
    """Closed at first: `apply` what there is, then `open` it."""

    def __init__(
        self,
        number: int,
        kind: str,
        attributes: Sequence[str],
        dialect: topic_kinds.Dialect = topic_kinds.NO_DIALECT,
    ) -> None:
        self.number = number
        self.contract = topic_kinds.contract_for(kind, attributes, dialect)
        self.next_offset = 0  # everything below is applied
        self.base_offset = 0  # everything below is in the base of the index
        self.is_consistent = True  # as far as anybody has noticed
        self._attributes, self._dialect = tuple(attributes), dialect
        self._kind = KINDS[kind]
        self._events = topic_kinds.event_form(kind, attributes, dialect)
        self._index = self._kind.new(attributes, **dialect)
        self._keys = KeyTable()
        self._rebuild: Rebuild | None = None
        # During a replay nobody asks, and one large change of an index is cheaper than many.
        self._backlog: list[IndexChange] | None = []
        self._watcher: Watcher | None = None

    def watch(self, watcher: Watcher) -> None:
        """Have it told of everything that changes from now on."""
        self._watcher = watcher

    def __len__(self) -> int:
        return len(self._index)

    @property
    def nbytes(self) -> int:
        return self._index.nbytes + self._keys.nbytes

    @property
    def delta_share(self) -> float:
        """How much of the index is outside its optimal part, from 0 to 1."""
        return self._index.delta_share

    @property
    def unplaced(self) -> int:
        """Conjunctions that match nothing, as there are too many attributes to index theirs."""
        return self._index.unplaced

    def apply(self, changes: Changes) -> None:
        """An update is a delete of the old offset and an insert of the new one."""
        try:
            replaced = self._keys.put_many(changes.keys, changes.offsets)
            gone = np.concatenate((replaced, self._keys.remove_many(changes.removed)))
            self._change(IndexChange(gone, changes.offsets, changes.columns))
        except (MixedUp, KeyError) as error:  # the index does not know what is to go
            raise self._inconsistent(error) from error
        self.next_offset = changes.next_offset

    def _change(self, change: IndexChange) -> None:
        if self._watcher is not None:
            self._watcher.note(change)
        if self._backlog is not None:
            self._backlog.append(change)
            if sum(len(waiting.ids) for waiting in self._backlog) > _MOST_BACKLOG:
                self._work_off()
            return
        change.apply_to(self._index)
        if self._rebuild is not None:
            self._rebuild.note(change)

    def _work_off(self) -> None:
        if self._backlog:
            folded(self._backlog).apply_to(self._index)
            self._backlog.clear()

    def best(self, events: Any, ks: np.ndarray) -> Taken:
        """The best hits of each event, as many as it wants; events are in the kind's columns."""
        table = self._index.top_k_many(events, int(ks.max(initial=0)))
        return Taken(*_taken(*table, ks))

    def texts(self, ids: np.ndarray) -> ByteStrings:
        """The ids of these subscriptions as people gave them, as JSON strings."""
        try:
            return self._keys.texts(ids)
        except KeyError as error:
            raise self._inconsistent(error) from error

    def answer(self, frame: Frame) -> Partial:
        """The best hits of every event of the frame, by one call into the index."""
        ks = np.require(frame.ks, np.int32, "W")
        counts, ids, scores = self.best(self._events.unpack(frame.payload), ks)
        texts = self.texts(ids)
        return Partial(
            frame.frame_id,
            self.number,
            frame.taking_part,
            self.next_offset - 1,
            frame.offsets,
            frame.timestamps,
            frame.ks,
            frame.keys,
            counts,
            scores,
            ids,
            texts,
            frame.routes_as_of,
            frame.traces,
        )

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Everything but `next_offset`; frames may be answered meanwhile, changes may not come.

        `ShardInconsistent` unless each subscription of the index has a key, and each key one.
        """
        index = self._index.to_arrays()._asdict()
        index.pop("attributes", None)
        try:
            texts = self._keys.texts(self._index.ids())
        except KeyError as error:
            raise self._inconsistent(error) from error
        if len(self._keys) != len(texts.lengths):
            raise self._inconsistent(f"{len(self._keys)} keys of {len(texts.lengths)} in the index")
        named = {f"index.{name}": array for name, array in index.items()}
        return named | {
            "base_offset": np.array([self.base_offset]),
            "ids.lengths": texts.lengths,
            "ids.texts": texts.data,
        }

    def restore(self, arrays: Mapping[str, np.ndarray], next_offset: int) -> None:
        """Become what `to_arrays()` gave.  If that raises, nothing has changed."""
        base_offset = int(arrays["base_offset"][0])
        if not 0 <= base_offset <= next_offset:
            raise ValueError(f"base_offset: got {base_offset}, expected at most {next_offset}")
        prefix = "index."
        columns = {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}
        index = self._kind.restore(self._attributes, columns, **self._dialect)
        texts = ByteStrings(arrays["ids.lengths"], arrays["ids.texts"])
        keys = KeyTable.of_texts(index.ids(), texts)
        self._index, self._keys = index, keys
        self.next_offset, self.base_offset = next_offset, base_offset
        if self._watcher is not None:
            self._watcher.restored(columns, index.ids())

    def open(self) -> None:
        """End the replay: from now on the shard may answer, and every change is applied at once.

        The index is made as quick as can be.
        """
        try:
            self._work_off()
        except KeyError as error:
            raise self._inconsistent(error) from error
        self._backlog = None
        if self._index.rebases_itself and self._index.is_worn:
            self._index.rebase()
            self.base_offset = self.next_offset

    def _inconsistent(self, why: object) -> ShardInconsistent:
        self.is_consistent = False
        return ShardInconsistent(f"shard {self.number} at offset {self.next_offset}: {why}")

    @property
    def is_worn(self) -> bool:
        """Whether a rebuild would make answers quicker."""
        worn = self._index.rebases_itself and self._index.is_worn
        return worn and self._rebuild is None

    @property
    def is_stale(self) -> bool:
        """Whether the index will soon hold frames up to set itself in order, unless refreshed."""
        return self._index.is_stale and self._rebuild is None

    def begin_rebuild(self) -> Rebuild:
        """Start to note what the index that is being built elsewhere misses."""
        self._rebuild = Rebuild(self._index.fork())
        return self._rebuild

    def end_rebuild(self, base_offset: int) -> ShardIndex:
        """Answer from the new index, once it has caught up; the old one.

        To free that takes a while, which is better done by another thread.
        """
        assert self._rebuild is not None
        self._rebuild.catch_up()
        old, self._index, self._rebuild = self._index, self._rebuild.index, None
        self.base_offset = base_offset
        return old


# One call, in which the GIL is kept: numpy would let go of it at every step, and each time it may
# take as long as the whole frame to get it back from a thread that parses changes.
@njit(cache=True)
def _taken(counts, ids, scores, ks):
    """How many hits each event takes, and these, one event after the other."""
    taken = np.minimum(counts, ks).astype(np.int32)
    total = taken.sum()
    taken_ids, taken_scores = np.empty(total, np.int64), np.empty(total)
    at = 0
    for event in range(len(taken)):
        for i in range(taken[event]):
            taken_ids[at], taken_scores[at] = ids[event, i], scores[event, i]
            at += 1
    return taken, taken_ids, taken_scores
