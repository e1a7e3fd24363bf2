"""`podium demo parking` as a person runs it, with small numbers."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from podium.demo.parking.check import Agreement, Mistake
from podium.demo.parking.report import Example, Report, Streamed
from podium.demo.watch import Percentiles
from topics import lists

ROOT = Path(__file__).parents[4]
LIMIT_S = 300.0


def test_a_small_demo_agrees_with_a_full_scan_and_leaves_nothing(stack_folder):
    """It runs beside another stack: variables that name that one are not for it."""
    command = [sys.executable, "-m", "podium", "demo", "parking", "--json", "--zones", "2"]
    small = ["--places", "500", "--subscribers", "1000", "--updates", "200", "--check", "50"]
    ended = subprocess.run(
        [*command, *small, "--rate", "50", "--folder", str(stack_folder)],
        cwd=ROOT,
        env=os.environ | {"PODIUM_KAFKA__BROKERS": "localhost:1", "PODIUM_PREFIX": "other"},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    report = json.loads(ended.stdout)
    assert ended.stdout.count("\n") == 1
    assert report["ok"] is True
    assert report["checked"] == report["agreed"] == 50
    assert report["records_checked"] >= 50
    assert report["listed"] == report["subscribers"] == 1000
    assert report["updates"] == 200
    assert report["lists"] > 0
    assert report["messages"] > 0
    assert report["first_mistake"] is None
    assert len(report["examples"]) == 5
    assert "podium demo: stream: " in ended.stderr
    assert "podium demo: check done" in ended.stderr
    assert not stack_folder.exists()


RECORD = lists.decode(
    b'{"subscription":"driver-7","since":"podium.parking.subscriptions[1]@3","seq":4,"first":false,'
    b'"objects":"podium.parking.objects[0]@9","k":3,"list":[{"id":"place-2","x":1200,"y":0.4},'
    b'{"id":"place-9","x":1250,"y":1.25}],'
    b'"changes":[{"op":"leave","id":"place-3","from":0,"why":"removed"}]}'
)
REPORT = Report(
    seed=1,
    places=20_000,
    subscribers=200_000,
    registered_per_s=20_000.0,
    listed=200_000,
    streamed=Streamed(4000, 200.0, 200, False, Percentiles(20.0, 90.0)),
    burst=4000,
    burst_per_s=900.0,
    messages=24_000,
    lists=240_000,
    agreement=Agreement(500, 500, 1234, 700, None),
    examples=[Example(1100.0, 1300.0, RECORD)],
    seconds={"start": 8.0},
)


def test_an_example_is_a_list_that_a_person_can_read():
    assert REPORT.fine
    assert REPORT.lines()[:5] == [
        "driver-7  the 3 cheapest places from 1,100 to 1,300 m",
        "  1. place-2      0.40 an hour  at 1,200 m",
        "  2. place-9      1.25 an hour  at 1,250 m",
        "  record 4: place-3 leaves 1, removed",
        "",
    ]


def test_the_report_ends_with_the_verdict():
    assert REPORT.lines()[-4:] == [
        "updates   3.0 messages and 30.0 changed lists each",
        "200,000 subscribers, 200,000 with a list",
        "checked: 1,234 records of 500 lists, as of 700 object records",
        "500 of 500 lists agree with a full scan",
    ]


def test_a_wrong_list_is_shown_and_is_not_fine():
    mistake = Mistake("driver-7", "the last one, but the list is []", {"seq": 4})
    report = replace(REPORT, agreement=Agreement(500, 499, 1234, 700, mistake))
    assert not report.fine
    assert report.lines()[-3:] == [
        "the first that does not is that of driver-7",
        "  record  {'seq': 4}",
        "  the last one, but the list is []",
    ]
    assert report.as_json()["first_mistake"]["subscription"] == "driver-7"
    assert report.as_json()["ok"] is False


@pytest.mark.parametrize(
    "changes",
    [{"listed": 199_999}, {"agreement": Agreement(0, 0, 0, 0, None)}],
    ids=["no-list", "nothing-checked"],
)
def test_what_is_missing_is_not_fine(changes):
    assert not replace(REPORT, **changes).fine


def test_a_rate_that_was_too_high_is_owned_up_to():
    slowed = replace(REPORT, streamed=replace(REPORT.streamed, per_s=50.0, slowed=True))
    assert "50 a second (200 were too many here):" in "\n".join(slowed.lines())
