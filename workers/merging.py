"""Putting the shards' answers together: the merger's decisions, without Kafka."""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numba import njit

from topics.frames import FrameName
from topics.matches import Hits
from topics.partials import Partial


class MergedFrame(NamedTuple):
    partition: int  # of the events topic
    offsets: np.ndarray  # i8[m]
    timestamps: np.ndarray  # i8[m]
    keys: list[bytes | None]
    hits: Hits
    as_of: list[dict[int, int]]  # by shard: one for all events, or several
    as_of_by: np.ndarray  # i8[m]  which of them is an event's


_Progress = tuple[int, int]  # events partition, shard


class _Pending(NamedTuple):
    awaited: set[int]
    partials: dict[int, Partial]  # by shard
    places: list[int]  # offsets in the partials topic
    source: int  # partition of the partials topic


class Assembly:
    """Frames that some of their shards have answered.

    A shard answers frames in the order of its log.  When it has answered a later frame of the
    same events partition, it has passed the earlier ones: the answer that a frame still waits for
    will not come, or has come and this is a repeat.  Such a frame is given up.  Nothing is lost by
    that: a frame lacks a shard only if its router died while sending it, and then the router's
    successor, whose epoch is greater, has sent the same events again.
    """

    def __init__(self) -> None:
        self._pending: dict[FrameName, _Pending] = {}
        self._passed: dict[_Progress, tuple[int, int]] = {}  # epoch and last offset
        # The frames that wait for a shard, in the order they came; a dict as an ordered set.
        self._waiting: dict[_Progress, dict[FrameName, None]] = defaultdict(dict)
        self.orphaned = 0

    def add(self, partial: Partial, source: int, place: int) -> MergedFrame | None:
        """Take a shard's answer, read at `place` of partition `source`; the frame, if complete."""
        name, shard = partial.frame, partial.shard
        frame = self._pending.get(name)
        if frame is None:
            if self._has_passed(shard, name):
                return None
            frame = self._expect(partial, source)
        frame.partials.setdefault(shard, partial)
        frame.places.append(place)
        self._stop_waiting(name, frame, {shard})
        self._advance(shard, name)
        if frame.awaited:
            self._give_up_if_passed(name)
            return None
        return merge(self._pending.pop(name).partials.values())

    def safe_place(self, source: int, following: int) -> int:
        """What may be committed for a partials partition that was read up to `following`."""
        places = (f.places[0] for f in self._pending.values() if f.source == source)
        return min(places, default=following)

    def forget(self, source: int, partitions: int) -> None:
        """Drop what came from a partials partition that is no longer ours."""
        for name in [name for name, frame in self._pending.items() if frame.source == source]:
            self._drop(name)
        for key in [key for key in self._passed if key[0] % partitions == source]:
            del self._passed[key]

    @property
    def frames(self) -> int:
        return len(self._pending)

    @property
    def nbytes(self) -> int:
        partials = (p for frame in self._pending.values() for p in frame.partials.values())
        return sum(_nbytes(partial) for partial in partials)

    def _expect(self, partial: Partial, source: int) -> _Pending:
        frame = _Pending(set(partial.taking_part.tolist()), {}, [], source)
        self._pending[partial.frame] = frame
        for shard in frame.awaited:
            self._waiting[partial.frame.partition, shard][partial.frame] = None
        return frame

    def _stop_waiting(self, name: FrameName, frame: _Pending, shards: set[int]) -> None:
        for shard in shards & frame.awaited:
            del self._waiting[name.partition, shard][name]
        frame.awaited.difference_update(shards)

    def _drop(self, name: FrameName) -> None:
        frame = self._pending.pop(name)
        self._stop_waiting(name, frame, set(frame.awaited))

    def _has_passed(self, shard: int, name: FrameName) -> bool:
        epoch, last = self._passed.get((name.partition, shard), (-1, -1))
        return epoch >= name.epoch and last >= name.last

    def _advance(self, shard: int, name: FrameName) -> None:
        """The shard has answered this frame; give up those that it has passed."""
        key = (name.partition, shard)
        self._passed[key] = max((name.epoch, name.last), self._passed.get(key, (-1, -1)))
        while (first := next(iter(self._waiting[key]), None)) and self._has_passed(shard, first):
            self._drop(first)
            self.orphaned += 1

    def _give_up_if_passed(self, name: FrameName) -> None:
        if any(self._has_passed(shard, name) for shard in self._pending[name].awaited):
            self._drop(name)
            self.orphaned += 1


def _nbytes(partial: Partial) -> int:
    columns = [c for c in partial if isinstance(c, np.ndarray)]
    return sum(c.nbytes for c in [*columns, *partial.keys, *partial.id_texts])


def merge(partials: Iterable[Partial]) -> MergedFrame:
    """The best hits of each event over all shards: score descending, then older, then lower shard.

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
    starts = np.zeros((len(partials), events), np.int64)
    counts = np.zeros((len(partials), events), np.int64)
    answered = np.zeros((len(partials), events), np.bool_)
    first_hit = 0
    for i, partial in enumerate(partials):
        rows = np.searchsorted(offsets, partial.offsets)
        timestamps[rows], ks[rows] = partial.timestamps, partial.ks
        if unnamed[rows].any():
            unnamed[rows] = False
            for row, key in zip(rows.tolist(), partial.keys.unpack(), strict=True):
                keys[row] = key
        counts[i, rows], answered[i, rows] = partial.counts, True
        starts[i, rows] = first_hit + np.cumsum(partial.counts) - partial.counts
        first_hit += len(partial.ids)
    return MergedFrame(
        partials[0].frame.partition,
        offsets,
        timestamps,
        keys,
        _merged_hits(partials, starts, counts, ks),
        *_as_of(partials, answered),
    )


def _as_of(
    partials: list[Partial], answered: np.ndarray
) -> tuple[list[dict[int, int]], np.ndarray]:
    """A shard that was not asked about an event counts as of its routes, which left it out."""
    patterns, pattern_of = np.array([[True] * len(partials)]), np.zeros(answered.shape[1], np.int64)
    if not answered.all():
        patterns, pattern_of = np.unique(answered.T, axis=0, return_inverse=True)
    by_routes = dict(enumerate(partials[0].routed.tolist()))
    return [
        by_routes | {p.shard: p.as_of for p, asked in zip(partials, pattern, strict=True) if asked}
        for pattern in patterns.tolist()
    ], pattern_of


def _merged_hits(
    partials: list[Partial], starts: np.ndarray, counts: np.ndarray, ks: np.ndarray
) -> Hits:
    scores = np.concatenate([partial.scores for partial in partials])
    ids = np.concatenate([partial.ids for partial in partials])
    lengths = np.concatenate([partial.id_texts.lengths for partial in partials])
    texts = np.concatenate([partial.id_texts.data for partial in partials])
    text_starts = np.cumsum(lengths, dtype=np.int64) - lengths
    merged_counts, chosen = _choose(starts, counts, ks, scores, ids)
    return Hits(merged_counts, scores[chosen], text_starts[chosen], lengths[chosen], texts)


@njit(cache=True)
def _choose(starts, counts, ks, scores, ids):
    """Indices of the best hits, event by event; rows of `starts` and `counts` are shards."""
    shards, events = starts.shape
    merged = np.minimum(counts.sum(axis=0), ks)
    chosen = np.empty(merged.sum(), np.int64)
    taken = np.zeros(shards, np.int64)
    at = 0
    for event in range(events):
        taken[:] = 0
        for _ in range(merged[event]):
            best = -1
            for shard in range(shards):
                if taken[shard] == counts[shard, event]:
                    continue
                hit = starts[shard, event] + taken[shard]
                if best < 0 or (-scores[hit], ids[hit]) < (-scores[best], ids[best]):
                    best, winner = hit, shard
            chosen[at] = best
            taken[winner] += 1
            at += 1
    return merged, chosen
