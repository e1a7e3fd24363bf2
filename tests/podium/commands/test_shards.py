"""`podium shards plan`, as typed."""

import json

import pytest

from configs import load_collection
from tests.oracles.collection import murmur2


@pytest.fixture
def sample(tmp_path):
    file = tmp_path / "ads.jsonl"
    ads = [{"id": f"ad-{age}", "where": {"age": [age, age + 1]}, "score": 1} for age in range(200)]
    file.write_text("".join(json.dumps(ad) + "\n" for ad in ads) + '{"id": "bad"}\n')
    return file


def test_a_plan_says_what_each_shard_holds_and_sees(podium, sample):
    ended = podium("shards", "plan", sample, "--shards", "4")
    assert ended.code == 0, ended.err
    lines = ended.out.splitlines()
    assert lines[0].split()[:2] == ["shard", "subscriptions"]
    assert [line.split()[0] for line in lines[1:5]] == ["0", "1", "2", "3"]
    assert "an event goes to 1." in lines[5]
    assert "a subscription takes " in lines[6]
    assert "`layout: replicated`" in lines[6]
    assert "1 lines left out" in ended.err


def test_a_plan_as_json_and_its_keys_agree(podium, sample, tmp_path):
    out, keys = tmp_path / "plan.json", tmp_path / "keys.tsv"
    ended = podium(
        "shards", "plan", sample, "--shards", "4", "--out", out, "--keys", keys, "--json"
    )
    told = json.loads(ended.out)
    assert told["plan"] == json.loads(out.read_text())
    assert sum(told["expected"]["subscriptions"]) == 200
    assert 50 < told["bytes_a_subscription"] < 5000
    assert told["expected"]["shards_an_event"] == sum(told["expected"]["event_shares"])
    placed = [line.split("\t") for line in keys.read_text().splitlines()]
    homes = [(murmur2(key.encode()) & 0x7FFFFFFF) % 4 for _, key in placed]
    assert [homes.count(shard) for shard in range(4)] == told["expected"]["subscriptions"]


def test_events_of_a_file_are_what_the_shares_are_of(podium, sample, tmp_path):
    events = tmp_path / "events.jsonl"
    events.write_text('{"age": 3}\n{"age": 4}\nnot json\n')
    ended = podium("shards", "plan", sample, "--shards", "2", "--events", events, "--json")
    assert sorted(json.loads(ended.out)["expected"]["event_shares"]) == [0.0, 1.0]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [('{"age": 3}\n', "got no subscription of ads"), ("", "got no subscription of ads")],
    ids=["events", "empty"],
)
def test_a_sample_without_subscriptions_is_refused(podium, tmp_path, content, complaint):
    file = tmp_path / "none.jsonl"
    file.write_text(content)
    ended = podium("shards", "plan", file)
    assert ended.code == 2
    assert complaint in ended.err


def test_a_collection_without_attributes_has_nothing_to_plan_by(podium, sample, tmp_path):
    (tmp_path / "open.yaml").write_text("name: open\nkind: boolean\n")
    ended = podium("shards", "plan", sample, "--collection", "./open.yaml")
    assert ended.code == 2
    assert "names no attributes" in ended.err


@pytest.fixture
def coupons(tmp_path):
    """Around two places far apart, in turn."""
    file = tmp_path / "coupons.jsonl"
    lines = [
        {
            "id": f"c-{i}",
            "area": {"circle": [100 * (i % 2) + i / 1000, 10 + i / 1000, 1000]},
            "tokens": ["pizza"],
        }
        for i in range(200)
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


def test_places_are_planned_by_the_sides_of_areas(podium, coupons, tmp_path):
    asked = "shards", "plan", coupons, "--collection", "coupons", "--shards", "2"
    told = json.loads(podium(*asked, "--json").out)
    assert told["plan"]["attributes"] == ["east", "west", "north", "south", "age"]
    assert told["plan"]["regions"]["attribute"] in ("east", "west")
    assert told["expected"] == {
        "subscriptions": [100, 100],
        "event_shares": [0.5, 0.5],
        "shards_an_event": 1.0,
    }
    events = tmp_path / "events.jsonl"
    events.write_text('{"point": [100.1, 10.1], "text": "pizza"}\n{"text": "pizza"}\n')
    told = json.loads(podium(*asked, "--json", "--events", events).out)
    assert told["expected"]["event_shares"] == [0.0, 1.0]


@pytest.fixture
def ranges(tmp_path):
    file = tmp_path / "watchers.jsonl"
    rows = [{"id": f"w-{low}", "range": [low, low + 5]} for low in range(200)]
    rows += [{"id": "everything", "range": [None, None]}, {"id": "inverted", "range": [2, 1]}]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def test_for_lists_bounds_between_zones_are_proposed(podium, ranges):
    ended = podium("shards", "plan", ranges, "--collection", "parking", "--shards", 4)
    assert ended.code == 0, ended.err
    assert "1 lines left out" in ended.err
    *rows, zones, bounds = ended.out.splitlines()
    assert [row.split()[0] for row in rows] == ["zone", "0", "1", "2", "3"]
    assert (zones, bounds) == ("zones: 4", "zone_bounds: [50.0, 100.0, 150.0]")
    told = podium("shards", "plan", ranges, "--collection", "parking", "--shards", 4, "--json")
    assert json.loads(told.out) == {
        "zone_bounds": [50.0, 100.0, 150.0],
        "subscriptions": [51, 50, 50, 50],
    }


def test_the_proposed_lines_fit_a_collection_file(podium, ranges, tmp_path):
    ended = podium("shards", "plan", ranges, "--collection", "parking", "--shards", 3)
    lines = "\n".join(ended.out.splitlines()[-2:])
    (tmp_path / "road.yaml").write_text(f"name: road\nkind: range_topk\n{lines}\n")
    collection = load_collection(tmp_path / "road.yaml")
    assert (collection.zones, len(collection.zone_bounds)) == (3, 2)


def test_what_goes_with_shards_does_not_go_with_zones(podium, ranges):
    ended = podium("shards", "plan", ranges, "--collection", "parking", "--out", "plan.json")
    assert ended.code == 2
    assert "go with shards, not with zones" in " ".join(ended.err.replace("│", "").split())


def test_a_file_without_ranges_is_refused(podium, sample):
    ended = podium("shards", "plan", sample, "--collection", "parking")
    assert ended.code == 2
    assert "got no subscription of parking" in ended.err
