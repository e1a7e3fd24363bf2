"""Putting the shards' answers together, without Kafka."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numba import njit

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
        partials[0].frame_id.partition,
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
    by_routes = dict(enumerate(partials[0].routes_as_of.tolist()))
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
