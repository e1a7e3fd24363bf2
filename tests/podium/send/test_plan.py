"""`podium send --plan`, as typed, with a plan that `podium shards plan` has written."""

import json

import pytest

from tests.oracles.collection import murmur2
from tests.podium.conftest import Topics

SHARDS = 4
KINDS = {
    "ranked": lambda low, high: {"where": {"age": [low, high]}, "score": 1},
    "relaxed": lambda low, high: {"where": {"age": [low, high]}, "weights": {"age": 2}},
    "boolean": lambda low, high: {
        "all": [{"attr": "age", "op": "between", "value": [low, high]}]
    },
}  # fmt: skip


@pytest.fixture
def kind():
    return "ranked"


@pytest.fixture
def planned(podium, broker, unique_name, tmp_path, kind):
    """Topics of four shards, 100 subscriptions in `ads.jsonl`, and their plan in `plan.json`."""
    name = unique_name("ads")
    file = tmp_path / f"{name}.yaml"
    file.write_text(f"name: {name}\nkind: {kind}\nattributes: [age]\nshards: {SHARDS}\n")
    topics = Topics(str(file), name, broker)
    ads = [{"id": f"ad-{age}", **KINDS[kind](age, age + 2)} for age in range(100)]
    (tmp_path / "ads.jsonl").write_text("".join(json.dumps(ad) + "\n" for ad in ads))
    assert podium("topics", "create", *topics.options).code == 0
    made = podium("shards", "plan", "ads.jsonl", "--collection", file, "--out", "plan.json")
    assert made.code == 0, made.err
    return topics


def home(plan, age):
    """The shard of a subscription whose interval has this middle, by hand."""
    region = plan["regions"]
    while region["type"] == "cut":
        region = region["below"] if age <= region["at"] else region["above"]
    return region["shard"]


def murmur2_puts(key, shards):
    return (murmur2(key) & 0x7FFFFFFF) % shards


def live(topics):
    """Ids and ages of the subscriptions in the topic, each with the shard that has it."""
    latest = {m.key(): (m.partition(), m.value()) for m in topics.read("subscriptions")}
    return sorted(
        (key.decode().rpartition("~")[0], shard, json.loads(value)["where"]["age"])
        for key, (shard, value) in latest.items()
        if value is not None
    )


@pytest.mark.parametrize("kind", KINDS)
def test_subscriptions_land_on_the_shards_of_the_plan(podium, planned, tmp_path, kind):
    ended = podium("send", "ads.jsonl", "--plan", "plan.json", *planned.options)
    assert ended.code == 0, ended.err
    plan = json.loads((tmp_path / "plan.json").read_text())
    messages = planned.read("subscriptions")
    assert len(messages) == 100
    for message in messages:
        id, _, number = message.key().decode().rpartition("~")
        age = int(id.removeprefix("ad-"))
        assert json.loads(message.value()) == KINDS[kind](age, age + 2)
        assert message.partition() == home(plan, age + 1) == murmur2_puts(message.key(), SHARDS)
        earlier = [murmur2_puts(b"%s~%d" % (id.encode(), n), SHARDS) for n in range(int(number))]
        assert message.partition() not in earlier
    assert {message.partition() for message in messages} == set(range(SHARDS))


def test_a_plan_that_was_printed_as_json_is_one_too(podium, planned, tmp_path):
    made = podium("shards", "plan", "ads.jsonl", "--collection", planned.file, "--json")
    (tmp_path / "printed.json").write_text(made.out)
    for plan in ("plan.json", "printed.json"):
        assert podium("send", "ads.jsonl", "--plan", plan, *planned.options).code == 0
    keys = [message.key() for message in planned.read("subscriptions")]
    assert all(keys.count(key) == 2 for key in keys)


def test_a_line_with_nothing_but_an_id_unsubscribes_it_wherever_it_is(podium, planned):
    podium("send", "ads.jsonl", "--plan", "plan.json", *planned.options)
    moved = [{"id": "ad-3"}, {"id": "ad-3", **KINDS["ranked"](90, 92)}, {"id": "ad-70"}]
    lines = "".join(json.dumps(line) + "\n" for line in moved).encode()
    ended = podium("send", "-", "--plan", "plan.json", *planned.options, stdin=lines)
    assert ended.code == 0, ended.err
    found = live(planned)
    assert [ages for id, _, ages in found if id == "ad-3"] == [[90, 92]]
    assert len(found) == 99
    assert "ad-70" not in {id for id, _, _ in found}


def test_events_between_subscriptions_are_sent_as_they_are(podium, planned):
    lines = b'{"age": 3}\n{"id": "ad-7"}\n{"age": 4}\n'
    ended = podium("send", "-", "--plan", "plan.json", "--json", *planned.options, stdin=lines)
    assert json.loads(ended.out)["events"] == 2
    sent = sorted(message.value() for message in planned.read("events"))
    assert sent == [b'{"age": 3}', b'{"age": 4}']


def test_a_subscription_that_has_no_place_is_a_bad_line(podium, planned, tmp_path):
    ads = (tmp_path / "ads.jsonl").read_text().splitlines()
    wrong = json.dumps({"id": "wrong", **KINDS["ranked"](3, 2)})
    (tmp_path / "wrong.jsonl").write_text("\n".join([*ads[:10], wrong, *ads[10:]]))
    ended = podium("send", "wrong.jsonl", "--plan", "plan.json", *planned.options)
    assert ended.code == 1
    assert ended.err.startswith("podium: line 11: where.age: got [3.0,2.0], expected low <= high")
    assert "sent 10 subscriptions" in ended.out
    long = json.dumps({"id": "x" * 249, **KINDS["ranked"](2, 3)}).encode()
    ended = podium("send", "-", "--plan", "plan.json", *planned.options, stdin=long)
    assert "got an id of 249 bytes, expected at most 248, because of --plan" in ended.err


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        pytest.param({"collection": "homes"}, "collection: got a plan of homes", id="collection"),
        pytest.param({"shards": 3}, "shards: got a plan of 3, expected 4", id="shards"),
        pytest.param({"attributes": ["pay"]}, "attributes: got a plan of pay", id="attributes"),
        pytest.param(
            {"regions": {"type": "shard", "shard": 4}}, "got shard 4, expected below 4", id="shard"
        ),
        pytest.param(
            {
                "regions": {
                    "type": "cut",
                    "attribute": "pay",
                    "at": 1,
                    "below": {"type": "shard", "shard": 0},
                    "above": {"type": "shard", "shard": 1},
                }
            },
            "got attribute 'pay'",
            id="cut",
        ),
        pytest.param({"regions": None}, "not a plan", id="shape"),
    ],
)
def test_a_plan_of_something_else_is_refused_with_what_to_do(
    podium, planned, tmp_path, changed, complaint
):
    plan = json.loads((tmp_path / "plan.json").read_text())
    (tmp_path / "other.json").write_text(json.dumps({**plan, **changed}))
    ended = podium("send", "ads.jsonl", "--plan", "other.json", *planned.options)
    assert ended.code == 2
    cause, remedy = ended.err.splitlines()
    assert complaint in cause
    assert f"podium shards plan SUBSCRIPTIONS.jsonl --collection {planned.name}" in remedy
    assert planned.read("subscriptions") == []


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b"not json"])
def test_what_is_no_plan_is_refused(podium, tmp_path, content):
    (tmp_path / "plan.json").write_bytes(content)
    ended = podium("send", "-", "--plan", "plan.json")
    assert ended.code == 2
    assert "plan.json: not a plan" in ended.err
    assert "No such file" in podium("send", "-", "--plan", "absent.json").err


def test_a_plan_is_not_for_events(podium):
    ended = podium("send", "-", "--to", "events", "--plan", "plan.json")
    assert ended.code == 2
    assert "--plan is for subscriptions" in ended.err


def test_topics_with_other_partitions_than_the_plan_has_shards_are_refused(
    podium, planned, tmp_path
):
    (tmp_path / f"{planned.name}.yaml").write_text(
        f"name: {planned.name}\nkind: ranked\nattributes: [age]\nshards: 3\n"
    )
    plan = json.loads((tmp_path / "plan.json").read_text())
    part = {"type": "shard", "shard": 0}
    (tmp_path / "plan.json").write_text(json.dumps({**plan, "shards": 3, "regions": part}))
    ended = podium("send", "ads.jsonl", "--plan", "plan.json", *planned.options)
    assert ended.code == 1
    assert "got 4 partitions, expected 3" in ended.err
    assert "declare shards: 4" in ended.err
