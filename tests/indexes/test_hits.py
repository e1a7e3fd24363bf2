"""The tie order and what is built on it, against sorting pairs."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from indexes import hits
from indexes.hits import Hit, is_ranked, merge_shards, rank_key, rank_order

ids = st.integers(0, 60)
scores = st.sampled_from([0.0, 0.5, 1.0, 2.0])  # few, so that ties are common
some_hits = st.dictionaries(ids, scores).map(lambda found: list(found.items()))


def by_rank(pair):
    id, score = pair
    return (-score, id)


def columns(pairs):
    return np.array([id for id, _ in pairs], np.int64), np.array([s for _, s in pairs], np.float64)


@njit
def is_better(score, id, other_score, other_id):
    return hits.better(score, id, other_score, other_id)


@njit
def is_better_at(scores, ids, at, score, id):
    return hits.better_at(scores, ids, at, score, id)


@given(one=st.tuples(ids, scores), other=st.tuples(ids, scores))
def test_the_greater_score_is_better_and_of_equal_ones_the_lower_id(one, other):
    (id, score), (other_id, other_score) = one, other
    assert is_better(score, id, other_score, other_id) == (by_rank(one) < by_rank(other))
    columns = np.array([9.0, score]), np.array([0, id])
    assert is_better_at(*columns, 1, other_score, other_id) == (by_rank(one) < by_rank(other))


@njit
def best_offered(hit_ids, hit_scores, ids, scores):
    size = 0
    for i in range(len(hit_ids)):
        size = hits.offer(ids, scores, size, hit_ids[i], hit_scores[i])
    hits.sort_best_first(ids, scores, size)
    return size


@njit
def best_distinct(hit_ids, hit_scores, ids, scores):
    size = 0
    for i in range(len(hit_ids)):
        size = hits.offer_distinct(ids, scores, size, hit_ids[i], hit_scores[i], True)
    hits.sort_best_first(ids, scores, size)
    return size


def best_of(kernel, k, pairs):
    ids, scores = np.full(k, -1), np.full(k, np.nan)  # whatever was there before
    size = kernel(*columns(pairs), ids, scores)
    return list(zip(ids[:size].tolist(), scores[:size].tolist(), strict=True))


@given(k=st.integers(1, 12), data=st.data(), pairs=some_hits)
def test_the_best_are_kept_in_whatever_order_they_come(k, data, pairs):
    order = data.draw(st.permutations(pairs))
    expected = sorted(pairs, key=by_rank)[:k]
    assert best_of(best_offered, k, order) == expected
    assert best_of(best_distinct, k, order) == expected


@given(k=st.integers(1, 12), pairs=st.lists(st.tuples(st.integers(0, 9), scores), max_size=40))
def test_of_an_id_that_comes_again_the_best_score_counts(k, pairs):
    best = {}
    for id, score in pairs:
        best[id] = max(score, best.get(id, 0.0))
    assert best_of(best_distinct, k, pairs) == sorted(best.items(), key=by_rank)[:k]


@given(data=st.data(), pairs=some_hits)
def test_columns_are_put_in_the_order_of_pairs(data, pairs):
    order = data.draw(st.permutations(pairs))
    own_ids, own_scores = columns(order)
    rank = rank_order(own_scores, own_ids)
    expected = sorted(pairs, key=by_rank)
    assert [order[i] for i in rank.tolist()] == expected
    assert is_ranked(own_scores[rank], own_ids[rank])
    assert is_ranked(own_scores, own_ids) == (order == expected)
    assert sorted((Hit(*pair) for pair in order), key=rank_key) == expected


@given(own=st.lists(st.tuples(ids, scores), min_size=1, max_size=1))
def test_a_hit_that_is_there_twice_is_not_ranked(own):
    own_ids, own_scores = columns(own * 2)
    assert not is_ranked(own_scores, own_ids)


@given(data=st.data(), shards=st.integers(1, 4), events=st.integers(0, 5))
def test_shards_are_merged_as_if_all_hits_were_sorted(data, shards, events):
    """Ids are offsets of a shard: another shard may have the same, with the same score."""
    ks = data.draw(st.lists(st.integers(0, 6), min_size=events, max_size=events))
    answers = [
        [sorted(data.draw(some_hits), key=by_rank)[:6] for _ in range(events)]
        for _ in range(shards)
    ]
    all_hits = [hit for answer in answers for found in answer for hit in found]
    places = iter(range(len(all_hits)))
    offered = [[] for _ in range(events)]  # by event: (rank, shard, place)
    for shard, answer in enumerate(answers):
        for event, found in enumerate(answer):
            offered[event] += [(by_rank(hit), shard, next(places)) for hit in found]
    counts = np.array([[len(found) for found in answer] for answer in answers], np.int64)
    own_ids, own_scores = columns(all_hits)
    merged, chosen = merge_shards(
        counts.reshape(shards, events), np.array(ks, np.int64), own_scores, own_ids
    )
    best = [sorted(found)[:k] for found, k in zip(offered, ks, strict=True)]
    assert merged.tolist() == [len(found) for found in best]
    assert chosen.tolist() == [place for found in best for _, _, place in found]
