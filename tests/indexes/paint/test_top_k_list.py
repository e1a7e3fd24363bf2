"""The list of one subscriber: what a message does to it."""

from types import SimpleNamespace

import pytest

from indexes.paint import Message, NamedTopKList, TopKList
from tests.oracles.paint import INF


def told(x, y):
    return Message(x, x, -INF, INF, x, y)


def after(k, items, *messages):
    subscriber = TopKList(k, items)
    for x, y in messages:
        subscriber.apply(told(x, y))
    return list(subscriber.items)


def test_a_new_list_is_empty():
    assert list(TopKList(3).items) == []


def test_items_are_shown_best_first_and_ties_go_to_the_lower_x():
    assert after(3, [], (5.0, 2.0), (9.0, 1.0), (3.0, 2.0)) == [(9, 1), (3, 2), (5, 2)]


def test_what_a_list_starts_with_need_not_be_in_order():
    assert after(3, [(5.0, 2.0), (9.0, 1.0), (3.0, 2.0)]) == [(9, 1), (3, 2), (5, 2)]


@pytest.mark.parametrize(
    ("messages", "items"),
    [
        pytest.param([(3.0, 5.0)], [(3, 5), (1, 10)], id="better-pushes-the-last-out"),
        pytest.param([(3.0, 25.0)], [(1, 10), (2, 20)], id="worse-is-ignored"),
        pytest.param([(3.0, 20.0)], [(1, 10), (2, 20)], id="tie-with-a-lower-x-is-ignored"),
        pytest.param([(0.0, 20.0)], [(1, 10), (0, 20)], id="tie-with-a-higher-x-wins"),
        pytest.param([(2.0, 5.0)], [(2, 5), (1, 10)], id="known-object-gets-better"),
        pytest.param([(1.0, 30.0)], [(2, 20), (1, 30)], id="known-object-gets-worse-and-stays"),
        pytest.param([(1.0, 30.0), (3.0, 25.0)], [(2, 20), (3, 25)], id="then-is-pushed-out"),
        pytest.param([(1.0, 10.0)], [(1, 10), (2, 20)], id="known-and-unchanged"),
        pytest.param([(1.0, INF)], [(2, 20)], id="removed"),
        pytest.param([(3.0, INF)], [(1, 10), (2, 20)], id="unknown-and-removed"),
        pytest.param([(1.0, INF), (3.0, 99.0)], [(2, 20), (3, 99)], id="removed-then-replaced"),
        pytest.param([(1.0, INF), (1.0, 40.0)], [(2, 20), (1, 40)], id="removed-then-back"),
        pytest.param([(1.0, INF), (2.0, INF)], [], id="all-removed"),
    ],
)
def test_a_message_to_a_list_of_two(messages, items):
    assert after(2, [(1.0, 10.0), (2.0, 20.0)], *messages) == items


def test_a_list_shorter_than_k_takes_anything():
    assert after(3, [(1.0, 10.0)], (7.0, 1e9)) == [(1, 10), (7, 1e9)]


def test_whom_a_message_is_for_is_not_the_lists_business():
    """It keeps no range; any message that is delivered is applied, a box of 1.5 dimensions too."""
    box = SimpleNamespace(
        inner_low=0.0, inner_high=0.0, outer_low=-INF, outer_high=INF,
        z_low=0.0, z_high=1.0, x=4.0, z=1.0, y=2.0,
    )  # fmt: skip
    subscriber = TopKList(1, [(1.0, 3.0)])
    subscriber.apply(box)
    assert list(subscriber.items) == [(4, 2)]


def test_what_is_shown_is_a_copy_of_plain_numbers():
    subscriber = TopKList(2, [(1, 10)])
    shown = subscriber.items
    subscriber.apply(told(2.0, 5.0))
    assert list(shown) == [(1, 10)]
    for item in subscriber.items:
        assert type(item) is tuple
        assert all(isinstance(part, float | int) for part in item)


@pytest.mark.parametrize("k", [0, -1])
def test_a_k_below_one_is_refused(k):
    with pytest.raises(ValueError, match=str(k)):
        TopKList(k)


def test_objects_with_ids_may_share_a_place_and_keep_their_order():
    best = NamedTopKList(3, [("b", 2.0, 1.0), ("a", 2.0, 1.0)])
    best.apply(SimpleNamespace(id="c", x=1.0, y=1.0))
    assert best.items == [("c", 1.0, 1.0), ("a", 2.0, 1.0), ("b", 2.0, 1.0)]
    best.apply(SimpleNamespace(id="d", x=9.0, y=0.5))
    assert [id for id, _, _ in best.items] == ["d", "c", "a"]
    best.apply(SimpleNamespace(id="a", x=5.0, y=0.1))
    assert best.items[0] == ("a", 5.0, 0.1)
    best.apply(SimpleNamespace(id="d", x=9.0, y=INF))
    best.apply(SimpleNamespace(id="unknown", x=9.0, y=INF))
    assert [id for id, _, _ in best.items] == ["a", "c"]


def test_one_that_wants_fewer_shows_fewer_and_keeps_all():
    best = NamedTopKList(2, [("a", 1.0, 1.0), ("b", 1.0, 2.0)], own_k=1)
    best.apply(SimpleNamespace(id="a", x=1.0, y=INF))
    assert best.items == [("b", 1.0, 2.0)]
