"""The checker passes what is right, and refuses each way of being wrong."""

from copy import deepcopy

import pytest

from tests.oracles.range_topk import History, check_life, check_matches

SINCE = "podium.parking.subscriptions[1]@5"


def history():
    """k = 2: four objects; then b gets worse than c, a leaves the range, and d is taken away."""
    found = History(k=2)
    places = [("a", 1, 1), ("b", 2, 2), ("c", 3, 3), ("d", 3, 4)]
    for offset, (id, x, y) in enumerate([*places, ("b", 2, 9), ("a", 7, 1)], start=10):
        found.put(offset, id, {"x": x, "y": y})
    found.put(16, "d", None)
    found.put(17, "c", {"x": 3, "y": 0.5})
    found.put(18, "e", {"x": 8, "y": 0})
    found.subscribe(1, 5, "watch", {"range": [None, 4]})
    return found


def record(seq, objects, listed, changes):
    return {
        "subscription": "watch",
        "since": SINCE,
        "seq": seq,
        "first": seq == 1,
        "objects": f"podium.parking.objects[0]@{objects}",
        "k": 2,
        "list": [{"id": id, "x": x, "y": y} for id, x, y in listed],
        "changes": changes,
    }


A, B, C, D = ("a", 1, 1), ("b", 2, 2), ("c", 3, 3), ("d", 3, 4)


def records():
    """b is pushed out by c, a leaves, d is taken away, and c changes where it is."""
    return [
        record(1, 13, [A, B], []),
        record(2, 14, [A, C], [
            {"op": "leave", "id": "b", "from": 1, "why": "displaced"},
            {"op": "enter", "id": "c", "x": 3, "y": 3, "to": 1},
        ]),
        record(3, 15, [C, D], [
            {"op": "leave", "id": "a", "from": 0, "why": "left"},
            {"op": "enter", "id": "d", "x": 3, "y": 4, "to": 1},
        ]),
        record(4, 16, [C, ("b", 2, 9)], [
            {"op": "leave", "id": "d", "from": 1, "why": "removed"},
            {"op": "enter", "id": "b", "x": 2, "y": 9, "to": 1},
        ]),
        record(5, 17, [("c", 3, 0.5), ("b", 2, 9)], [
            {"op": "update", "id": "c", "x": 3, "y": 0.5, "to": 0},
        ]),
    ]  # fmt: skip


EVERY_RECORD = range(10, 19)


def test_right_records_pass():
    check_life(records(), history(), until=18, group_ends=EVERY_RECORD)
    assert check_matches({"watch": records()}, history(), until=18, group_ends=EVERY_RECORD) == 1


def test_two_objects_that_swap_are_one_move():
    found = history()
    found.put(20, "c", {"x": 3, "y": 9.5})
    move = {"op": "move", "id": "c", "x": 3, "y": 9.5, "from": 0, "to": 1}
    swapped = record(6, 20, [("b", 2, 9), ("c", 3, 9.5)], [move])
    check_life([*records(), swapped], found, until=20)
    also_moved = deepcopy(swapped)
    also_moved["changes"].append({"op": "move", "id": "b", "x": 2, "y": 9, "from": 1, "to": 0})
    with pytest.raises(AssertionError, match="as it was"):
        check_life([*records(), also_moved], found)


def changed(place, **fields):
    def change(found):
        found[place] |= fields

    return change


def changed_at(place, change, **fields):
    def do(found):
        found[place]["changes"][change] |= fields

    return do


@pytest.mark.parametrize(
    ("spoil", "named"),
    [
        pytest.param(lambda r: r.pop(2), "record 3", id="gap"),
        pytest.param(lambda r: r.insert(2, r[1]), "record 3", id="twice"),
        pytest.param(lambda r: r.pop(), "when 18 is in", id="last-one-missing"),
        pytest.param(changed(0, first=False), "record 1", id="first-is-not-said"),
        pytest.param(changed(1, first=True), "record 2", id="first-again"),
        pytest.param(changed(1, k=1), "record 2", id="another-k"),
        pytest.param(changed(1, subscription="w"), "record 2", id="of-another-subscription"),
        pytest.param(changed(1, objects="o[0]@13"), "by brute force", id="too-early"),
        pytest.param(changed(4, objects="o[0]@18"), "17", id="later-than-it-changed"),
        pytest.param(changed(2, list=[]), "by brute force", id="empty"),
        pytest.param(
            lambda r: r[3]["list"].reverse(), "by brute force", id="in-another-order"
        ),
        pytest.param(lambda r: r[3]["changes"].pop(), "record 4", id="change-missing"),
        pytest.param(
            lambda r: r[0]["changes"].append(r[1]["changes"][1]), "record 1", id="first-changes"
        ),
        pytest.param(changed_at(1, 0, why="removed"), "displaced", id="not-removed"),
        pytest.param(changed_at(2, 0, why="displaced"), "left", id="not-displaced"),
        pytest.param(changed_at(3, 0, why="left"), "removed", id="not-left"),
        pytest.param(changed_at(4, 0, op="move", **{"from": 0}), "update", id="moved-in-place"),
        pytest.param(changed_at(1, 0, **{"from": 0}), "not what stands", id="leaves-elsewhere"),
        pytest.param(changed_at(4, 0, to=1), "not what stands", id="updated-elsewhere"),
        pytest.param(changed_at(1, 1, to=2), "behind the end", id="enters-behind-the-end"),
    ],
)  # fmt: skip
def test_a_wrong_life_is_refused(spoil, named):
    found = records()
    spoil(found)
    with pytest.raises(AssertionError, match=named):
        check_life(found, history(), until=18, group_ends=EVERY_RECORD)


def test_a_record_that_changes_nothing_is_refused():
    again = record(6, 18, [("c", 3, 0.5), ("b", 2, 9)], [])
    with pytest.raises(AssertionError, match="is as the one before"):
        check_life([*records(), again], history())


def test_what_comes_and_goes_within_a_group_is_not_missed():
    """c is back in its place by the end of the group."""
    found = history()
    found.put(20, "c", None)
    found.put(21, "c", {"x": 3, "y": 0.5})
    check_life(records(), found, until=21, group_ends=[*EVERY_RECORD, 21])
    with pytest.raises(AssertionError, match="20, 21"):
        check_life(records(), found, until=21, group_ends=[*EVERY_RECORD, 20, 21])


def test_records_that_come_again_are_what_they_were():
    found = records()
    matches = {"watch": [*found[:3], *found[1:4], *found[3:]]}
    assert check_matches(matches, history(), until=18) == 1
    other = {**found[1], "objects": "podium.parking.objects[0]@15"}
    with pytest.raises(AssertionError, match="came again"):
        check_matches({"watch": [*found[:3], other, *found[2:]]}, history(), until=18)
    with pytest.raises(AssertionError, match="comes after"):
        check_matches({"watch": [*found[:3], found[1], *found[3:]]}, history(), until=18)


def test_merged_records_may_come_again_as_later_ones():
    """The record of 15 comes again with what 16 has brought."""
    fifth = records()[-1]
    later = record(3, 16, [C, ("b", 2, 9)], [
        {"op": "leave", "id": "a", "from": 0, "why": "left"},
        {"op": "enter", "id": "b", "x": 2, "y": 9, "to": 1},
    ])  # fmt: skip
    matches = {"watch": [*records()[:3], later, {**fifth, "seq": 4}]}
    assert check_matches(matches, history(), until=18, merged=True) == 1
    with pytest.raises(AssertionError, match="came again"):
        check_matches(matches, history(), until=18)


def test_lives_follow_the_subscriptions():
    """The same key subscribes again, unsubscribes, and its records end with a null."""
    found = history()
    found.subscribe(1, 6, "watch", {"range": [7, 7], "k": 1})
    new = {**record(1, 18, [("a", 7, 1)], []), "since": SINCE.replace("@5", "@6"), "k": 1}
    check_matches({"watch": [*records(), new]}, found, until=18)
    with pytest.raises(AssertionError, match="not since"):
        check_matches({"watch": records()}, found, until=18)
    with pytest.raises(AssertionError, match="has no list"):
        check_matches({}, found, until=18)
    found.subscribe(1, 7, "watch", None)
    check_matches({"watch": [*records()[:4], new, None]}, found, until=18)
    with pytest.raises(AssertionError, match="has unsubscribed"):
        check_matches({"watch": [*records(), new]}, found, until=18)
    with pytest.raises(AssertionError, match="never subscribed"):
        check_matches({"watch": [new, None], "other": [None]}, found, until=18)


def test_a_list_before_there_is_any_object():
    found = History(k=2)
    found.subscribe(1, 5, "watch", {"range": [None, None], "k": 2})
    empty = {**record(1, 0, [], []), "objects": None}
    check_life([empty], found, group_ends=[])
    found.put(3, "a", {"x": 1, "y": 1})
    entered = record(2, 3, [A], [{"op": "enter", "id": "a", "x": 1, "y": 1, "to": 0}])
    check_life([empty, entered], found, until=3, group_ends=[3])
