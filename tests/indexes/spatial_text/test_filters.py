"""What tries and the filter over both indexes look at: less than all, and no more than need be."""

import numpy as np
import pytest

from indexes.spatial_text import LFilter, MBRTrie
from tests.indexes.spatial_text.strategies import Row, oracle_of

ALGORITHMS = ("probe_token_set", "probe_trie", "cost_based")
EVERYWHERE = (-1e9, -1e9, 1e9, 1e9)


def grid_rows(n, vocabulary, seed=5):
    """Boxes of one on a grid of 100 by 100; tokens as frequent as letters are."""
    random = np.random.default_rng(seed)
    weights = 1 / np.arange(1, vocabulary + 1)
    rows = {}
    for id in range(n):
        x, y = random.integers(0, 100, 2).tolist()
        size = int(random.integers(1, 5))
        tokens = random.choice(vocabulary, size, replace=False, p=weights / weights.sum())
        rows[id] = Row((x, y, x + 1, y + 1), [f"t{token}" for token in tokens], float(id % 7))
    return rows


def built(rows, cls=MBRTrie, **options):
    boxes, token_lists, scores = zip(*rows.values(), strict=True)
    return cls.build(list(rows), boxes, token_lists, scores, **options)


def work(trie, box, tokens):
    before = trie.visited, trie.probed, trie.verified
    trie.match(box, tokens)
    return trie.visited - before[0], trie.probed - before[1], trie.verified - before[2]


@pytest.fixture(scope="module")
def rows():
    return grid_rows(2000, 60)


@pytest.fixture(scope="module", params=ALGORITHMS)
def trie(request, rows):
    return built(rows, algorithm=request.param, bucket=4, loose=8)


@pytest.fixture(scope="module")
def l_filter(rows):
    return built(rows, LFilter, bucket=4, loose=8, tau_num=8)


def test_a_box_that_nothing_meets_ends_at_the_root(trie):
    visited, _, verified = work(trie, (500, 500, 501, 501), [f"t{i}" for i in range(60)])
    assert visited == 1
    assert not verified


def test_tokens_that_are_missing_prune_what_is_below_them(trie):
    few = work(trie, EVERYWHERE, ["t0"])
    many = work(trie, EVERYWHERE, [f"t{i}" for i in range(60)])
    assert few[0] < many[0] / 4
    assert few[2] < many[2] / 4


def test_a_place_prunes_what_tokens_do_not(trie):
    tokens = [f"t{i}" for i in range(60)]
    assert work(trie, (50, 50, 50, 50), tokens)[2] < work(trie, EVERYWHERE, tokens)[2] / 4


def test_every_filter_verifies_the_same_and_the_cost_based_one_probes_least(rows):
    for tokens in (["t3"], [f"t{i}" for i in range(0, 60, 2)]):
        done = [work(built(rows, algorithm=a, bucket=4), EVERYWHERE, tokens) for a in ALGORITHMS]
        assert len({(visited, verified) for visited, _, verified in done}) == 1
        probed = [probed for _, probed, _ in done]
        assert min(probed) > 0
        assert probed[2] <= min(probed[:2]) * 3


def test_subscriptions_parted_by_place_are_read_less_than_by_tokens_alone(rows):
    tokens = [f"t{i}" for i in range(60)]
    by_place, by_tokens = (built(rows, bucket=4, by_place=p) for p in (True, False))
    assert (
        work(by_place, (50, 50, 50, 50), tokens)[2] < work(by_tokens, (50, 50, 50, 50), tokens)[2]
    )
    assert by_place.match(EVERYWHERE, tokens) == by_tokens.match(EVERYWHERE, tokens)


def test_the_best_are_found_without_all_matches():
    rows = {id: Row((0, 0, 1, 1), [f"t{id % 40}"], float(id)) for id in range(4000)}
    trie = built(rows, bucket=4)
    tokens = [f"t{i}" for i in range(40)]
    assert trie.top_k(EVERYWHERE, tokens, 3) == [(3999, 3999.0), (3998, 3998.0), (3997, 3997.0)]
    assert trie.verified < 400


def test_runs_are_merged_so_that_there_are_few_and_holes_are_closed():
    trie = MBRTrie(bucket=2, loose=4)
    expected = oracle_of({})
    for start in range(0, 600, 3):
        new = {start + i: Row((i, 0, start % 50, 9), ["a", f"t{start % 11}"]) for i in range(2)}
        if start % 50 >= 1:
            boxes, token_lists, scores = zip(*new.values(), strict=True)
            trie.insert_many(list(new), boxes, token_lists, scores)
            for id, row in new.items():
                expected.insert(id, *row)
    assert 1 < trie.run_count <= 5
    trie.check()
    box, tokens = (0, 0, 30, 3), ["a", "t3", "t5"]
    assert trie.match(box, tokens) == sorted(id for id, _ in expected.top_k(box, tokens, 999))


def test_a_long_message_at_a_place_goes_to_the_quadtree_and_a_short_one_of_all_to_the_trie(
    l_filter,
):
    tokens = [f"t{i}" for i in range(60)]
    before = l_filter.by_trie, l_filter.by_quadtree
    l_filter.match_many([(50, 50, 50, 50)] * 3, [tokens] * 3)
    assert (l_filter.by_trie, l_filter.by_quadtree) == (before[0], before[1] + 3)
    l_filter.match_many([EVERYWHERE] * 2, [["t30"]] * 2)
    assert (l_filter.by_trie, l_filter.by_quadtree) == (before[0] + 2, before[1] + 3)


def test_messages_of_one_batch_take_different_ways_and_come_back_in_order(l_filter, rows):
    expected = oracle_of(rows)
    messages = 400 * [
        ((50, 50, 50, 50), [f"t{i}" for i in range(60)]),
        (EVERYWHERE, ["t30"]),
        ((500, 500, 500, 500), ["t1"]),
        ((20, 20, 22, 22), [f"t{i}" for i in range(40)]),
        (EVERYWHERE, []),
        (EVERYWHERE, ["t31", "t0"]),
    ]
    boxes, token_lists = zip(*messages, strict=True)
    wanted = 400 * [expected.top_k(*message, 2000) for message in messages[:6]]
    before = l_filter.by_trie, l_filter.by_quadtree
    matches = l_filter.match_many(boxes, token_lists)
    assert matches == [sorted(id for id, _ in hits) for hits in wanted]
    assert l_filter.by_trie > before[0]
    assert l_filter.by_quadtree > before[1]
    table = l_filter.top_k_many(boxes, token_lists, 5)
    for i, hits in enumerate(wanted):
        count = table.counts[i]
        assert table.ids[i, :count].tolist() == [id for id, _ in hits[:5]]
