"""What an event is answered with: subscriptions come and go, shards are merged, k is obeyed."""

import math
from typing import Any

import pytest

from tests.fleet.fleet import Fleet
from tests.fleet.traffic import key_on


def test_an_event_gets_the_best_matching_subscriptions_in_score_order(fleet: Fleet):
    for score, age in enumerate([[0, 9], [5, 15], [10, 19], [0, 50], [30, 40]]):
        fleet.subscribe(f"ad-{score}", {"age": age}, score)
    assert fleet.ask({"age": 12, "visits": 1}) == [("ad-3", 3.0), ("ad-2", 2.0), ("ad-1", 1.0)]


def test_every_interval_of_a_subscription_has_to_hold(fleet: Fleet):
    fleet.subscribe("both", {"age": [20, 30], "visits": [3, 9]}, 1)
    assert fleet.ask({"age": 25, "visits": 5}) == [("both", 1.0)]
    assert fleet.ask({"age": 25, "visits": 2}) == []
    assert fleet.ask({"age": 31, "visits": 5}) == []


def test_an_update_of_the_score_changes_the_order(fleet: Fleet):
    fleet.subscribe("a", {"age": [0, 9]}, 1)
    fleet.subscribe("b", {"age": [0, 9]}, 2)
    assert fleet.ask({"age": 5}) == [("b", 2.0), ("a", 1.0)]
    fleet.subscribe("a", {"age": [0, 9]}, 3)
    assert fleet.ask({"age": 5}) == [("a", 3.0), ("b", 2.0)]


def test_an_update_of_the_intervals_replaces_them(fleet: Fleet):
    fleet.subscribe("a", {"age": [0, 9]}, 1)
    fleet.subscribe("a", {"visits": [7, 7]}, 1)
    assert fleet.ask({"age": 5}) == []
    assert fleet.ask({"age": 50, "visits": 7}) == [("a", 1.0)]


def test_an_unsubscribed_one_is_gone_until_it_subscribes_again(fleet: Fleet):
    fleet.subscribe("a", {"age": [0, 9]}, 1)
    fleet.unsubscribe("a")
    assert fleet.ask({"age": 5}) == []
    fleet.subscribe("a", {"age": [0, 9]}, 2)
    assert fleet.ask({"age": 5}) == [("a", 2.0)]


def test_unsubscribing_what_was_never_there_does_nothing(fleet: Fleet):
    fleet.subscribe("a", {}, 1)
    fleet.unsubscribe("nobody")
    fleet.unsubscribe("nobody")
    assert fleet.ask({"age": 5}) == [("a", 1.0)]


def test_the_last_of_many_records_of_one_id_counts(fleet: Fleet):
    for score in range(50):
        fleet.subscribe("a", {"age": [score, score]}, score)
        if score % 3 == 0:
            fleet.unsubscribe("a")
    assert fleet.ask({"age": 48}) == []
    assert fleet.ask({"age": 49}) == [("a", 49.0)]


def test_matches_of_both_shards_are_merged(fleet: Fleet):
    for score in range(4):
        for shard in (0, 1):
            fleet.subscribe(key_on(shard, 2, f"s{shard}-{score}"), {}, 2 * score + shard)
    hits = fleet.ask({}, k=8)
    assert [score for _, score in hits] == [7, 6, 5, 4, 3, 2, 1, 0]
    assert [id[:2] for id, _ in hits] == ["s1", "s0"] * 4


def test_ties_go_to_the_older_record_then_to_the_lower_shard(fleet: Fleet):
    a, b, c, d = (
        key_on(shard, 2, name) for shard, name in ((1, "a"), (0, "b"), (0, "c"), (1, "d"))
    )
    level_the_shards(fleet)
    first = [fleet.subscribe(a, {}, 5), fleet.subscribe(b, {}, 5)]
    fleet.deliver()
    second = [fleet.subscribe(c, {}, 5), fleet.subscribe(d, {}, 5)]
    fleet.deliver()
    assert len({sent.place.offset for sent in first}) == 1
    assert len({sent.place.offset for sent in second}) == 1
    assert fleet.ask({}, k=4) == [(b, 5.0), (a, 5.0), (c, 5.0), (d, 5.0)]
    assert fleet.ask({}, k=1) == [(b, 5.0)]


def level_the_shards(fleet: Fleet) -> None:
    """Bring both partitions of `subscriptions` to the same end."""
    fills = [key_on(shard, 2, "fill") for shard in (0, 1)]
    ends = [fleet.unsubscribe(fill) for fill in fills]
    fleet.deliver(*ends)
    behind = ends[0].place.offset - ends[1].place.offset
    for _ in range(abs(behind)):
        fleet.unsubscribe(fills[1 if behind > 0 else 0])
    fleet.deliver()


def test_an_update_makes_a_subscription_the_youngest_of_its_ties(fleet: Fleet):
    old, new = key_on(0, 2, "old"), key_on(0, 2, "new")
    fleet.subscribe(old, {}, 5)
    fleet.subscribe(new, {}, 5)
    assert fleet.ask({}) == [(old, 5.0), (new, 5.0)]
    fleet.subscribe(old, {}, 5)
    assert fleet.ask({}) == [(new, 5.0), (old, 5.0)]


@pytest.mark.parametrize(
    ("k", "count"),
    [
        pytest.param(None, 3, id="the-collection's-own"),
        pytest.param(0, 0, id="none"),
        pytest.param(1, 1, id="one"),
        pytest.param(12, 12, id="as-many-as-match"),
        pytest.param(17, 12, id="more-than-match"),
        pytest.param(20, 12, id="the-most-allowed"),
    ],
)
def test_the_header_podium_k_says_how_many(fleet: Fleet, k: int | None, count: int):
    for score in range(12):
        fleet.subscribe(f"ad-{score}", {"age": [0, 9]}, score)
    assert [score for _, score in fleet.ask({"age": 5}, k=k)] == list(range(12))[::-1][:count]


def test_events_with_different_k_share_a_frame(fleet: Fleet):
    for score in range(8):
        fleet.subscribe(f"ad-{score}", {}, score)
    token = fleet.token()
    asked = [fleet.publish({}, k=k, after=token, partition=0) for k in (0, 5, 1, 20, 0, 3)]
    assert [len(answer.hits) for answer in fleet.answers_to(asked)] == [0, 5, 1, 8, 0, 3]


@pytest.mark.parametrize(
    ("event", "matched"),
    [
        pytest.param({"age": 5, "visits": 5}, "all age both visits", id="all-attributes"),
        pytest.param({"age": 5}, "all age", id="missing-attribute"),
        pytest.param({"age": 5, "visits": None}, "all age", id="null-attribute"),
        pytest.param({"age": {"value": 5, "weight": 0.3}}, "all age", id="weighted-value"),
        pytest.param({"age": {"value": 5}}, "all age", id="weighted-value-without-weight"),
        pytest.param(
            {"page": "/home", "tags": ["a", {"b": None}], "visits": 5, "deep": {"age": 5}},
            "all visits",
            id="extra-fields",
        ),
        pytest.param({}, "all", id="no-attributes"),
        pytest.param({"Age": 5, "": 1}, "all", id="names-are-exact"),
        pytest.param({"age": 5.000001, "visits": 4.999999}, "all", id="just-outside"),
        pytest.param({"age": 5.0, "visits": 50e-1}, "all age both visits", id="floats"),
    ],
)
def test_an_event_matches_by_the_attributes_it_has(fleet: Fleet, event: dict, matched: str):
    fleet.subscribe("all", {}, 4)
    fleet.subscribe("age", {"age": [5, 5]}, 3)
    fleet.subscribe("both", {"age": [0, 5], "visits": [5, 9]}, 2)
    fleet.subscribe("visits", {"visits": [5, 5]}, 1)
    assert [id for id, _ in fleet.ask(event, k=10)] == matched.split()


BELOW_20, ABOVE_20 = math.nextafter(20, 0), math.nextafter(20, 99)


@pytest.mark.parametrize(
    ("interval", "inside", "outside"),
    [
        pytest.param([20, 30], [20, 30, 25.5], [BELOW_20, 30.001], id="closed"),
        pytest.param([20, 20], [20], [BELOW_20, ABOVE_20], id="one-value"),
        pytest.param([20, None], [20, 1e308], [BELOW_20, -1e308], id="null-high"),
        pytest.param([None, 20], [20, -1e308], [ABOVE_20, 1e308], id="null-low"),
        pytest.param([None, None], [0, -1e308, 1e308], [], id="null-ends"),
        pytest.param({"ge": 20}, [20, 1e308], [BELOW_20], id="ge"),
        pytest.param({"gt": 20}, [ABOVE_20, 1e308], [20, BELOW_20], id="gt"),
        pytest.param({"le": 20}, [20, -5], [ABOVE_20], id="le"),
        pytest.param({"lt": 20}, [BELOW_20, -5], [20, ABOVE_20], id="lt"),
        pytest.param({"gt": 20, "lt": 30}, [ABOVE_20, 29.9], [20, 30], id="gt-lt"),
        pytest.param({"ge": 20, "lt": 30}, [20, 29.9], [30, BELOW_20], id="ge-lt"),
        pytest.param({"gt": 20, "le": 30}, [ABOVE_20, 30], [20, 30.1], id="gt-le"),
        pytest.param({"ge": 20, "le": None}, [20, 1e308], [BELOW_20], id="null-bound"),
        pytest.param({"ge": 10, "gt": 20, "le": 30, "lt": 40}, [ABOVE_20, 30], [20, 31], id="all"),
        pytest.param({}, [0, -1e308, 1e308], [], id="no-bound"),
        pytest.param([-0.0, 0.0], [0, -0.0], [5e-324, -5e-324], id="zeros"),
    ],
)
def test_an_interval_holds_exactly_its_values(
    fleet: Fleet, interval: Any, inside: list[float], outside: list[float]
):
    fleet.subscribe("a", {"age": interval}, 1)
    token = fleet.token()
    asked = [fleet.publish({"age": value}, after=token) for value in [*inside, *outside]]
    asked.append(fleet.publish({}, after=token))  # an unbounded interval still needs the attribute
    answers = [bool(answer.hits) for answer in fleet.answers_to(asked)]
    assert answers == [True] * len(inside) + [False] * len(outside) + [False]


SCORES = [1e308, 12345678901234567, 1e16, 7.5, 0.1, 1e-7, 5e-324, 0.0, -5e-324, -1.5, -1e308]


def test_scores_come_back_to_the_last_digit(fleet: Fleet):
    for number, score in enumerate(SCORES):
        fleet.subscribe(f"ad-{number}", {}, score)
    assert [score for _, score in fleet.ask({}, k=20)] == [float(score) for score in SCORES]


IDS = [
    'quote"s',
    "back\\slash",
    "new\nline\ttab",
    "\x00\x1f",
    "naïve",
    "日本",
    "🎉",
    " ",
    "x" * 256,
]


def test_any_utf_8_text_is_an_id_and_comes_back_as_it_was(fleet: Fleet):
    for score, id in enumerate(IDS):
        fleet.subscribe(id, {}, score)
    assert [id for id, _ in fleet.ask({}, k=20)] == IDS[::-1]


@pytest.mark.parametrize(
    "key",
    [
        pytest.param(None, id="null"),
        pytest.param(b"", id="empty"),
        pytest.param(b"visitor-7", id="text"),
        pytest.param(bytes(range(256)), id="binary"),
        pytest.param(b"k" * 200_000, id="long"),
    ],
)
def test_the_key_of_an_event_becomes_the_key_of_its_record(fleet: Fleet, key: bytes | None):
    fleet.subscribe("a", {}, 1)
    token = fleet.token()
    beside = [fleet.publish({}, b"before", after=token, partition=1)]
    asked = fleet.publish({}, key, after=token, partition=1)
    beside.append(fleet.publish({}, b"after", after=token, partition=1))
    assert fleet.answer_to(asked).key == key
    assert [answer.key for answer in fleet.answers_to(beside)] == [b"before", b"after"]


def test_a_match_record_names_its_event_and_the_subscriptions_it_was_made_from(fleet: Fleet):
    last = {shard: fleet.subscribe(key_on(shard, 2, "s"), {}, shard) for shard in (0, 1)}
    asked = fleet.publish({"age": 1}, after=fleet.token())
    answer = fleet.answer_to(asked)
    assert answer.event == asked.place
    assert answer.as_of == [last[shard].place.offset for shard in (0, 1)]
    assert answer.hits == [(last[1].key.decode(), 1.0), (last[0].key.decode(), 0.0)]


def test_events_of_every_partition_are_answered(fleet: Fleet):
    fleet.subscribe("a", {"age": [0, 9]}, 1)
    token = fleet.token()
    asked = [
        fleet.publish({"age": age}, key=b"%d" % age, after=token, partition=partition)
        for partition in range(4)
        for age in range(25)
    ]
    answers = fleet.answers_to(asked)
    assert {answer.event.partition for answer in answers} == {0, 1, 2, 3}
    assert [len(answer.hits) for answer in answers] == ([1] * 10 + [0] * 15) * 4


def test_a_frame_of_many_events_and_subscriptions_is_answered_like_single_ones(fleet: Fleet):
    for number in range(300):
        low = number % 37
        fleet.subscribe(f"ad-{number}", {"age": [low, low + number % 11]}, number % 13)
    token = fleet.token()
    for number in range(2000):
        fleet.publish({"age": number % 50, "visits": 1}, b"%d" % number, number % 7, token)
    fleet.check_all()
