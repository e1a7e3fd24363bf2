"""What the demo shows: sentences, figures, the live table and the report."""

import io
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from podium.demo.check import Agreement, Delivery, Disagreement, Event
from podium.demo.monitor import Counters, Figures, Lag, Rates, lag_of
from podium.demo.readable import ad_text, visitor_text
from podium.demo.report import Ad, Burst, Example, Killed, Rebuilt, Registered, Report, Streamed
from podium.demo.table import Board, Step, line, render
from podium.demo.watch import Percentiles, percentiles

ATTRIBUTES = ("age", "credit_score", "visits")


@pytest.mark.parametrize(
    ("where", "said"),
    [
        (
            {"age": (25, 40), "credit_score": (600, 720), "visits": (3, None)},
            "age 25–40, credit score 600–720, at least 3 visits",  # noqa: RUF001
        ),
        ({"age": (65.0, None)}, "age at least 65"),
        ({"age": (31, 31), "visits": (1, 1)}, "age 31, 1 visit"),
        ({"visits": (1, None)}, "at least 1 visit"),
        ({"visits": (None, 2)}, "at most 2 visits"),
        ({"visits": (2, 2)}, "2 visits"),
        ({"visits": (None, None)}, "any visits"),
        ({}, "everybody"),
    ],
)
def test_what_an_ad_wants_is_said_in_words(where, said):
    assert ad_text(where, ATTRIBUTES) == said


def test_a_visitor_is_described_in_words():
    assert (
        visitor_text({"age": 31, "credit_score": 644, "visits": 5}, ATTRIBUTES)
        == "age 31, credit score 644, 5 visits"
    )
    assert (
        visitor_text({"age": 31, "credit_score": None, "visits": 1}, ATTRIBUTES)
        == "age 31, credit score unknown, 1 visit"
    )


def test_percentiles_are_those_of_the_latencies():
    latencies = np.random.default_rng(1).permutation(1001)
    assert percentiles(latencies) == Percentiles(500.0, 990.0)
    assert percentiles(np.array([7])) == Percentiles(7.0, 7.0)
    assert percentiles(np.array([])) is None


def test_rates_are_those_of_the_last_seconds():
    rates = Rates(window_s=2.0)
    assert rates.per_s("indexed") == 0.0
    for second in range(10):
        rates.add(float(second), Counters(indexed=100 * second if second < 5 else 400))
    assert rates.per_s("indexed") == 0.0
    rates.add(10.0, Counters(indexed=500))
    assert rates.per_s("indexed") == 50.0


def test_lag_is_what_a_stage_has_not_taken_from_the_one_before():
    counters = Counters(
        ads=10, indexed=4, visitors=100, routed=90, frames=8, answered=6, merged=2, matches=50
    )
    assert lag_of(counters, shards=2) == Lag(6, 10, 2, 2)
    ahead = counters._replace(indexed=11, routed=101, answered=9, merged=5)
    assert lag_of(ahead, shards=2) == Lag(0, 0, 0, 0)


@pytest.fixture
def board():
    board = Board("Podium demo", [Step("start", "Kafka"), Step("stream", "visitors")])
    board.begin("start", "formatting")
    board.end("start", "Kafka and Redis")
    board.begin("stream", lambda: "1,000 of 2,000 visitors")
    figures = Figures(5000.0, 2500.4, 2480.0, Percentiles(14.2, 40.6), Lag(1, 25, 2, 0))
    board.figures = lambda: figures
    return board


def test_the_table_shows_steps_rates_latency_and_lag_in_80_columns(board):
    console = Console(file=io.StringIO(), width=80)
    console.print(render(board))
    shown = console.file.getvalue()
    for text in ("✓  start", "Kafka and Redis", "●  stream", "1,000 of 2,000 visitors"):
        assert text in shown
    words = shown.split()
    for text in ("5,000", "2,500", "2,480", "14", "41", "1", "25", "2", "0"):
        assert text in words
    assert max(map(len, shown.splitlines())) <= 80
    assert "…" not in shown


def test_a_line_says_the_same_for_a_log(board):
    assert line(board, board.step("stream")) == (
        "podium demo: stream: 1,000 of 2,000 visitors; "
        "5,000 subscriptions/s, 2,500 events/s, 2,480 matches/s, p50 14 ms, p99 41 ms; "
        "behind: indexing 1 ad, router 25 events, matcher 2 frames, merger 0 frames"
    )
    assert line(board, board.step("start")).startswith("podium demo: start done in 0.")


def test_what_fails_is_the_running_step(board):
    board.fail()
    assert [step.state for step in board.steps] == ["done", "failed"]


EVENT = Event((3, 1042), b"visitor-7", b'{"age": 31}')
REPORT = Report(
    seed=1,
    attributes=ATTRIBUTES,
    topic="podium.ads.events",
    registered=Registered(150_000, 48_000.0),
    streamed=Streamed(40, 24_960, 2499.0, 2500, False, 50_000, 5000, 5000, Percentiles(14.0, 40.0)),
    rebuilt=Rebuilt(2, 18.0, 1.5, 0.25, 0.0, 5000, (27_501, 30_000)),
    killed=Killed("ads-matcher", 5.25, 2, 2, 5000, (30_001, 35_000)),
    burst=Burst(15_000, 31_000.0),
    delivery=Delivery(50_000, 49_812, [], [], []),
    agreement=Agreement(500, 500, 480, None),
    checked_around={"kill": 120, "swap": 110},
    examples=[
        Example("visitor-1042", {"age": 31}, [Ad("ad-104233", 9.87, {"age": (25.0, 40.0)})]),
    ],
    seconds={"start": 8.0},
)


def test_the_report_ends_with_the_verdict():
    lines = REPORT.lines()
    assert REPORT.fine
    assert lines[0] == "visitor-1042  age 31, credit score unknown, unknown visits"
    assert lines[1] == "  1. ad-104233  bid 9.87  age 25–40"  # noqa: RUF001
    assert lines[-3] == "50,000 visitors, 49,812 with at least one match"
    assert lines[-2] == "checked: 500 answers, among them 120 around the kill, 110 around the swap"
    assert lines[-1] == "500 of 500 answers agree with a full scan"


def test_a_rate_that_was_too_high_is_owned_up_to():
    assert "too many" not in "\n".join(REPORT.lines())
    slowed = replace(REPORT, streamed=replace(REPORT.streamed, per_s=625.0, slowed=True))
    assert "625 a second (2,500 were too many here)" in "\n".join(slowed.lines())


def test_a_wrong_answer_is_shown_and_is_not_fine():
    wrong = Disagreement(EVENT, {1: 8, 0: 5}, [("ad-7", 9.1)], [])
    report = replace(REPORT, agreement=Agreement(500, 499, 480, wrong))
    assert not report.fine
    assert report.lines()[-6:] == [
        "499 of 500 answers agree with a full scan",
        "the first that does not is podium.ads.events[3]@1042",
        '  event     visitor-7 {"age": 31}',
        "  as of     0@5,1@8",
        "  expected  ad-7 9.1",
        "  got       nothing",
    ]
    assert report.as_json()["first_disagreement"]["as_of"] == "0@5,1@8"
    assert report.as_json()["ok"] is False


def test_a_repeat_after_the_kill_is_shown_and_is_fine():
    report = replace(REPORT, delivery=REPORT.delivery._replace(repeated=[(3, 1042)]))
    assert report.fine
    assert "as after a crash: podium.ads.events[3]@1042" in report.lines()[-3]


def test_a_shard_that_was_replayed_from_the_beginning_is_not_fine():
    report = replace(REPORT, killed=replace(REPORT.killed, from_snapshots=1))
    assert not report.fine
    assert "1 of 2 shards from snapshots" in "\n".join(report.lines())


def test_a_delta_share_that_did_not_fall_is_not_fine():
    assert not replace(REPORT, rebuilt=replace(REPORT.rebuilt, delta_after=0.25)).fine


@pytest.mark.parametrize("what", ["kill", "swap"])
def test_without_a_checked_answer_around_the_kill_and_the_swap_it_is_not_fine(what):
    report = replace(REPORT, checked_around=REPORT.checked_around | {what: 0})
    assert not report.fine
    assert f"0 around the {what}" in report.lines()[-2]


@pytest.mark.parametrize("kind", ["unknown", "missing"])
def test_a_mistake_of_delivery_is_shown_and_is_not_fine(kind):
    report = replace(REPORT, delivery=REPORT.delivery._replace(**{kind: [(3, 1042)]}))
    assert not report.fine
    assert "podium.ads.events[3]@1042" in report.lines()[-3]
    assert report.as_json()[kind] == ["podium.ads.events[3]@1042"]


def test_no_answer_at_all_is_not_fine():
    assert not replace(REPORT, agreement=Agreement(0, 0, 0, None)).fine
