"""What a top-k query answers, and the order of it: the one home of the tie order.

Hits are ranked by score, the greatest first, and among equal scores by id, the least first (ids
are offsets: the older subscription wins).  That is a strict total order, so every answer is
determined, whichever index or shard it comes from.  Kernels compare two hits by `better`, keep the
k best of many by the heap, and merge the sorted answers of shards by `merge_shards`; columns are
sorted by `rank_order`.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from indexes.kernels.decorators import bare, fused
from indexes.kernels.sorting import stable_order

__all__ = [
    "Hit",
    "HitTable",
    "better",
    "better_at",
    "empty_table",
    "hits_of",
    "is_ranked",
    "merge_shards",
    "offer",
    "offer_distinct",
    "rank_key",
    "rank_order",
    "sort_best_first",
]


class Hit(NamedTuple):
    id: int
    score: float


class HitTable(NamedTuple):
    """Row i answers query i.  There are always k columns, also where fewer hits exist."""

    counts: np.ndarray  # i8[m]
    ids: np.ndarray  # i8[m, k]  valid up to counts[i], then -1
    scores: np.ndarray  # f8[m, k]  valid up to counts[i], then nan


def empty_table(queries: int, k: int) -> HitTable:
    """A table without hits, for a kernel to fill."""
    return HitTable(
        counts=np.zeros(queries, np.int64),
        ids=np.full((queries, k), -1, np.int64),
        scores=np.full((queries, k), np.nan, np.float64),
    )


def hits_of(table: HitTable, row: int) -> list[Hit]:
    """The hits of one query as plain Python numbers, best first."""
    count = int(table.counts[row])
    ids, scores = table.ids[row, :count].tolist(), table.scores[row, :count].tolist()
    return [Hit(id, score) for id, score in zip(ids, scores, strict=True)]


def rank_key(hit: Hit) -> tuple[float, int]:
    """The key by which `sorted` puts hits best first.

    >>> sorted([Hit(3, 1.0), Hit(2, 1.0), Hit(9, 4.0)], key=rank_key)
    [Hit(id=9, score=4.0), Hit(id=2, score=1.0), Hit(id=3, score=1.0)]
    """
    return -hit.score, hit.id


def rank_order(scores: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Where the hits are, best first; each id is there once.

    >>> rank_order(np.array([1.0, 4.0, 1.0]), np.array([7, 9, 3])).tolist()
    [1, 2, 0]
    """
    if not (ids[1:] < ids[:-1]).any():
        return stable_order(-scores)
    by_id = np.argsort(ids)
    return by_id[stable_order(-scores[by_id])]


def is_ranked(scores: np.ndarray, ids: np.ndarray) -> bool:
    """Whether hits are in rank order, none there twice."""
    tied = scores[:-1] == scores[1:]
    return bool(((scores[:-1] > scores[1:]) | (tied & (ids[:-1] < ids[1:]))).all())


@fused
def better(score, id, other_score, other_id):
    """Whether a hit ranks before another one."""
    return score > other_score or (score == other_score and id < other_id)


@fused
def better_at(scores, ids, at, score, id):
    """As `better`, for the hit at `at`: its id, often far away, is read only among equal scores."""
    return scores[at] > score or (scores[at] == score and ids[at] < id)


# The k best hits so far are a heap, the worst of them first, in `ids` and `scores`: usually a row
# of a `HitTable`, whose length is k.


@bare
def _sift_down(ids, scores, size, at, id, score):
    """Put a hit at `at` or, as long as one below is worse, further down."""
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and better(
            scores[child], ids[child], scores[child + 1], ids[child + 1]
        ):
            child += 1
        if not better(score, id, scores[child], ids[child]):
            break
        ids[at], scores[at] = ids[child], scores[child]
        at = child
    ids[at], scores[at] = id, score


@fused
def offer(ids, scores, size, id, score):
    """Keep a hit if it is among the best; return how many are kept."""
    if size < len(ids):
        at = size
        while at > 0:
            above = (at - 1) // 2
            if not better(scores[above], ids[above], score, id):
                break
            ids[at], scores[at] = ids[above], scores[above]
            at = above
        ids[at], scores[at] = id, score
        return size + 1
    if better(score, id, scores[0], ids[0]):
        _sift_down(ids, scores, size, 0, id, score)
    return size


@fused
def offer_distinct(ids, scores, size, id, score, maybe_there):
    """As `offer`, but of an id that may be there already the better score is kept."""
    if maybe_there:
        for i in range(size):
            if ids[i] == id:
                if score > scores[i]:
                    _sift_down(ids, scores, size, i, id, score)
                return size
    return offer(ids, scores, size, id, score)


@bare
def sort_best_first(ids, scores, size):
    """Turn the heap into a list by moving the worst to its end, again and again."""
    while size > 1:
        size -= 1
        id, score = ids[size], scores[size]
        ids[size], scores[size] = ids[0], scores[0]
        _sift_down(ids, scores, size, 0, id, score)


@njit(cache=True)
def merge_shards(counts, ks, scores, ids):
    """Where the best hits of all shards are, event by event, and how many each event has.

    `counts` has a row per shard and a column per event, `ks` how many hits an event wants.
    `scores` and `ids` have the hits of the first shard, event after event, each event's best
    first; then those of the next shard.  Equal hits, which only different shards can have, go by
    the order of the shards.
    """
    shards, events = counts.shape
    merged = np.minimum(counts.sum(axis=0), ks)
    chosen = np.empty(merged.sum(), np.int64)
    heads, ends = np.empty(shards, np.int64), np.zeros(shards, np.int64)
    for shard in range(1, shards):
        ends[shard] = ends[shard - 1] + counts[shard - 1].sum()
    at = 0
    for event in range(events):
        for shard in range(shards):
            heads[shard] = ends[shard]
            ends[shard] += counts[shard, event]
        for _ in range(merged[event]):
            best, winner = -1, -1
            for shard in range(shards):
                hit = heads[shard]
                if hit < ends[shard] and (
                    best < 0 or better(scores[hit], ids[hit], scores[best], ids[best])
                ):
                    best, winner = hit, shard
            chosen[at] = best
            heads[winner] += 1
            at += 1
    return merged, chosen
