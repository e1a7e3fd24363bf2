"""What a judge says of one event and one subscription is what the oracle says, and why."""

import json
import random
from typing import Any

import pytest

from tests.oracles import collection as oracle
from topics.judgement import Check
from topics.kinds import KINDS, contract_for, event_form

ATTRIBUTES = ("age", "visits")


def judged(kind: str, subscription: dict, event: dict, attributes=ATTRIBUTES) -> Any:
    judge = KINDS[kind].judge
    assert judge is not None
    parsed = contract_for(kind, attributes).parse(json.dumps(subscription).encode())
    row = event_form(kind, attributes).row(json.dumps(event).encode())
    return judge(attributes, parsed, row)


def some_interval(chance: random.Random) -> Any:
    low = chance.randint(0, 3)
    high = low + chance.randint(0, 2)
    return chance.choice(
        [
            [low, high],
            [None, high],
            [low, None],
            {"gt": low},
            {"ge": low, "lt": high + 1},
            [None] * 2,
        ]
    )


def some_predicate(chance: random.Random) -> dict:
    op = chance.choice(["<", "<=", "=", "!=", ">=", ">", "in", "not in", "between"])
    words = chance.random() < 0.4
    one = chance.choice(["red", "blue"]) if words else chance.randint(0, 4)
    value: Any = one
    if op in ("in", "not in"):
        value = [one, "green" if words else 2]
    elif op == "between":
        value = chance.choice([[1, 3], [None, 2], [2, None]])
    elif op not in ("=", "!="):
        value = chance.randint(0, 4)
    weight = chance.choice([0.0, 0.5, 2.0])
    return {"attr": chance.choice(ATTRIBUTES), "op": op, "value": value, "weight": weight}


def some_subscription(kind: str, chance: random.Random) -> dict:
    where = {name: some_interval(chance) for name in ATTRIBUTES if chance.random() < 0.7}
    if kind == "ranked":
        return {"where": where, "score": chance.randint(0, 9)}
    if kind == "relaxed":
        where = where or {"age": [1, 2]}
        return {"where": where, "weights": {name: chance.choice([0.5, 2.0]) for name in where}}
    conjunctions = [
        [some_predicate(chance) for _ in range(chance.randint(1, 3))]
        for _ in range(chance.randint(1, 2))
    ]
    if len(conjunctions) == 1:
        return {"all": conjunctions[0]}
    return {"any": [{"all": predicates} for predicates in conjunctions]}


def some_event(kind: str, chance: random.Random) -> dict:
    values = {}
    for name in ATTRIBUTES:
        value: Any = chance.randint(0, 4)
        if kind == "boolean" and chance.random() < 0.4:
            value = chance.choice(["red", "blue"])
        values[name] = chance.choice([value, {"value": value, "weight": 0.5}, None])
    return {name: value for name, value in values.items() if chance.random() < 0.9}


@pytest.mark.parametrize("kind", ["ranked", "relaxed", "boolean"])
def test_a_judge_and_the_oracle_agree(kind: str):
    chance = random.Random(11)
    slow = oracle.KINDS[kind]
    held = 0
    for _ in range(3000):
        subscription, event = some_subscription(kind, chance), some_event(kind, chance)
        parsed = slow.parse(json.dumps(subscription).encode(), ATTRIBUTES)
        wanted = slow.score(parsed, slow.values(event, ATTRIBUTES), ATTRIBUTES)
        found = judged(kind, subscription, event)
        assert found.holds == (wanted is not None), (subscription, event)
        assert found.score == (None if wanted is None else pytest.approx(wanted))
        held += found.holds
    assert 300 < held < 2700


def test_an_interval_is_told_in_words_with_what_the_event_has():
    where = {"age": {"gt": 20, "lt": 30}, "visits": [None, 3]}
    found = judged("ranked", {"where": where, "score": 1}, {"age": 20})
    assert found.checks == [
        Check("age", "20.000000000000004 to 29.999999999999996", 20.0, False),
        Check("visits", "3.0 or less", None, False),
    ]
    assert found.score is None


def test_predicates_are_told_alternative_by_alternative():
    colours = {"attr": "age", "op": "in", "value": ["red", "blue"], "weight": 2}
    busy = {"attr": "visits", "op": ">=", "value": 3}
    document = {"any": [{"all": [colours]}, {"all": [colours, busy]}]}
    found = judged("boolean", document, {"age": {"value": "red", "weight": 0.5}, "visits": 9})
    assert found.score == 2.0
    assert found.checks == [
        Check("age", "in 'red', 'blue'", "red", True, 1.0, 0),
        Check("age", "in 'red', 'blue'", "red", True, 1.0, 1),
        Check("visits", ">= 3.0", 9.0, True, 1.0, 1),
    ]
