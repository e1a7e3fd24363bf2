"""Kind `spatial_text` through a real broker: places, words, churn and a killed matcher."""

from collections.abc import Iterator

import pytest
import yaml

from tests.fleet.conftest import MakeFleet, fleets_of
from tests.fleet.fleet import ROLES, SOON_MISSED, Fleet
from tests.fleet.steps import random_steps
from tests.fleet.traffic import eventually

PLACES = {"kind": "spatial_text", "stemmer": "english"}
KINDS = {
    "sphere": {
        **PLACES,
        "attributes": ["age"],
        "shards": 3,
        "routing": {"enabled": True, "every_ms": 20},
    },
    "plane": {**PLACES, "attributes": [], "space": "plane"},
}
OFTEN = {"snapshots": {"every_s": 0.5, "least_changes": 1}, **SOON_MISSED}


@pytest.fixture(scope="module")
def fleets(make_fleet: MakeFleet, broker: str, redis_url: str) -> Iterator[dict[str, Fleet]]:
    with fleets_of(make_fleet, broker, redis_url, KINDS, settings=OFTEN) as made:
        for fleet in made.values():
            fleet.patience_s = 120.0
        yield made


@pytest.fixture
def placed(fleets: dict[str, Fleet], kind: str) -> Iterator[Fleet]:
    yield fleets[kind]
    fleets[kind].check_all(repeats=True)
    fleets[kind].clear()


on_the_sphere = pytest.mark.parametrize("kind", ["sphere"])


@on_the_sphere
def test_an_area_and_words_find_a_message(placed: Fleet):
    mitte = {"circle": [13.405, 52.52, 1500]}
    placed.subscribe_with("near", {"area": mitte, "tokens": ["Pizza"], "score": 2})
    placed.subscribe_with(
        "adults", {"area": mitte, "phrase": "happy hours", "where": {"age": [18, None]}}
    )
    unfrozen = {"tokens": ["pizza"], "none": ["frozen"], "score": 0.5}
    placed.subscribe_with("box", {"box": [13, 52, 14, 53], **unfrozen})
    placed.subscribe_with("far", {"area": {"circle": [13.405, 52.6, 1500]}, "tokens": ["pizza"]})
    here = {"point": [13.41, 52.521]}
    assert placed.ask({**here, "text": "Pizzas before the HAPPY hour?", "age": 31}) == [
        ("near", 2.0),
        ("adults", 1.0),
        ("box", 0.5),
    ]
    assert placed.ask({**here, "text": "Frozen pizza, hour of the happy", "age": 31}) == [
        ("near", 2.0)
    ]
    assert placed.ask({"box": [13.5, 52.2, 15, 52.3], "tokens": ["pizza"]}) == [("box", 0.5)]
    assert placed.ask({**here, "text": ""}) == []


@on_the_sphere
def test_a_score_falls_with_the_distance_and_the_antimeridian_is_no_end(placed: Fleet):
    degree_m = 111_195.08
    fading = {"decay": {"metres": degree_m}, "score": 8}
    placed.subscribe_with(
        "circle", {"area": {"circle": [180, 0, 3 * degree_m]}, "tokens": ["a"], **fading}
    )
    placed.subscribe_with("box", {"box": [179, -1, -178, 1], "tokens": ["a"], "score": 3})
    ring = [[179, -1], [-178, -1], [-178, 1], [179, 1], [179, -1]]
    placed.subscribe_with(
        "polygon", {"area": {"type": "Polygon", "coordinates": [ring]}, "tokens": ["a"]}
    )
    there = placed.ask({"point": [-178, 0], "tokens": ["a"]})
    assert [id for id, _ in there] == ["box", "circle", "polygon"]
    assert there[1][1] == pytest.approx(2.0, rel=1e-6)
    for middle in (180, -180):
        assert placed.ask({"point": [middle, 0], "tokens": ["a"]}) == [
            ("circle", 8.0),
            ("box", 3.0),
            ("polygon", 1.0),
        ]
    west = placed.ask({"point": [177.5, 0], "tokens": ["a"]})
    assert [id for id, _ in west] == ["circle"]


@on_the_sphere
@pytest.mark.parametrize(
    ("document", "field"),
    [
        ({"box": [0, 0, 1, 1], "tokens": []}, "tokens"),
        ({"box": [0, 1, 1, 0], "tokens": ["a"]}, "box"),
        ({"area": {"circle": [0, 0, -1]}, "tokens": ["a"]}, "area.circle[2]"),
        ({"box": [0, 0, 1, 1], "tokens": ["a"] * 1001}, "tokens"),
    ],
    ids=["no-token", "inverted", "negative-radius", "1001-tokens"],
)
def test_a_bad_subscription_is_a_dead_letter(placed: Fleet, document: dict, field: str):
    letter = placed.letter_of("subscriptions", placed.subscribe_with("bad", document))
    assert dict(letter.headers())["podium-error-field"].decode() == field


@on_the_sphere
@pytest.mark.parametrize(
    ("event", "field"),
    [
        ({"text": "a"}, "point"),
        ({"point": [0, 0], "box": [0, 0, 1, 1], "text": "a"}, "point"),
        ({"point": [0, 0], "text": "a", "tokens": ["a"]}, "text"),
        ({"point": [0, 0], "text": "a " * 10_001}, "text"),
    ],
    ids=["no-place", "two-places", "text-and-tokens", "10001-words"],
)
def test_a_bad_event_is_a_dead_letter(placed: Fleet, event: dict, field: str):
    letter = placed.letter_of("events", placed.publish(event, refused=True))
    assert dict(letter.headers())["podium-error-field"].decode() == field


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("seed", [5, 6])
def test_every_answer_is_the_top_k_of_the_subscriptions_it_names(placed: Fleet, seed: int):
    random_steps(placed, seed, 400)


@on_the_sphere
def test_shards_far_from_an_event_are_left_out(placed: Fleet):
    def left_out() -> float:
        return placed.metric("router", "podium_router_pairs_total", result="left out")

    placed.subscribe_with("here", {"box": [10, 10, 11, 11], "tokens": ["a"]})
    assert placed.ask({"point": [10, 10], "text": "a"}) == [("here", 1.0)]
    before = left_out()
    eventually(
        lambda: placed.ask({"point": [50, 10], "text": "a"}) == [] and left_out() > before,
        "an event that is kept from a shard",
        30,
    )


@on_the_sphere
def test_a_killed_matcher_is_back_from_its_snapshots_under_churn(placed: Fleet):
    def written() -> float:
        return placed.metric("matcher", "podium_snapshots_total", result="written")

    random_steps(placed, 7, 200)
    before = written()
    random_steps(placed, 8, 50)
    eventually(lambda: written() >= before + 3, placed.diagnosis, 60)
    placed.kill("matcher")
    random_steps(placed, 9, 200)
    placed.wait_ready("matcher")
    random_steps(placed, 10, 100)
    assert placed.metric("matcher", "podium_restores_total", start="snapshot") >= 1
    placed.check_all(repeats=True)


@pytest.mark.parametrize("kind", ["plane"])
def test_with_another_stemmer_snapshots_are_refused_and_the_log_is_read_again(placed: Fleet):
    box = {"box": [0, 0, 9, 9]}
    placed.subscribe_with("plural", {**box, "tokens": ["pizzas"]})
    assert placed.ask({"point": [1, 1], "text": "pizza"}) == [("plural", 1.0)]
    for role in ROLES:
        placed.terminate(role)
    declared = yaml.safe_load(placed.collection_path.read_text()) | {"stemmer": None}
    placed.collection_path.write_text(yaml.safe_dump(declared))
    placed.reread()
    placed.start(*ROLES)
    placed.wait_ready(*ROLES)
    assert placed.ask({"point": [1, 1], "text": "pizza"}) == []
    assert placed.ask({"point": [1, 1], "text": "pizzas"}) == [("plural", 1.0)]
    assert placed.metric("matcher", "podium_restores_total", start="foreign") == 2
