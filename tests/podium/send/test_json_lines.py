import gzip
import io
import tracemalloc

import pytest

from podium.send.json_lines import (
    LONGEST_LINE,
    BadLine,
    Line,
    Record,
    open_source,
    read_lines,
    record_of,
)
from podium.terminal import Failure


def lines(content):
    return list(read_lines(io.BytesIO(content)))


def test_lines_are_counted_as_an_editor_counts_them_and_blank_ones_left_out():
    assert lines(b"\xef\xbb\xbfa\r\n\n  b \nc") == [Line(1, b"a"), Line(3, b"b"), Line(4, b"c")]


def test_a_line_that_is_too_long_is_passed_over():
    longest = b"x" * LONGEST_LINE
    content = b"a\n" + longest + b"xx\n" + longest + b"\nb\n" + longest * 3
    assert lines(content) == [
        Line(1, b"a"),
        Line(2, None),
        Line(3, longest),
        Line(4, b"b"),
        Line(5, None),
    ]


class Endless(io.RawIOBase):
    """`size` bytes without a line end."""

    def __init__(self, size):
        self.left = size

    def readable(self):
        return True

    def readinto(self, buffer):
        count = min(len(buffer), self.left)
        buffer[:count] = b"x" * count
        self.left -= count
        return count


def test_a_file_without_line_ends_does_not_fill_the_memory():
    tracemalloc.start()
    assert list(read_lines(io.BufferedReader(Endless(100 * 1024 * 1024)))) == [Line(1, None)]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * LONGEST_LINE


@pytest.mark.parametrize(
    ("text", "record"),
    [
        pytest.param(
            b'{"id": "ad-7", "score": 7.50, "where": {"age": [1, 2]}}',
            Record("subscriptions", b"ad-7", b'{"score":7.50,"where":{"age": [1, 2]}}'),
            id="subscription",
        ),
        pytest.param(b'{"id": "ad-7"}', Record("subscriptions", b"ad-7", None), id="unsubscribe"),
        pytest.param(
            b'{"id": 7, "score": 1}', Record("subscriptions", b"7", b'{"score":1}'), id="number"
        ),
        pytest.param(
            b'{"id": "\\u00e9", "score": 1}',
            Record("subscriptions", "é".encode(), b'{"score":1}'),
            id="escaped-id",
        ),
        pytest.param(
            b'{"age": 28,  "x": 1e999}',
            Record("events", None, b'{"age": 28,  "x": 1e999}'),
            id="event",
        ),
        pytest.param(b"{}", Record("events", None, b"{}"), id="empty-event"),
    ],
)
def test_a_line_with_an_id_is_a_subscription_and_any_other_an_event(text, record):
    assert record_of(text) == record


def test_to_events_takes_every_line_as_it_is():
    text = b'{"id": "ad-7", "age": 3}'
    assert record_of(text, "events") == Record("events", None, text)
    assert record_of(text, "events", "id") == Record("events", b"ad-7", text)
    assert record_of(text, "events", "age") == Record("events", b"3", text)


@pytest.mark.parametrize(
    ("text", "record"),
    [
        pytest.param(
            b'{"id": "p-12", "x": 31, "y": 0.40, "level": 2}',
            Record("objects", b"p-12", b'{"x":31,"y":0.40,"level":2}'),
            id="object",
        ),
        pytest.param(
            b'{"id": "w-7", "range": [10, null], "k": 5}',
            Record("subscriptions", b"w-7", b'{"range":[10, null],"k":5}'),
            id="subscription",
        ),
        pytest.param(
            b'{"id": "p-12", "x": 31}', Record("objects", b"p-12", b'{"x":31}'), id="half-a-point"
        ),
    ],
)
def test_where_there_are_objects_a_line_says_by_its_fields_what_it_is(text, record):
    assert record_of(text, input="objects") == record


def test_a_line_with_an_id_alone_ends_what_it_is_told_to():
    text = b'{"id": "p-12"}'
    assert record_of(text, "objects", input="objects") == Record("objects", b"p-12", None)
    ended = Record("subscriptions", b"p-12", None)
    assert record_of(text, "subscriptions", input="objects") == ended


@pytest.mark.parametrize(
    ("text", "to", "message"),
    [
        pytest.param(b'{"id": "p-12"}', "auto", "got neither of a `range`", id="id-alone"),
        pytest.param(b'{"id": "p-12", "k": 3}', "auto", "got neither of a `range`", id="k-alone"),
        pytest.param(b'{"id": 1, "x": 1, "range": []}', "auto", "got both of a `range`", id="both"),
        pytest.param(b'{"x": 1, "y": 2}', "auto", "got no `id`", id="no-id"),
        pytest.param(b'{"x": 1, "y": 2}', "objects", "because of --to objects", id="to-objects"),
        pytest.param(b'{"id": {}, "x": 1}', "auto", "got id {}", id="object-as-id"),
    ],
)
def test_where_there_are_objects_a_line_that_is_neither_says_why(text, to, message):
    with pytest.raises(BadLine) as caught:
        record_of(text, to, input="objects")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "to", "key", "message"),
    [
        pytest.param(b'{"age": ', "auto", None, "not JSON", id="cut-off"),
        pytest.param(b'{"age": NaN}', "auto", None, "not JSON", id="nan"),
        pytest.param(b"[1, 2]", "auto", None, "expected `object`, got `array`", id="a-list"),
        pytest.param(b'{"a": "\xff"}', "events", None, "byte 8 is not UTF-8", id="not-utf-8"),
        pytest.param(b'{"a":' + b"[" * 9999, "auto", None, "nested too deeply", id="deep"),
        pytest.param(b'{"id": null}', "auto", None, "got id null", id="null-id"),
        pytest.param(b'{"id": ""}', "auto", None, 'got id ""', id="empty-id"),
        pytest.param(b'{"id": 1.5}', "auto", None, "got id 1.5", id="fraction-as-id"),
        pytest.param(b'{"id": true}', "auto", None, "got id true", id="bool-as-id"),
        pytest.param(b'{"age": 1}', "subscriptions", None, "got no `id`", id="no-id"),
        pytest.param(b'{"age": 1}', "events", "user", "got no `user`", id="no-key"),
        pytest.param(b'{"user": {}}', "events", "user", "got user {} as key", id="object-as-key"),
        pytest.param(None, "auto", None, "more than 4,194,304 bytes", id="too-long"),
    ],
)
def test_a_line_that_is_no_record_says_why(text, to, key, message):
    with pytest.raises(BadLine) as caught:
        record_of(text, to, key)
    assert message in str(caught.value)


def test_a_packed_file_is_unpacked(tmp_path):
    file = tmp_path / "x.jsonl.gz"
    file.write_bytes(gzip.compress(b"{}\n{}\n"))
    with open_source(str(file)) as source:
        assert len(list(read_lines(source.stream))) == 2
        assert source.size == file.stat().st_size


def test_a_file_that_is_not_there_is_bad_usage():
    with (
        pytest.raises(Failure, match=r"nowhere\.jsonl: No such file") as caught,
        open_source("nowhere.jsonl"),
    ):
        pass
    assert caught.value.exit_code == 2
