"""The schemas, read by a small validator of our own: what they say agrees with the contracts."""

import json
import re
from pathlib import Path

import pytest

import topics
from topics.codecs.json_record import BadRecord
from topics.dead_letters import DeadLetter
from topics.kinds import event_contract
from topics.matches import decode as decode_match
from topics.schemas import all_schemas
from topics.subscriptions import RankedContract, RelaxedContract, SpatialTextContract

TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "number": int | float,
    "integer": int,
    "boolean": bool,
    "null": type(None),
}
# Every word of JSON Schema that `holds` reads, and those that constrain nothing.
READ = {"$ref", "anyOf", "type", "required", "properties", "additionalProperties", "minimum"}
READ |= {"minItems", "maxItems", "prefixItems", "items", "pattern"}
READ |= {"minProperties", "exclusiveMinimum", "enum"}
SILENT = {"$schema", "$defs", "title", "description", "default", "examples", "discriminator"}


def holds(schema, value, root):
    """Whether `value` is what `schema` describes, as JSON Schema 2020-12 has it."""
    if isinstance(schema, bool):
        return schema
    assert schema.keys() <= READ | SILENT, f"the test does not read {schema.keys() - READ - SILENT}"
    if "$ref" in schema and not holds(referred(schema["$ref"], root), value, root):
        return False
    if "anyOf" in schema and not any(holds(one, value, root) for one in schema["anyOf"]):
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if "type" in schema and not is_of_type(value, schema["type"]):
        return False
    if isinstance(value, dict):
        return object_holds(schema, value, root)
    if isinstance(value, list):
        return array_holds(schema, value, root)
    if isinstance(value, str):
        return re.search(schema.get("pattern", ""), value) is not None
    if "exclusiveMinimum" in schema and not value > schema["exclusiveMinimum"]:
        return False
    return "minimum" not in schema or value >= schema["minimum"]


def referred(reference, root):
    assert reference.startswith("#/$defs/")
    return root["$defs"][reference.removeprefix("#/$defs/")]


def is_of_type(value, name):
    return isinstance(value, TYPES[name]) and isinstance(value, bool) == (name == "boolean")


def object_holds(schema, value, root):
    named = schema.get("properties", {})
    others = schema.get("additionalProperties", True)
    return (
        len(value) >= schema.get("minProperties", 0)
        and set(schema.get("required", ())) <= value.keys()
        and all(holds(named.get(name, others), child, root) for name, child in value.items())
    )


def array_holds(schema, value, root):
    first = schema.get("prefixItems", [])
    rest = value[len(first) :]
    return (
        schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value))
        and all(holds(s, child, root) for s, child in zip(first, value, strict=False))
        and all(holds(schema.get("items", True), child, root) for child in rest)
    )


def valid(file, value):
    schema = all_schemas()[file]
    return holds(schema, value, schema)


def test_there_is_a_schema_for_each_record_that_others_write_or_read():
    assert sorted(all_schemas()) == [
        "bases.json",
        "dead_letter_headers.json",
        "events.json",
        "matches.json",
        "matches.range_topk.json",
        "objects.json",
        "progress.json",
        "subscriptions.boolean.json",
        "subscriptions.range_topk.json",
        "subscriptions.ranked.json",
        "subscriptions.relaxed.json",
        "subscriptions.spatial_text.json",
    ]


@pytest.mark.parametrize("file", sorted(all_schemas()))
def test_a_schema_says_its_dialect_and_title_and_is_json(file):
    schema = all_schemas()[file]
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["title"]
    assert json.loads(json.dumps(schema)) == schema


def test_the_files_on_disk_are_these_schemas():
    folder = Path(topics.__file__).parent / "schemas"
    on_disk = {path.name: json.loads(path.read_text("utf-8")) for path in folder.glob("*.json")}
    assert on_disk == all_schemas(), "run `podium schemas` and commit what it writes"


SUBSCRIPTIONS = [
    pytest.param({"where": {"age": [20, 35]}, "score": 7.5}, id="pair"),
    pytest.param({"where": {"age": {"ge": 3, "lt": 9}}, "score": -1}, id="bounds"),
    pytest.param({"where": {"age": [None, 3], "visits": [3, None]}, "score": 0}, id="open-ends"),
    pytest.param({"where": {"age": {"ge": None}}, "score": 0}, id="null-bound"),
    pytest.param({"where": {}, "score": 1}, id="everything"),
    pytest.param({"where": {"age": {}}, "score": 1}, id="no-bound"),
    pytest.param({"score": 1}, id="no-where"),
    pytest.param({"where": {}}, id="no-score"),
    pytest.param({"where": {}, "score": "1"}, id="text-score"),
    pytest.param({"where": {}, "score": True}, id="boolean-score"),
    pytest.param({"where": {}, "score": None}, id="null-score"),
    pytest.param({"where": {}, "score": 1, "weights": {}}, id="unknown-field"),
    pytest.param({"where": [], "score": 1}, id="list-where"),
    pytest.param({"where": {"age": 3}, "score": 1}, id="number-interval"),
    pytest.param({"where": {"age": None}, "score": 1}, id="null-interval"),
    pytest.param({"where": {"age": [1]}, "score": 1}, id="short-pair"),
    pytest.param({"where": {"age": [1, 2, 3]}, "score": 1}, id="long-pair"),
    pytest.param({"where": {"age": [1, "2"]}, "score": 1}, id="text-end"),
    pytest.param({"where": {"age": [True, 2]}, "score": 1}, id="boolean-end"),
    pytest.param({"where": {"age": {"eq": 1}}, "score": 1}, id="unknown-bound"),
    pytest.param({"where": {"age": {"ge": "1"}}, "score": 1}, id="text-bound"),
    pytest.param([], id="list"),
    pytest.param(None, id="null"),
]


def accepts(read, value):
    try:
        read(json.dumps(value).encode())
    except BadRecord:
        return False
    return True


@pytest.mark.parametrize("value", SUBSCRIPTIONS)
def test_the_subscription_schema_accepts_what_the_contract_accepts(value):
    contract = RankedContract(["age", "visits"])
    assert valid("subscriptions.ranked.json", value) == accepts(contract.parse, value)


RELAXED = [
    pytest.param({"where": {"age": [20, 35]}, "weights": {"age": 7.5}}, id="pair"),
    pytest.param({"where": {"age": {"gt": 3}}, "weights": {"age": 1}}, id="bounds"),
    pytest.param(
        {"where": {"age": [1, 2], "visits": [3, None]}, "weights": {"age": 1, "visits": 2}},
        id="two-attributes",
    ),
    pytest.param({"where": {}, "weights": {}}, id="no-interval"),
    pytest.param({"where": {"age": [1, 2]}}, id="no-weights"),
    pytest.param({"where": {"age": [1, 2]}, "weights": {"age": 0}}, id="weight-of-zero"),
    pytest.param({"where": {"age": [1, 2]}, "weights": {"age": -1}}, id="negative-weight"),
    pytest.param({"where": {"age": [1, 2]}, "weights": {"age": "1"}}, id="text-weight"),
    pytest.param({"where": {"age": [1, 2]}, "weights": {"age": None}}, id="null-weight"),
    pytest.param({"where": {"age": [1, 2]}, "weights": 1}, id="one-weight-for-all"),
    pytest.param({"where": {"age": [1, 2]}, "weights": {"age": 1}, "score": 1}, id="a-score"),
]


@pytest.mark.parametrize("value", RELAXED)
def test_the_relaxed_schema_accepts_what_the_contract_accepts(value):
    contract = RelaxedContract(["age", "visits"])
    assert valid("subscriptions.relaxed.json", value) == accepts(contract.parse, value)


BOXED = {"box": [13, 52, 14, 53], "tokens": ["pizza"]}
TRIANGLE = [[[0, 0], [4, 0], [0, 4], [0, 0]]]
CIRCLED = {"area": {"circle": [1, 2, 3]}, "tokens": ["a"]}
PLACED = [
    pytest.param(BOXED, id="box"),
    pytest.param(CIRCLED, id="circle"),
    pytest.param(
        BOXED | {"any": ["b"], "none": ["c"], "phrase": "d e", "score": -2.5}, id="all-words"
    ),
    pytest.param(CIRCLED | {"decay": {"metres": 5, "offset": 1}}, id="decay"),
    pytest.param(BOXED | {"decay": {"metres": 5, "at": [1, 2]}}, id="decay-at"),
    pytest.param(BOXED | {"where": {"age": {"ge": 3}}}, id="where"),
    pytest.param(
        {"area": {"type": "Polygon", "coordinates": TRIANGLE}, "phrase": "a"}, id="polygon"
    ),
    pytest.param(
        {"area": {"type": "MultiPolygon", "coordinates": [TRIANGLE]}, "tokens": ["a"]}, id="several"
    ),
    pytest.param({"area": {"type": "Point", "coordinates": [1, 2]}, "tokens": ["a"]}, id="point"),
    pytest.param({"area": {"circle": [1, 2, -3]}, "tokens": ["a"]}, id="negative-radius"),
    pytest.param({"area": {"circle": [1, 2]}, "tokens": ["a"]}, id="no-radius"),
    pytest.param({"area": {"circle": [1, 2, 3], "type": "Circle"}, "tokens": ["a"]}, id="both"),
    pytest.param(BOXED | {"box": [1, 2, 3]}, id="short-box"),
    pytest.param(BOXED | {"tokens": []}, id="no-tokens"),
    pytest.param(BOXED | {"tokens": ["a"] * 1001}, id="many-tokens"),
    pytest.param(BOXED | {"tokens": "pizza"}, id="text-tokens"),
    pytest.param(CIRCLED | {"decay": {"metres": 0}}, id="no-metres"),
    pytest.param(CIRCLED | {"decay": {"offset": 1}}, id="metres-missing"),
    pytest.param(BOXED | {"colour": 3}, id="unknown-field"),
]


@pytest.mark.parametrize("value", PLACED)
def test_the_schema_of_places_and_words_accepts_what_the_contract_accepts(value):
    contract = SpatialTextContract(["age"])
    assert valid("subscriptions.spatial_text.json", value) == accepts(contract.parse, value)


ATTRIBUTES = [
    pytest.param(28, True, id="number"),
    pytest.param(-2.5, True, id="fraction"),
    pytest.param(None, True, id="null"),
    pytest.param({"value": 28}, True, id="value-alone"),
    pytest.param({"value": 28, "weight": 0.3}, True, id="weighted"),
    pytest.param({"value": 28, "weight": 0}, True, id="weight-of-zero"),
    pytest.param({"value": 28, "weight": -1}, False, id="negative-weight"),
    pytest.param({"value": 28, "weight": None}, False, id="null-weight"),
    pytest.param({"weight": 1}, False, id="no-value"),
    pytest.param({"value": 28, "other": 1}, False, id="unknown-field"),
    pytest.param(True, False, id="boolean"),
    pytest.param("28", False, id="text"),
    pytest.param([28], False, id="list"),
]


@pytest.mark.parametrize(("value", "good"), ATTRIBUTES)
def test_the_attribute_schema_accepts_what_the_contract_accepts(value, good):
    schema = all_schemas()["events.json"]
    assert holds(schema["$defs"]["attribute"], value, schema) is good
    contract = event_contract("ranked", ["age"], k=1, max_k=1, shards=1)
    assert accepts(contract.form.row, {"age": value}) is good


def test_the_event_schema_takes_any_object_and_its_own_examples():
    schema = all_schemas()["events.json"]
    assert schema["examples"]
    for example in schema["examples"]:
        assert valid("events.json", example)
        assert all(holds(schema["$defs"]["attribute"], v, schema) for v in example.values())
    assert valid("events.json", {"page": ["/home"], "anything": {}})
    assert not valid("events.json", [28])


MATCHES = [
    pytest.param({"event": "t[3]@1042", "matches": []}, True, id="no-matches"),
    pytest.param(
        {"event": "a.b[0]@0", "matches": [{"id": "ad-7", "score": 9.1}]}, True, id="a-match"
    ),
    pytest.param({"event": "t[3]@1042"}, False, id="matches-missing"),
    pytest.param({"matches": []}, False, id="event-missing"),
    pytest.param({"event": "t[3]1042", "matches": []}, False, id="event-that-is-no-place"),
    pytest.param({"event": "t[3]@1", "matches": [{"id": "ad-7"}]}, False, id="score-missing"),
    pytest.param({"event": "t[3]@1", "matches": [{"id": 7, "score": 1}]}, False, id="number-id"),
    pytest.param(
        {"event": "t[3]@1", "matches": [{"id": "7", "score": None}]}, False, id="null-score"
    ),
]


@pytest.mark.parametrize(("value", "good"), MATCHES)
def test_the_match_schema_accepts_what_a_consumer_can_decode(value, good):
    assert valid("matches.json", value) is good
    if good:
        assert decode_match(json.dumps(value).encode()).event == value["event"]
    else:
        with pytest.raises(ValueError, match=r"Expected|missing"):
            decode_match(json.dumps(value).encode())


def test_the_headers_of_a_dead_letter_are_those_of_its_schema():
    letter = DeadLetter("t", 0, 7, None, None, [], "value: got …", "value")
    headers = {name: value.decode() for name, value in letter.annotated_headers()}
    assert valid("dead_letter_headers.json", headers)
    schema = all_schemas()["dead_letter_headers.json"]
    assert list(headers) == schema["required"]
    assert schema["properties"].keys() - headers.keys() == {"podium-cut"}
    for name in headers:
        others = {other: text for other, text in headers.items() if other != name}
        assert not valid("dead_letter_headers.json", others)
