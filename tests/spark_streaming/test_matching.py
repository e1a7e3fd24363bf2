"""Match records on their way to a topic or a table; how they come about is in `test_backfill`."""

import pytest

from spark_streaming.tasks.match_events import MATCHES, for_parquet, for_topic

VALUE = b'{"event":"e[1]@5","matches":[{"id":"a","score":2.5},{"id":"b","score":1}]}'


@pytest.fixture
def matches(spark):
    return spark.createDataFrame([(1, 5, None, VALUE, "0@7,1@-1")], MATCHES)


def test_a_record_for_a_topic_says_in_a_header_as_of_when_it_is(matches):
    [row] = for_topic(matches).collect()
    header = {"key": "podium-as-of", "value": b"0@7,1@-1"}
    assert row.asDict(recursive=True) == {"key": None, "value": VALUE, "headers": [header]}


def test_a_row_for_parquet_has_the_documents_fields_as_columns(matches):
    [row] = for_parquet(matches).collect()
    assert row.asDict(recursive=True) == {
        "key": None,
        "as_of": "0@7,1@-1",
        "event": "e[1]@5",
        "matches": [{"id": "a", "score": 2.5}, {"id": "b", "score": 1.0}],
    }
