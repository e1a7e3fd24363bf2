import json
import math
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np
import pytest
from confluent_kafka import Message
from hypothesis import given, settings
from hypothesis import strategies as st

from topics import frames as frame_codec
from topics.events.contract import Options
from topics.frames import FrameId
from topics.kinds import event_contract
from topics.limits import EVENTS_PER_FRAME_RECORD_BYTES, HITS_PER_FRAME_RECORD, PARSED_BYTES
from workers.router.framing import (
    Accepted,
    ShardsToAsk,
    cut_into_frames,
    frames,
    group_by_record,
    linger_s,
    read_events,
)

EVENTS = "podium.ads.events"
NAN = math.nan


@pytest.fixture
def contract():
    return event_contract("ranked", ["age", "visits"], k=5, max_k=100, shards=3)


def message(offset, value=b"{}", *, partition=0, key=None, headers=None, at_ms=0):
    return Message(
        topic=EVENTS,
        partition=partition,
        offset=offset,
        key=key,
        value=value,
        headers=headers,
        timestamp=(1, at_ms),
    )


def accepted(contract, *messages):
    (events,) = read_events(messages, contract).accepted.values()
    return events


def test_events_are_gathered_by_partition_in_their_order(contract):
    batch = [message(7, partition=1), message(3), message(8, partition=1), message(5)]
    reading = read_events(batch, contract)
    offsets = {p: [m.offset() for m in events.messages] for p, events in reading.accepted.items()}
    assert offsets == {1: [7, 8], 0: [3, 5]}
    assert reading.letters == []


def test_rows_and_options_stay_beside_their_messages(contract):
    events = accepted(
        contract,
        message(0, b'{"age": 1}', headers=[("podium-k", b"9")]),
        message(1, b'{"age": 2}'),
    )
    assert [row[0] for row in events.rows] == [1.0, 2.0]
    assert events.options == [Options(9, {}), Options(5, {})]


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        pytest.param({"value": b"{"}, "value", id="not-json"),
        pytest.param({"value": None}, "value", id="null"),
        pytest.param({"value": b'{"age": NaN}'}, "age", id="nan"),
        pytest.param({"value": b'{"age": "x"}'}, "age", id="wrong-type"),
        pytest.param({"value": bytes(2 * PARSED_BYTES)}, "value", id="oversized"),
        pytest.param({"key": bytes(PARSED_BYTES)}, "value", id="oversized-key"),
        pytest.param({"headers": [("podium-k", b"many")]}, "podium-k", id="bad-k"),
        pytest.param({"headers": [("podium-after", b"9@1")]}, "podium-after", id="bad-after"),
    ],
)
def test_a_bad_event_becomes_a_dead_letter_and_the_rest_flows_on(contract, bad, field):
    reading = read_events([message(1), message(2, **bad), message(3)], contract)
    assert [m.offset() for m in reading.accepted[0].messages] == [1, 3]
    (letter,) = reading.letters
    assert letter.source == f"{EVENTS}[0]@2"
    assert letter.field == field
    assert letter.error.startswith(f"{field}: ")


def test_a_dead_letter_carries_the_original_to_the_byte(contract):
    headers = [("trace", b"\xff"), ("nothing", None)]
    given = message(9, b"{\xff", partition=2, key=b"\x00k", headers=headers)
    (letter,) = read_events([given], contract).letters
    assert (letter.topic, letter.partition, letter.offset) == (EVENTS, 2, 9)
    assert (letter.key, letter.value, letter.headers) == (b"\x00k", b"{\xff", headers)


def test_a_partition_with_bad_events_only_has_nothing_to_frame(contract):
    reading = read_events([message(1, b"["), message(2, None)], contract)
    assert reading.accepted == {}
    assert [letter.offset for letter in reading.letters] == [1, 2]


LARGE_KEY = bytes(EVENTS_PER_FRAME_RECORD_BYTES // 2 - 10)  # one object, whatever is drawn


@st.composite
def runs_of_events(draw):
    """Many small events, with now and then one that asks for much or has a large key."""
    shapes = draw(
        st.lists(
            st.tuples(
                st.sampled_from(
                    [0, 20, 20, 20, HITS_PER_FRAME_RECORD // 3, HITS_PER_FRAME_RECORD + 1]
                ),
                st.sampled_from([None, b"", b"key", b"key", LARGE_KEY]),
            ),
            min_size=1,
            max_size=50,
        )
    )
    messages = [message(offset, key=key) for offset, (_, key) in enumerate(shapes)]
    rows = [(float(offset),) for offset in range(len(shapes))]
    sizes = [len(key or b"") + 8 for _, key in shapes]
    return Accepted(messages, rows, [Options(k, {}) for k, _ in shapes], sizes)


def plain_events(count):
    messages = [message(offset) for offset in range(count)]
    return Accepted(messages, [()] * count, [Options(1, {})] * count, [0] * count)


def hits(run):
    return sum(options.k for options in run.options)


def size(run):
    return sum(run.sizes)


@settings(max_examples=150, deadline=None)
@given(events=runs_of_events(), most_events=st.integers(1, 60))
def test_cutting_loses_nothing_and_keeps_the_order(events, most_events):
    runs = list(cut_into_frames(events, most_events))
    for column in range(4):
        joined = [item for run in runs for item in run[column]]
        assert all(a is b for a, b in zip(joined, events[column], strict=True))


@settings(max_examples=150, deadline=None)
@given(events=runs_of_events(), most_events=st.integers(1, 60))
def test_a_run_keeps_the_limits_unless_one_event_alone_is_beyond_them(events, most_events):
    for run in cut_into_frames(events, most_events):
        assert 1 <= len(run.messages) <= most_events
        if len(run.messages) > 1:
            assert hits(run) <= HITS_PER_FRAME_RECORD
            assert size(run) <= EVENTS_PER_FRAME_RECORD_BYTES


@settings(max_examples=150, deadline=None)
@given(events=runs_of_events(), most_events=st.integers(1, 60))
def test_a_run_ends_only_where_a_limit_makes_it(events, most_events):
    runs = list(cut_into_frames(events, most_events))
    even = math.ceil(len(events.messages) / math.ceil(len(events.messages) / most_events))
    for run, following in pairwise(runs):
        first = following.only([0])
        assert (
            len(run.messages) == even
            or hits(run) + hits(first) > HITS_PER_FRAME_RECORD
            or size(run) + size(first) > EVENTS_PER_FRAME_RECORD_BYTES
        )


@settings(max_examples=100, deadline=None)
@given(count=st.integers(1, 200), most_events=st.integers(1, 60))
def test_without_other_limits_runs_are_as_few_as_can_be_and_even(count, most_events):
    plain = Accepted(
        [message(i) for i in range(count)], [()] * count, [Options(1, {})] * count, [0] * count
    )
    lengths = [len(run.messages) for run in cut_into_frames(plain, most_events)]
    assert len(lengths) == math.ceil(count / most_events)
    assert len(set(lengths[:-1])) <= 1
    assert lengths[0] == math.ceil(count / len(lengths))


@settings(max_examples=150, deadline=None)
@given(runs=st.lists(runs_of_events(), max_size=6), most_events=st.integers(1, 100))
def test_bundling_loses_nothing_keeps_the_order_and_the_limits(runs, most_events):
    together = list(group_by_record(runs, most_events))
    assert all(a is b for a, b in zip(chain(*together), runs, strict=True))
    for bundle in together:
        if len(bundle) > 1:
            assert sum(len(run.messages) for run in bundle) <= most_events
            assert sum(map(hits, bundle)) <= HITS_PER_FRAME_RECORD
            assert sum(map(size, bundle)) <= EVENTS_PER_FRAME_RECORD_BYTES


@settings(max_examples=150, deadline=None)
@given(runs=st.lists(runs_of_events(), max_size=6), most_events=st.integers(1, 100))
def test_a_bundle_ends_only_where_a_limit_makes_it(runs, most_events):
    for bundle, following in pairwise(group_by_record(runs, most_events)):
        grown = [*bundle, following[0]]
        assert (
            sum(len(run.messages) for run in grown) > most_events
            or sum(map(hits, grown)) > HITS_PER_FRAME_RECORD
            or sum(map(size, grown)) > EVENTS_PER_FRAME_RECORD_BYTES
        )


def test_one_event_too_many_does_not_make_a_run_of_one():
    plain = Accepted(
        [message(i) for i in range(101)], [()] * 101, [Options(1, {})] * 101, [0] * 101
    )
    assert [len(run.messages) for run in cut_into_frames(plain, 100)] == [51, 50]


def test_an_event_that_asks_for_all_the_hits_of_a_record_has_one_of_its_own():
    ks = [HITS_PER_FRAME_RECORD + 1, 1, HITS_PER_FRAME_RECORD, 1, HITS_PER_FRAME_RECORD - 1, 1]
    events = Accepted(
        [message(i) for i in range(6)], [()] * 6, [Options(k, {}) for k in ks], [0] * 6
    )
    assert [[o.k for o in run.options] for run in cut_into_frames(events, 10)] == [
        [HITS_PER_FRAME_RECORD + 1],
        [1],
        [HITS_PER_FRAME_RECORD],
        [1, HITS_PER_FRAME_RECORD - 1],
        [1],
    ]


def test_every_shard_gets_the_same_events_under_the_same_name(contract):
    events = accepted(
        contract,
        message(40, b'{"age": 1}', partition=3, key=b"a", at_ms=1_000),
        message(42, b'{"visits": 2}', partition=3, key=None, at_ms=1_001),
        message(47, b"{}", partition=3, key=b"", at_ms=1_002),
    )
    made = list(frames(events, contract, epoch=77))
    assert [frame.shard for frame in made] == [0, 1, 2]
    for frame in made:
        assert frame.frame_id == (3, 77, 40, 47)
        assert frame.taking_part.tolist() == [0, 1, 2]
        assert frame.offsets.tolist() == [40, 42, 47]
        assert frame.timestamps.tolist() == [1_000, 1_001, 1_002]
        assert frame.keys.unpack() == [b"a", None, b""]
        assert frame.ks.tolist() == [5, 5, 5]
        np.testing.assert_array_equal(frame.payload, [[1, NAN], [NAN, 2], [NAN, NAN]])


def test_columns_have_the_types_of_the_codec(contract):
    frame = next(frames(accepted(contract, message(0)), contract, epoch=1))
    dtypes = [c.dtype for c in (frame.taking_part, frame.offsets, frame.timestamps, frame.payload)]
    assert dtypes == [np.uint16, np.int64, np.int64, np.float64]
    assert (frame.ks.dtype, frame.keys.lengths.dtype) == (np.int32, np.int32)


def test_a_weighted_value_goes_in_as_its_value_and_null_as_nan(contract):
    value = b'{"age": {"value": 28, "weight": 0.3}, "visits": null}'
    frame = next(frames(accepted(contract, message(0, value), message(1)), contract, epoch=1))
    np.testing.assert_array_equal(frame.payload, [[28, NAN], [NAN, NAN]])


def test_each_shard_waits_for_the_latest_of_its_own_offsets(contract):
    events = accepted(
        contract,
        message(0),
        message(1, headers=[("podium-after", b"0@7,2@3")]),
        message(2, headers=[("podium-after", b"0@5,2@9"), ("podium-k", b"1")]),
    )
    made = list(frames(events, contract, epoch=1))
    assert [frame.after for frame in made] == [7, -1, 9]
    assert made[0].ks.tolist() == [5, 5, 1]


def test_a_frame_waits_for_nothing_when_no_event_asks_it_to(contract):
    assert [f.after for f in frames(accepted(contract, message(0)), contract, epoch=1)] == [-1] * 3


rates = st.floats(0, 1e9)


@settings(max_examples=100, deadline=None)
@given(rate=rates, least_ms=st.floats(0, 50), more_ms=st.floats(0, 50))
def test_the_linger_keeps_its_bounds(rate, least_ms, more_ms):
    most_ms = least_ms + more_ms
    assert least_ms / 1e3 <= linger_s(rate, least_ms, most_ms) <= most_ms / 1e3


@settings(max_examples=100, deadline=None)
@given(rate=rates, more=rates)
def test_the_linger_grows_with_the_load(rate, more):
    assert linger_s(rate, 1, 20) <= linger_s(rate + more, 1, 20)


def test_the_linger_is_short_when_idle_and_long_under_load():
    assert linger_s(0, 1, 20) == 0.001
    assert linger_s(1e6, 1, 20) == 0.02
    assert 0.001 < linger_s(200, 1, 20) < 0.02


class Chosen(NamedTuple):
    """Routes that let through what a test says."""

    events: list[list[bool]]  # by shard

    def asked(self, events, numbers):
        assert numbers.shape == (len(events.messages), 2)
        return ShardsToAsk(np.array(self.events), np.array([10, 20, 30]))


@pytest.mark.parametrize("kind", ["ranked", "boolean"])
def test_with_routes_a_shard_gets_its_events_and_waits_for_their_tokens_only(kind):
    contract = event_contract(kind, ["age", "visits"], k=5, max_k=100, shards=3)
    tokens = [b"0@7,2@1", b"0@9,2@5", b"2@8"]
    given = [
        message(40 + i, b'{"age": %d}' % i, key=b"%d" % i, headers=[("podium-after", token)])
        for i, token in enumerate(tokens)
    ]
    events = read_events(given, contract).accepted[0]
    routes = Chosen([[True, False, True], [False] * 3, [True] * 3])
    made = list(frames(events, contract, 77, routes))
    assert [frame.shard for frame in made] == [0, 2]
    for frame, offsets, after in zip(made, [[40, 42], [40, 41, 42]], [7, 8], strict=True):
        assert frame.frame_id == FrameId(0, 77, 40, 42)
        assert frame.taking_part.tolist() == [0, 2]
        assert frame.routes_as_of.tolist() == [10, 20, 30]
        assert (frame.offsets.tolist(), frame.after) == (offsets, after)
        ages = contract.form.numbers(contract.form.unpack(frame.payload))[:, 0].tolist()
        assert ages == [offset - 40 for offset in offsets]
        assert frame.keys.unpack() == [b"%d" % (offset - 40) for offset in offsets]
        assert len(frame.ks) == len(frame.timestamps) == len(offsets)


TRACED = [[True, False, True, False], [True] * 3 + [False], [False] * 4]


@pytest.mark.parametrize(
    ("routes", "carried"),
    [
        pytest.param(None, [{0, 1, 3}, set(), set()], id="the-first-shard-without-routes"),
        pytest.param(Chosen(TRACED), [{0}, {1}], id="the-lowest-that-is-asked"),
    ],
)
def test_one_shard_carries_the_trace_of_an_event(contract, routes, carried):
    parents = [b"00-%032d-%016d-01" % (i + 1, i + 1) for i in range(4)]
    given = [
        message(40 + i, headers=None if i == 2 else [("traceparent", parent)])
        for i, parent in enumerate(parents)
    ]
    made = list(frames(accepted(contract, *given), contract, 77, routes))
    assert len(made) == len(carried)
    for frame, events in zip(made, carried, strict=True):
        told = frame_codec.decode(frame_codec.encode(frame)).traces.headers()
        by_offset = {int(frame.offsets[row]): headers for row, headers in told.items()}
        assert by_offset == {40 + i: [("traceparent", parents[i])] for i in events}


def test_events_that_no_shard_is_asked_about_make_no_frame(contract):
    events = read_events([message(1, b"{}")], contract).accepted[0]
    assert list(frames(events, contract, 77, Chosen([[False]] * 3))) == []


OPEN = event_contract("boolean", [], k=5, max_k=100, shards=1)
wide_names = st.text(st.sampled_from("aé€\U0001f600"), min_size=1, max_size=40)
wide_events = st.dictionaries(wide_names, st.floats(-9, 9) | wide_names, max_size=8)
FRAME_OVERHEAD, EVENT_OVERHEAD = 400, 40


@settings(deadline=None)
@given(events=st.lists(wide_events, min_size=1, max_size=8))
def test_a_frame_is_not_larger_than_what_its_events_count_as(events):
    run = accepted(
        OPEN, *(message(i, json.dumps(event).encode()) for i, event in enumerate(events))
    )
    (frame,) = frames(run, OPEN, epoch=1)
    counted = sum(run.sizes) + FRAME_OVERHEAD + EVENT_OVERHEAD * len(events)
    assert len(frame_codec.encode(frame)) <= counted


def test_a_field_with_a_name_that_no_subscription_can_have_takes_no_room():
    events = [b'{"%06d' % i + b"n" * 1_000_000 + b'": 1}' for i in range(20)]
    run = accepted(OPEN, *(message(i, event) for i, event in enumerate(events)))
    assert sum(run.sizes) == 0
    named = accepted(OPEN, message(0, b'{"%s": 1}' % (b"n" * 256)))
    assert named.sizes[0] > 256


def test_a_frame_names_its_columns_and_where_its_answers_go(contract):
    made = list(frames(accepted(contract, message(0)), contract, epoch=1, answers=3))
    assert {frame.answers for frame in made} == {3}
    assert {frame.fingerprint for frame in made} == {
        frame_codec.fingerprint("ranked", ["age", "visits"])
    }
    others = [
        ("ranked", ["visits", "age"]),
        ("ranked", ["age"]),
        ("relaxed", ["age", "visits"]),
        ("ranked", ["agevisits"]),
    ]
    assert contract.fingerprint not in {frame_codec.fingerprint(*other) for other in others}


def test_a_record_that_fails_as_nobody_has_foreseen_is_a_dead_letter(contract, monkeypatch):
    row = contract.form.row
    monkeypatch.setattr(
        contract.form, "row", lambda value: 1 / 0 if value == b"odd" else row(value)
    )
    reading = read_events([message(0), message(1, b"odd"), message(2)], contract)
    assert [m.offset() for m in reading.accepted[0].messages] == [0, 2]
    (letter,) = reading.letters
    assert (letter.offset, letter.value) == (1, b"odd")
    assert "ZeroDivisionError" in letter.error
