"""The line that a restoring shard writes."""

import re
from types import SimpleNamespace

import pytest

from workers.shard.feed import RestoreProgress


@pytest.fixture
def shard():
    return SimpleNamespace(number=3, next_offset=100)


def test_it_is_done_at_the_end_that_the_partition_had_not_at_a_later_one(shard):
    progress = RestoreProgress(shard, 300)
    assert not progress.is_done()
    shard.next_offset = 299
    assert not progress.is_done()
    shard.next_offset = 300
    assert progress.is_done()


def test_a_shard_whose_snapshot_is_complete_is_done_at_once(shard):
    assert RestoreProgress(shard, 100).is_done()


def test_the_line_counts_what_is_replayed_and_guesses_when_it_ends(shard):
    progress = RestoreProgress(shard, 300)
    assert progress.line() == "0 %, 0 records/s, no end in sight yet"
    shard.next_offset = 150
    assert re.fullmatch(r"25 %, [\d,]+ records/s, \d+ s left", progress.line())


def test_an_empty_partition_is_no_division_by_zero(shard):
    assert RestoreProgress(shard, 100).line().startswith("0 %")


def test_a_line_is_written_every_two_seconds(shard, caplog):
    seconds = 0.0
    progress = RestoreProgress(shard, 300, now=lambda: seconds)
    shard.next_offset = 200
    with caplog.at_level("INFO"):
        for seconds in (1.0, 2.0, 3.0, 4.0):  # noqa: B007
            progress.report()
    assert [record.getMessage() for record in caplog.records] == [
        "shard 3: restoring, 50 %, 50 records/s, 2 s left",
        "shard 3: restoring, 50 %, 25 records/s, 4 s left",
    ]
