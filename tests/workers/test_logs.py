import logging

import pytest

from workers.logs import Throttle


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
    assert [shown("topics.outbox", 1, "%d refused", i) for i in range(3)] == [
        "0 refused",
        "1 refused",
        "2 refused",
    ]


def test_many_lines_of_a_kind_are_held_back_and_counted(shown, clock):
    lines = [shown("topics.outbox", 1, "%d refused", i) for i in range(100)]
    assert sum(line is not None for line in lines) == 20
    clock.now = 31.0
    assert shown("topics.outbox", 1, "%d refused", 100) == (
        "100 refused (80 more lines like this before)"
    )
    assert shown("topics.outbox", 1, "%d refused", 101) == "101 refused"


def test_other_lines_are_not_held_back_with_them(shown):
    for i in range(100):
        shown("topics.outbox", 1, "%d refused", i)
    assert shown("topics.outbox", 2, "something else") == "something else"
    assert shown("workers.feed", 1, "restored") == "restored"


def test_the_libraries_say_less_and_librdkafka_is_told_apart_by_its_first_word(shown):
    fails = [shown("kafka", 1, "FAIL [thrd:b] connect failed") for _ in range(10)]
    assert sum(line is not None for line in fails) == 3
    assert shown("kafka", 1, "GETPID [thrd:main] retrying") is not None
