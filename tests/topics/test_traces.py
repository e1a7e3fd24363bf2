"""Traces: which headers count, and what of them survives frames and partials."""

import numpy as np
import pytest

from topics.codecs.byte_strings import ByteStrings
from topics.codecs.columns import CodecError
from topics.frames import Frame, FrameId, decode, encode
from topics.traces import NO_TRACES, Traces, trace_of

PARENT = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.parametrize(
    ("headers", "trace"),
    [
        pytest.param([], None, id="none"),
        pytest.param([("traceparent", PARENT)], (PARENT, None), id="parent"),
        pytest.param(
            [("tracestate", b"a=1"), ("x", b""), ("traceparent", PARENT)],
            (PARENT, b"a=1"),
            id="both",
        ),
        pytest.param([("tracestate", b"a=1")], None, id="state-alone"),
        pytest.param([("traceparent", None)], None, id="null"),
        pytest.param([("traceparent", b"")], None, id="empty"),
        pytest.param([("traceparent", PARENT.upper())], None, id="upper-case"),
        pytest.param([("traceparent", b"ff" + PARENT[2:])], None, id="version-ff"),
        pytest.param([("traceparent", PARENT[:3] + b"0" * 32 + PARENT[35:])], None, id="no-trace"),
        pytest.param([("traceparent", PARENT[:36] + b"0" * 16 + b"-01")], None, id="no-span"),
        pytest.param([("traceparent", PARENT + b"-x")], None, id="more-in-version-0"),
        pytest.param([("traceparent", PARENT + b"x")], None, id="longer"),
        pytest.param(
            [("traceparent", b"01" + PARENT[2:] + b"-x")], (b"01" + PARENT[2:] + b"-x", None),
            id="more-in-a-later-version",
        ),
        pytest.param([("traceparent", b"01" + PARENT[2:] + b"-" + b"x" * 99)], None, id="huge"),
        pytest.param(
            [("traceparent", PARENT), ("tracestate", b"x" * 513)], (PARENT, None), id="huge-state"
        ),
    ],
)  # fmt: skip
def test_what_is_a_trace(headers, trace):
    assert trace_of(headers) == trace


def a_frame(traces: Traces, events: int = 4) -> Frame:
    return Frame(
        FrameId(1, 2, 3, 6),
        0,
        np.array([0, 1], np.uint16),
        -1,
        np.arange(3, 3 + events),
        np.arange(events),
        np.zeros((events, 2)),
        np.full(events, 5, np.int32),
        ByteStrings.pack([b"key"] * events),
        traces=traces,
    )


def test_a_frame_has_them_by_event():
    given = [None, (PARENT, b"a=1"), None, (PARENT, None)]
    read = decode(encode(a_frame(Traces.of(given)))).traces
    assert read.headers() == {
        1: [("traceparent", PARENT), ("tracestate", b"a=1")],
        3: [("traceparent", PARENT)],
    }
    chosen = read.where(read.rows == 3)
    assert chosen.headers() == {3: [("traceparent", PARENT)]}
    assert read.where(read.rows > 9).headers() == {}


def test_a_frame_without_any_is_as_long_as_the_header_says():
    assert Traces.of([None, None]) is NO_TRACES
    assert decode(encode(a_frame(NO_TRACES))).traces is NO_TRACES
    traced = Traces.of([(PARENT, None)])
    extra = len(encode(a_frame(traced))) - len(encode(a_frame(NO_TRACES)))
    assert extra == 3 * 4 + len(PARENT)


@pytest.mark.parametrize("rows", [[1, 1], [2, 1], [-1, 0], [3, 4]], ids=str)
def test_rows_that_are_no_events_are_refused(rows):
    texts = ByteStrings.pack([PARENT, None] * 2)
    with pytest.raises(CodecError, match="traces of rows"):
        decode(encode(a_frame(Traces(np.array(rows, np.int32), texts))))


def test_lengths_that_do_not_add_up_are_refused():
    texts = ByteStrings(np.array([99, -1], np.int32), np.zeros(5, np.uint8))
    with pytest.raises(CodecError, match="lengths of traces"):
        decode(encode(a_frame(Traces(np.array([0], np.int32), texts))))
