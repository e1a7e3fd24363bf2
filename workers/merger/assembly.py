"""From the shards' answers to whole frames: which are there, which wait, and what they add up to.

A frame waits for every shard that takes part.  Then the hits of all shards are merged, the best of
each event first.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from indexes.hits import merge_shards
from topics.frames import FrameId
from topics.headers import Header
from topics.matches import Hits
from topics.partials import Partial
from workers.merger.progress import NOTHING, Mark, MergeProgress, Progress, covers


class MergedFrame(NamedTuple):
    partition: int  # of the events topic
    offsets: np.ndarray  # i8[m]
    timestamps: np.ndarray  # i8[m]
    keys: list[bytes | None]
    hits: Hits
    as_of: list[dict[int, int]]  # by shard: one for all events, or several
    as_of_by: np.ndarray  # i8[m]  which of them is an event's
    traces: Mapping[int, list[Header]]  # by event that belongs to one
    first_sent_at: float = 0.0  # when a shard sent the first of the answers, in seconds


def merge(partials: Iterable[Partial]) -> MergedFrame:
    """The best hits of each event over all shards; of equal ones that of the lower shard.

    Shards may have been asked about different events of the frame.
    """
    partials = sorted(partials, key=lambda partial: partial.shard)
    offsets = partials[0].offsets
    if any(not np.array_equal(offsets, partial.offsets) for partial in partials[1:]):
        offsets = np.unique(np.concatenate([partial.offsets for partial in partials]))
    events = len(offsets)
    timestamps, ks = np.zeros(events, np.int64), np.zeros(events, np.int64)
    keys: list[bytes | None] = [None] * events
    unnamed = np.ones(events, np.bool_)  # their keys are the same in every partial: unpack once
    counts = np.zeros((len(partials), events), np.int64)
    answered = np.zeros((len(partials), events), np.bool_)
    traces: dict[int, list[Header]] = {}
    for i, partial in enumerate(partials):
        rows = np.searchsorted(offsets, partial.offsets)
        timestamps[rows], ks[rows] = partial.timestamps, partial.ks
        if unnamed[rows].any():
            unnamed[rows] = False
            for row, key in zip(rows.tolist(), partial.keys.unpack(), strict=True):
                keys[row] = key
        counts[i, rows], answered[i, rows] = partial.counts, True
        for row, headers in partial.traces.headers().items():
            traces[int(rows[row])] = headers
    return MergedFrame(
        partials[0].frame_id.partition,
        offsets,
        timestamps,
        keys,
        _merged_hits(partials, counts, ks),
        *_as_of(partials, answered),
        traces,
    )


def _as_of(
    partials: list[Partial], answered: np.ndarray
) -> tuple[list[dict[int, int]], np.ndarray]:
    """A shard that was not asked about an event counts as of its routes, which left it out."""
    patterns, pattern_of = np.array([[True] * len(partials)]), np.zeros(answered.shape[1], np.int64)
    if not answered.all():
        patterns, pattern_of = np.unique(answered.T, axis=0, return_inverse=True)
    by_routes = dict(enumerate(partials[0].routes_as_of.tolist()))
    return [
        by_routes | {p.shard: p.as_of for p, asked in zip(partials, pattern, strict=True) if asked}
        for pattern in patterns.tolist()
    ], pattern_of


def _merged_hits(partials: list[Partial], counts: np.ndarray, ks: np.ndarray) -> Hits:
    scores = np.concatenate([partial.scores for partial in partials])
    ids = np.concatenate([partial.ids for partial in partials])
    lengths = np.concatenate([partial.id_texts.lengths for partial in partials])
    texts = np.concatenate([partial.id_texts.data for partial in partials])
    text_starts = np.cumsum(lengths, dtype=np.int64) - lengths
    merged_counts, chosen = merge_shards(counts, ks, scores, ids)
    return Hits(merged_counts, scores[chosen], text_starts[chosen], lengths[chosen], texts)


class _Pending(NamedTuple):
    awaited: set[int]
    partials: dict[int, Partial]  # by shard
    places: list[int]  # offsets in the partials topic
    first_sent_at: float


class Assembly:
    """Frames that some of their shards have answered, into one partition of the partials topic.

    A shard answers frames in the order of its log.  When it has answered a later frame of the
    same events partition, it has passed the earlier ones: the answer that a frame still waits for
    will not come, or has come and this is a repeat.  Such a frame is given up.  Nothing is lost by
    that: a frame lacks a shard only if its router died while sending it, and then the router's
    successor, whose epoch is greater, has sent the same events again.

    Within one epoch a shard that answers a frame without the one before has never had that one:
    its log no longer has it, as after an absence longer than frames are kept.  That one is `lost`.
    """

    def __init__(self) -> None:
        self._pending: dict[FrameId, _Pending] = {}
        self._passed: dict[Progress, Mark] = {}
        # The frames that wait for a shard, in the order they came; a dict as an ordered set.
        self._waiting: dict[Progress, dict[FrameId, None]] = defaultdict(dict)
        # Those that a shard has answered and others have not, with what it had passed before.
        self._answered: dict[Progress, dict[FrameId, Mark]] = defaultdict(dict)
        # Out, although their shards have answered an earlier one that is not; with these shards.
        self._ahead: dict[FrameId, tuple[int, ...]] = {}
        self.orphaned = self.lost = 0

    def add(self, partial: Partial, place: int, sent_at: float = 0.0) -> MergedFrame | None:
        """Take a shard's answer, read at the offset `place`; the frame, if that completes it."""
        name, shard = partial.frame_id, partial.shard
        frame = self._pending.get(name)
        if frame is None:
            if self._has_passed(shard, name):
                return None
            if name in self._ahead:
                self._advance(shard, name)
                return None
            frame = self._expect(partial, sent_at)
        frame.partials.setdefault(shard, partial)
        frame.places.append(place)
        self._stop_waiting(name, frame, {shard})
        key = (name.partition, shard)
        self._answered[key].setdefault(name, self._passed.get(key, NOTHING))
        self._advance(shard, name)
        if frame.awaited:
            self._give_up_if_passed(name)
            return None
        self._drop(name)
        shards = tuple(frame.partials)
        if not self._is_marked(name, shards):
            self._ahead[name] = shards
        return merge(frame.partials.values())._replace(first_sent_at=frame.first_sent_at)

    def safe_place(self, following: int) -> int:
        """What may be committed for the partition when it was read up to `following`."""
        return min((frame.places[0] for frame in self._pending.values()), default=following)

    def marks(self) -> MergeProgress:
        """What is out of the partition, whose safe place is committed."""
        ahead = self._ahead.items()
        self._ahead = {name: shards for name, shards in ahead if not self._is_marked(name, shards)}
        return MergeProgress({key: self._mark(key) for key in self._passed}, dict(self._ahead))

    def resume(self, marks: MergeProgress) -> None:
        """Go on where these were committed."""
        self._passed.update(marks.passed)
        self._ahead.update(marks.ahead)

    @property
    def frames(self) -> int:
        return len(self._pending)

    @property
    def nbytes(self) -> int:
        partials = (p for frame in self._pending.values() for p in frame.partials.values())
        return sum(_nbytes(partial) for partial in partials)

    def _expect(self, partial: Partial, sent_at: float) -> _Pending:
        frame = _Pending(set(partial.taking_part.tolist()), {}, [], sent_at)
        self._pending[partial.frame_id] = frame
        for shard in frame.awaited:
            self._waiting[partial.frame_id.partition, shard][partial.frame_id] = None
        return frame

    def _stop_waiting(self, name: FrameId, frame: _Pending, shards: set[int]) -> None:
        for shard in shards & frame.awaited:
            del self._waiting[name.partition, shard][name]
        frame.awaited.difference_update(shards)

    def _drop(self, name: FrameId) -> None:
        """It is out, or given up."""
        frame = self._pending.pop(name)
        self._stop_waiting(name, frame, set(frame.awaited))
        for shard in frame.partials:
            del self._answered[name.partition, shard][name]

    def _has_passed(self, shard: int, name: FrameId) -> bool:
        return covers(self._passed.get((name.partition, shard), NOTHING), name)

    def _mark(self, key: Progress) -> Mark:
        """What the shard had passed before the first that it has answered and others have not."""
        return next(iter(self._answered[key].values()), self._passed.get(key, NOTHING))

    def _is_marked(self, name: FrameId, shards: Iterable[int]) -> bool:
        return all(covers(self._mark((name.partition, shard)), name) for shard in shards)

    def _advance(self, shard: int, name: FrameId) -> None:
        """The shard has answered this frame; give up those that it has passed."""
        key = (name.partition, shard)
        self._passed[key] = max((name.epoch, name.last), self._passed.get(key, NOTHING))
        while (first := next(iter(self._waiting[key]), None)) and self._has_passed(shard, first):
            self._drop(first)
            if first.epoch == self._passed[key][0]:
                self.lost += 1
            else:
                self.orphaned += 1

    def _give_up_if_passed(self, name: FrameId) -> None:
        """One of which a part is read again, most likely."""
        if any(self._has_passed(shard, name) for shard in self._pending[name].awaited):
            self._drop(name)
            self.orphaned += 1


def _nbytes(partial: Partial) -> int:
    columns = [c for c in partial if isinstance(c, np.ndarray)]
    return sum(c.nbytes for c in [*columns, *partial.keys, *partial.id_texts])
