"""What a committed offset says of the topic that is there now."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka import OFFSET_BEGINNING, KafkaError, KafkaException, TopicPartition

from workers.process.group_reader import GroupReader

READER = cast(GroupReader, SimpleNamespace(_topic_id="new"))


def understood(metadata: str) -> tuple[int, str | None]:
    place = GroupReader._understood(READER, TopicPartition("t", 3, 41, metadata=metadata))
    assert (place.topic, place.partition) == ("t", 3)
    return place.offset, place.metadata


def test_an_offset_of_this_topic_is_where_to_go_on():
    assert understood("new 1700") == (41, "1700")
    assert understood("new ") == (41, "")


def test_an_offset_of_a_topic_of_the_same_name_is_none_but_what_was_told_stays():
    assert understood("old 1700") == (OFFSET_BEGINNING, "1700")


def test_an_offset_that_names_no_topic_is_taken_as_it_is():
    assert understood("1700") == (41, "1700")
    assert understood("") == (41, "")


def test_an_offset_that_the_broker_could_not_say_is_an_error():
    """Taken for none at all, the beginning of the topic would be committed over it."""
    unknown: Any = SimpleNamespace(error=KafkaError(KafkaError._TIMED_OUT))
    with pytest.raises(KafkaException):
        GroupReader._understood(READER, unknown)
