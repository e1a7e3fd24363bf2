import logging

import pytest
from confluent_kafka import Consumer
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from configs.logs import Throttle


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def shown(clock: Clock):
    throttle = Throttle(clock)

    def show(name: str, line: int, message: str, *args: object) -> str | None:
        record = logging.LogRecord(name, logging.WARNING, "file", line, message, args, None)
        return record.getMessage() if throttle.filter(record) else None

    return show


def test_few_lines_are_all_shown(shown):
    assert [shown("topics.kafka.producer", 1, "%d refused", i) for i in range(3)] == [
        "0 refused",
        "1 refused",
        "2 refused",
    ]


def test_many_lines_of_a_kind_are_held_back_and_counted(shown, clock):
    lines = [shown("topics.kafka.producer", 1, "%d refused", i) for i in range(100)]
    assert sum(line is not None for line in lines) == 20
    clock.now = 31.0
    assert shown("topics.kafka.producer", 1, "%d refused", 100) == (
        "100 refused (80 more lines like this before)"
    )
    assert shown("topics.kafka.producer", 1, "%d refused", 101) == "101 refused"


def test_other_lines_are_not_held_back_with_them(shown):
    for i in range(100):
        shown("topics.kafka.producer", 1, "%d refused", i)
    assert shown("topics.kafka.producer", 2, "something else") == "something else"
    assert shown("workers.shard.feed", 1, "restored") == "restored"


def test_the_libraries_say_less_and_librdkafka_is_told_apart_by_its_first_word(shown):
    fails = [shown("kafka", 1, "%s [%s] %s", "FAIL", "c-1", "refused") for _ in range(10)]
    assert sum(line is not None for line in fails) == 3
    assert shown("kafka", 1, "%s [%s] %s", "GETPID", "c-1", "retrying") == "GETPID [c-1] retrying"


def test_librdkafka_begins_its_lines_as_the_throttle_expects(clock):
    """Every line has the same format; its first word is the first of what is filled in."""
    records = []
    log = logging.Logger("kafka")
    log.addFilter(records.append)
    options = {"bootstrap.servers": "127.0.0.1:1", "group.id": "g", "debug": "generic,broker"}
    consumer = Consumer({**options, "logger": log})
    consumer.poll(0.2)
    consumer.close()
    assert len({record.msg for record in records}) == 1
    assert len({record.getMessage().split(" ")[0] for record in records}) > 1
    throttle = Throttle(clock)
    shown = {record.args[0] for record in records if throttle.filter(record)}
    assert shown == {record.args[0] for record in records}, "a frequent word silences no other"


class ThrottleAgainstCounts(RuleBasedStateMachine):
    """Kinds side by side, each with its own period."""

    def __init__(self):
        super().__init__()
        self.clock = Clock()
        self.throttle = Throttle(self.clock)
        self.lines = {}  # kind -> when its period began, lines in it that were said

    @rule(
        name=st.sampled_from(["topics.kafka.producer", "kafka"]),
        line=st.integers(1, 2),
        word=st.sampled_from(["FAIL", "GETPID"]),
        times=st.integers(1, 30),
    )
    def say(self, name, line, word, times):
        # Our own lines are told apart by where they are said, not by what is filled in.
        kind, most = ((name, line, word), 3) if name == "kafka" else ((name, line), 20)
        for _ in range(times):
            record = logging.LogRecord(name, logging.INFO, "file", line, "%s [c]", (word,), None)
            passed = self.throttle.filter(record)
            began, said = self.lines.get(kind, (self.clock.now, 0))
            missing = max(0, said - most)
            if self.clock.now - began > 30:
                began, said = self.clock.now, 0
            else:
                missing = 0
            self.lines[kind] = began, said + 1
            assert passed == (said < most)
            expected = f"{word} [c]"
            if missing:
                expected += f" ({missing} more lines like this before)"
            assert not passed or record.getMessage() == expected

    @rule(seconds=st.sampled_from([1.0, 29.0, 31.0]))
    def wait(self, seconds):
        self.clock.now += seconds

    @invariant()
    def no_kind_is_kept_twice(self):
        assert len(self.throttle._kinds) == len(self.lines)


TestThrottleAgainstCounts = ThrottleAgainstCounts.TestCase
