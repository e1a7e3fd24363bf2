"""Boolean subscriptions: what is read, what is refused, and where it says the fault lies."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles import boolean as oracle
from topics.codecs.json_record import BadRecord
from topics.kinds import contract_for
from topics.subscriptions import BooleanContract
from topics.subscriptions.boolean import MAX_PREDICATES

NAMED, OPEN = BooleanContract(["age", "colour"]), BooleanContract([])

scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 2), st.just(10**400), st.sampled_from(["red", ""])
)
predicates = st.fixed_dictionaries(
    {
        "attr": st.sampled_from(["age", "colour", "height", 3, "x" * 257]),
        "op": st.sampled_from(["<", "<=", "=", "!=", ">=", ">", "in", "not in", "between", "~"]),
        "value": scalars | st.lists(scalars, max_size=3),
    },
    optional={"weight": st.sampled_from([0, 1, 0.5, -1, None, True, 1e100, 1e101])},
)
likely = st.fixed_dictionaries(
    {
        "attr": st.sampled_from(["age", "colour"]),
        "op": st.sampled_from(["<", "=", "!=", "in", "not in", "between"]),
        "value": st.integers(-2, 2) | st.lists(st.integers(-2, 2), min_size=1, max_size=3),
    }
)
conjunctions = st.lists(predicates | likely, max_size=2)
documents = st.one_of(
    st.fixed_dictionaries({"all": conjunctions}),
    st.fixed_dictionaries({"any": st.lists(st.fixed_dictionaries({"all": conjunctions}))}),
    st.fixed_dictionaries({}, optional={"all": conjunctions, "any": st.just([]), "k": st.just(1)}),
)


@pytest.mark.parametrize("contract", [NAMED, OPEN], ids=["named", "open"])
@given(document=documents)
def test_a_subscription_is_read_or_refused_as_the_oracle_does(contract, document):
    value = json.dumps(document).encode()
    try:
        wanted = oracle.boolean_subscription(value, contract.attributes)
    except ValueError:
        with pytest.raises(BadRecord):
            contract.parse(value)
        return
    assert [[shown(one) for one in terms] for terms in contract.parse(value)] == wanted


@given(st.lists(st.builds(dict, all=st.lists(likely, min_size=1, max_size=2)), max_size=4))
def test_stored_subscriptions_are_those_that_were_parsed(documents):
    rows = []
    for document in documents:
        try:
            rows.append(OPEN.parse(json.dumps(document).encode()))
        except BadRecord:
            continue
    columns = OPEN.columns(rows)
    arrays = OPEN.to_arrays(columns)
    assert all(array.dtype == "u1" for array in arrays.values())
    assert OPEN.from_arrays(arrays).expressions.tolist() == columns.expressions.tolist()


def test_open_ends_and_names_of_any_kind_are_stored():
    terms = [
        {"attr": 'a\n"', "op": "between", "value": [None, 3], "weight": 0},
        {"attr": "größe", "op": "between", "value": [None, None]},
        {"attr": "", "op": "not in", "value": ["\u2028", "\x00", "\n"]},
    ]
    value = json.dumps({"any": [{"all": terms}, {"all": terms[:1]}]}).encode()
    columns = OPEN.columns([OPEN.parse(value)] * 2)
    assert OPEN.from_arrays(OPEN.to_arrays(columns)).expressions.tolist() == [OPEN.parse(value)] * 2


def shown(term):
    return term.attribute, term.op, term.value, term.weight


@pytest.mark.parametrize(
    ("value", "field", "problem"),
    [
        pytest.param(b"{}", "value", "got neither of all and any", id="neither"),
        pytest.param(
            b'{"all": [{"attr": "age", "op": "=", "value": 1}], "any": [{"all": ['
            b'{"attr": "age", "op": "=", "value": 1}]}]}',
            "value",
            "got both",
            id="both",
        ),
        pytest.param(b'{"all": []}', "all", "expected array of length >= 1", id="empty"),
        pytest.param(
            b'{"any": [{"all": [{"attr": "age", "op": "<", "value": "x"}]}]}',
            "any[0].all[0].value",
            "expected float, got str",
            id="string-in-order",
        ),
        pytest.param(
            b'{"all": [{"attr": "age", "op": "=", "value": 1},'
            b' {"attr": "pay", "op": "=", "value": 1}]}',
            "all[1].attr",
            "got 'pay', expected one of age, colour",
            id="unknown-attribute",
        ),
        pytest.param(
            b'{"all": [{"attr": "age", "op": "in", "value": [1, "x"]}]}',
            "all[0].value",
            "got 1.0 and 'x'",
            id="mixed-list",
        ),
        pytest.param(
            b'{"all": [{"attr": "age", "op": "between", "value": [3, 2]}]}',
            "all[0].value",
            "got [3, 2], expected low <= high",
            id="inverted",
        ),
    ],
)
def test_a_refusal_says_where_and_what_was_expected(value, field, problem):
    with pytest.raises(BadRecord) as caught:
        NAMED.parse(value)
    assert caught.value.field == field
    assert problem in str(caught.value)


def test_a_conjunction_may_be_long_but_not_endless():
    one = {"attr": "age", "op": "!=", "value": 1}
    assert len(NAMED.parse(json.dumps({"all": [one] * MAX_PREDICATES}).encode())[0]) == 1000
    with pytest.raises(BadRecord, match="length <= 1000"):
        NAMED.parse(json.dumps({"all": [one] * (MAX_PREDICATES + 1)}).encode())


def test_the_contract_of_a_kind_is_found_by_its_name():
    contract = contract_for("boolean", ["age"])
    assert isinstance(contract, BooleanContract)
    rows = [contract.parse(b'{"all": [{"attr": "age", "op": "=", "value": 1}]}')] * 2
    (expressions,) = contract.columns(rows)
    assert expressions.shape == (2,)
    assert list(expressions) == rows
