"""Collections whose shards hold other indexes: other kinds, and one attribute alone."""

from collections.abc import Iterator

import pytest

from configs import load_collection
from tests.fleet.conftest import MakeFleet, fleets_of
from tests.fleet.fleet import Fleet
from tests.fleet.steps import random_steps
from tests.fleet.stream import streaming
from tests.fleet.traffic import eventually

KINDS = {
    "relaxed": {"kind": "relaxed", "attributes": ["age", "visits"]},
    "single": {"kind": "ranked", "attributes": ["age"]},
    "boolean": {
        "kind": "boolean",
        "attributes": ["age", "colour", *load_collection("jobs").attributes],
    },
    "open": {"kind": "boolean", "attributes": []},
}
# Of those that have events of numbers and mixed ones, one each in nodes as well.
KINDS |= {f"{kind}-node": {**KINDS[kind], "layout": "replicated"} for kind in ("single", "open")}


@pytest.fixture(scope="module")
def fleets(make_fleet: MakeFleet, broker: str, redis_url: str) -> Iterator[dict[str, Fleet]]:
    with fleets_of(make_fleet, broker, redis_url, KINDS) as made:
        yield made


@pytest.fixture
def any_kind(fleets: dict[str, Fleet], kind: str) -> Iterator[Fleet]:
    yield fleets[kind]
    fleets[kind].check_all()
    fleets[kind].clear()


@pytest.mark.parametrize("kind", ["relaxed"])
def test_one_interval_is_enough_and_the_weights_of_those_that_hold_add_up(any_kind: Fleet):
    weights = {"age": 2.0, "visits": 0.5}
    any_kind.subscribe_with(
        "both", {"where": {"age": [20, 35], "visits": [3, None]}, "weights": weights}
    )
    any_kind.subscribe_with("young", {"where": {"age": {"lt": 20}}, "weights": {"age": 9}})
    any_kind.subscribe_with("loyal", {"where": {"visits": {"ge": 3}}, "weights": {"visits": 1}})
    assert any_kind.ask({"age": 28, "visits": 3}) == [("both", 2.5), ("loyal", 1.0)]
    assert any_kind.ask({"visits": 7}) == [("loyal", 1.0), ("both", 0.5)]
    assert any_kind.ask({"age": 19, "visits": 1}) == [("young", 9.0)]
    assert any_kind.ask({}) == []


@pytest.mark.parametrize("kind", ["relaxed"])
@pytest.mark.parametrize(
    ("document", "field"),
    [
        ({"where": {"age": [1, 2]}, "score": 3}, "score"),
        ({"where": {"age": [1, 2]}, "weights": {}}, "weights.age"),
        ({"where": {"age": [1, 2]}, "weights": {"age": 0}}, "weights.age"),
        ({"where": {}, "weights": {}}, "where"),
    ],
    ids=["a-score", "no-weight", "zero", "no-interval"],
)
def test_a_bad_relaxed_subscription_is_a_dead_letter(any_kind: Fleet, document: dict, field: str):
    letter = any_kind.letter_of("subscriptions", any_kind.subscribe_with("bad", document))
    assert dict(letter.headers())["podium-error-field"].decode() == field


@pytest.mark.parametrize("kind", ["boolean"])
def test_weights_of_subscription_and_event_are_multiplied_and_added(any_kind: Fleet):
    coast = {"attr": "colour", "op": "in", "value": ["red", "blue"], "weight": 0.5}
    young = {"attr": "age", "op": "<", "value": 30, "weight": 2}
    paid = {"attr": "pay", "op": "between", "value": [10, None]}
    any_kind.subscribe_with("both", {"all": [coast, young]})
    any_kind.subscribe_with("either", {"any": [{"all": [young]}, {"all": [coast, paid]}]})
    any_kind.subscribe_with("not-red", {"all": [{"attr": "colour", "op": "!=", "value": "red"}]})
    any_kind.subscribe_with("seven", {"all": [{"attr": "colour", "op": "=", "value": 7}]})
    assert any_kind.ask({"age": 28, "colour": {"value": "red", "weight": 3}}) == [
        ("both", 3.5),
        ("either", 2.0),
    ]
    assert any_kind.ask({"colour": "blue", "pay": 10}) == [("either", 1.5), ("not-red", 1.0)]
    assert any_kind.ask({"colour": 7, "other": "red"}) == [("seven", 1.0)]
    assert any_kind.ask({"age": 30}) == []


@pytest.mark.parametrize("kind", ["boolean"])
def test_the_job_site_answers_as_its_file_says(any_kind: Fleet):
    coast = {"attr": "state", "op": "in", "value": ["CA", "NY"], "weight": 0.4}
    paid = {"attr": "pay", "op": ">=", "value": 28}
    any_kind.subscribe_with("ann", {"all": [coast, paid]})
    nurse = {"attr": "title", "op": "=", "value": "nurse"}
    hours = {"attr": "hours", "op": "between", "value": [10, 20]}
    elsewhere = {"attr": "state", "op": "!=", "value": "TX"}
    any_kind.subscribe_with("bob", {"any": [{"all": [nurse]}, {"all": [hours, elsewhere]}]})
    offer = {"title": "nurse", "state": "NY", "pay": {"value": 30, "weight": 2}}
    assert any_kind.ask(offer) == [("ann", 2.4), ("bob", 1.0)]


@pytest.mark.parametrize("kind", ["boolean"])
@pytest.mark.parametrize(
    ("predicate", "field"),
    [
        ({"attr": "age", "op": "~", "value": 3}, "all[0].op"),
        ({"attr": "age", "op": "<", "value": "three"}, "all[0].value"),
        ({"attr": "age", "op": "between", "value": [3, 2]}, "all[0].value"),
        ({"attr": "age", "op": "in", "value": []}, "all[0].value"),
        ({"attr": "height", "op": "=", "value": 3}, "all[0].attr"),
        ({"attr": "age", "op": "=", "value": 3, "weight": -1}, "all[0].weight"),
    ],
    ids=["operator", "string", "inverted", "empty", "attribute", "weight"],
)
def test_a_bad_predicate_is_a_dead_letter(any_kind: Fleet, predicate: dict, field: str):
    sent = any_kind.subscribe_with("bad", {"all": [predicate]})
    letter = any_kind.letter_of("subscriptions", sent)
    assert dict(letter.headers())["podium-error-field"].decode() == field


@pytest.mark.parametrize("kind", ["open", "open-node"])
def test_without_named_attributes_every_field_of_an_event_counts(any_kind: Fleet):
    home = {"attr": "page", "op": "=", "value": "/home", "weight": 2}
    any_kind.subscribe_with("page", {"all": [home]})
    any_kind.subscribe_with("new", {"all": [{"attr": "a field", "op": ">", "value": 0.5}]})
    assert any_kind.ask({"page": "/home", "a field": 1, "tags": ["x"], "on": True}) == [
        ("page", 2.0),
        ("new", 1.0),
    ]
    assert any_kind.ask({"page": {"value": "/home", "weight": 0}, "a field": True}) == [
        ("page", 0.0)
    ]


@pytest.mark.parametrize("kind", ["single"])
def test_an_event_without_the_only_attribute_meets_what_does_not_constrain_it(any_kind: Fleet):
    any_kind.subscribe("all", {}, 1)
    any_kind.subscribe("any-age", {"age": [None, None]}, 2)
    any_kind.subscribe("old", {"age": {"gt": 60}}, 3)
    assert any_kind.ask({}) == [("all", 1.0)]
    assert any_kind.ask({"age": 1e308}) == [("old", 3.0), ("any-age", 2.0), ("all", 1.0)]


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("seed", [5, 6])
def test_every_answer_is_the_top_k_of_the_subscriptions_it_names(any_kind: Fleet, seed: int):
    random_steps(any_kind, seed, 400)


@pytest.mark.parametrize("kind", ["single", "single-node"])
def test_answers_stay_right_while_the_index_is_rebuilt_beside(any_kind: Fleet):
    def renewals() -> float:
        return any_kind.metric(any_kind.holder, "podium_index_renewals_total")

    before = renewals()
    with streaming(any_kind, seed=3) as stream:
        for number in range(6000):
            low = number % 97
            any_kind.subscribe(f"many-{number % 4000}", {"age": [low, low + 3]}, number % 11)
        eventually(lambda: renewals() >= before + 2, "a new index in both shards", 60)
        stream.wait_answers(500)
    any_kind.subscribe("best", {"age": [50, 50]}, 99)
    assert any_kind.ask({"age": 50}, k=1) == [("best", 99.0)]
