"""Plans that place subscriptions by likeness."""

from itertools import count

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexes.boxes import SubscriptionBoxes
from tests.oracles.collection import murmur2
from workers.routing.placement import Plan, expected_of, keys_on, make_plan, middles_of

INF = float("inf")
ATTRIBUTES = ("age", "visits")


def boxes_of(*ends):
    """Boxes given as (low, high) of each attribute, one a subscription."""
    table = np.array(ends, np.float64).reshape(-1, 2, 2)
    rows = np.arange(len(table))
    return SubscriptionBoxes(
        rows, np.zeros_like(rows), table[:, :, 0].copy(), table[:, :, 1].copy()
    )


def planned(boxes, events, shards):
    middles = middles_of(boxes, len(boxes.ids))
    plan = make_plan("ads", ATTRIBUTES, shards, boxes, middles, events)
    return plan, expected_of(plan, boxes, middles, events)


def test_narrow_subscriptions_are_parted_so_that_an_event_goes_to_few_shards():
    random = np.random.default_rng(1)
    ages = random.uniform(0, 100, 2000)
    boxes = boxes_of(*[((age, age + 1), (-INF, INF)) for age in ages])
    events = np.stack((random.uniform(0, 100, 500), np.full(500, np.nan)), axis=1)
    _, brings = planned(boxes, events, 8)
    assert brings.shards_an_event < 8 / 3
    assert brings.subscriptions.sum() == 2000
    assert brings.subscriptions.max() < 2 * 2000 / 8


def test_those_that_ask_for_nothing_are_kept_together():
    narrow = [((age, age + 1), (-INF, INF)) for age in range(30)]
    wide = [((-INF, INF), (-INF, INF))] * 4
    events = np.stack((np.arange(30) + 0.5, np.zeros(30)), axis=1)
    plan, brings = planned(boxes_of(*narrow, *wide), events, 4)
    assert {plan.shard_of(np.array([INF, INF]))} == {3}
    assert (brings.event_shares[:3] < 0.5).all()


def test_subscriptions_that_are_all_alike_stay_on_one_shard():
    plan, brings = planned(boxes_of(*[((1, 2), (3, 4))] * 10), np.array([[1.5, 3.5]]), 4)
    assert brings.subscriptions.tolist() == [10, 0, 0, 0]
    assert brings.shards_an_event == 1.0
    assert plan.shard_of(np.array([99.0, 99.0])) == 0


def holds(box, point):
    return all(low <= x <= high for (low, high), x in zip(box, point, strict=True))


ends = st.one_of(st.just((-INF, INF)), st.tuples(st.integers(0, 9), st.integers(0, 3)))


@settings(max_examples=60, deadline=None)
@given(
    drawn=st.lists(st.tuples(ends, ends), min_size=1, max_size=30),
    shards=st.integers(1, 7),
    points=st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=10),
)
def test_a_plan_gives_every_subscription_a_shard_and_counts_what_they_see(drawn, shards, points):
    closed = [[(a, b) if a == -INF else (a, a + b) for a, b in one] for one in drawn]
    boxes, events = boxes_of(*closed), np.array(points, np.float64).reshape(-1, 2)
    plan, brings = planned(boxes, events, shards)
    middles = middles_of(boxes, len(closed))
    homes = [plan.shard_of(row) for row in middles]
    assert brings.subscriptions.tolist() == [homes.count(shard) for shard in range(shards)]
    for shard in range(shards):
        held = [one for one, home in zip(closed, homes, strict=True) if home == shard]
        seen = [any(holds(one, point) for one in held) for point in points]
        assert brings.event_shares[shard] == pytest.approx(np.mean(seen) if seen else 0.0)


@given(
    ids=st.lists(st.text(min_size=1, max_size=8), max_size=4),
    shards=st.integers(1, 9),
    data=st.data(),
)
def test_a_key_has_the_least_number_that_lies_on_its_shard(ids, shards, data):
    homes = [data.draw(st.integers(0, shards - 1)) for _ in ids]
    for id, home, key in zip(ids, homes, keys_on(ids, homes, shards), strict=True):
        tried = (f"{id}~{n}" for n in count())
        assert key == next(k for k in tried if (murmur2(k.encode()) & 0x7FFFFFFF) % shards == home)


def test_a_plan_survives_its_file():
    plan, _ = planned(boxes_of(((1, 2), (3, 4)), ((5, 6), (3, 4))), np.zeros((1, 2)), 2)
    assert msgspec.json.decode(msgspec.json.encode(plan), type=Plan) == plan
