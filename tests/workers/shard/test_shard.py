import json
import math

import numpy as np
import pytest
from confluent_kafka import Message
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import collection as oracle
from topics import frames, partials
from topics.codecs.byte_strings import ByteStrings
from topics.codecs.columns import bundle
from topics.frames import Frame, FrameId
from topics.limits import EVENTS_PER_FRAME_RECORD_BYTES, FRAME_BYTES, HITS_PER_FRAME_RECORD
from topics.subscriptions import MAX_ID_BYTES
from workers.shard.changes import read_changes
from workers.shard.shard import Shard, ShardInconsistent

ATTRIBUTES = ("age", "visits")
NAN = math.nan
ANY_AGE = b'{"where": {"age": [0, 9]}, "score": 1}'


def new_shard(kind="ranked", attributes=ATTRIBUTES):
    return Shard(0, kind, attributes)


def open_shard():
    shard = new_shard()
    shard.open()
    return shard


@pytest.fixture
def shard():
    return open_shard()


def apply(shard, *records, first=None):
    """Records given as (key, value), at the offsets that follow; the only shard has them all."""
    start = shard.next_offset if first is None else first
    messages = [
        Message(topic="subscriptions", partition=0, offset=start + i, key=key, value=value)
        for i, (key, value) in enumerate(records)
    ]
    shard.apply(read_changes(messages, shard.contract, 1))


def wanting(where, score):
    return json.dumps({"where": where, "score": score}).encode()


def frame(*events, ks=None, shard=0):
    """A frame of events given as (age, visits)."""
    n = len(events)
    return Frame(
        FrameId(3, 77, 40, 40 + max(n - 1, 0)),
        shard,
        np.array([0, 1], np.uint16),
        -1,
        np.arange(40, 40 + n),
        np.arange(n) + 1000,
        np.array(events, np.float64).reshape(n, len(events[0]) if n else 2),
        np.array([10] * n if ks is None else ks, np.int32),
        ByteStrings.pack([b"visitor", None, b""][:n] + [b"more"] * (n - 3)),
    )


def answers(partial):
    """Per event a list of (id text, offset, score)."""
    hits = list(
        zip(partial.id_texts.unpack(), partial.ids.tolist(), partial.scores.tolist(), strict=True)
    )
    ends = np.cumsum(partial.counts).tolist()
    return [hits[end - n : end] for end, n in zip(ends, partial.counts.tolist(), strict=True)]


def test_hits_come_best_first_and_ties_go_to_the_older(shard):
    apply(
        shard,
        (b"late", wanting({}, 2)),
        (b"best", wanting({"age": [20, 30]}, 9)),
        (b"tied", wanting({"age": [30, None]}, 2)),
        (b"other", wanting({"age": [31, None]}, 9)),
    )
    assert answers(shard.answer(frame((30, NAN)))) == [
        [(b'"best"', 1, 9.0), (b'"late"', 0, 2.0), (b'"tied"', 2, 2.0)]
    ]


def test_an_update_makes_a_subscription_younger(shard):
    apply(shard, (b"a", wanting({}, 1)), (b"b", wanting({}, 1)))
    apply(shard, (b"a", wanting({}, 1)))
    assert answers(shard.answer(frame((0, 0)))) == [[(b'"b"', 1, 1.0), (b'"a"', 2, 1.0)]]
    assert len(shard) == 2


def test_an_unsubscription_takes_the_subscription_away(shard):
    apply(shard, (b"a", wanting({}, 1)), (b"b", wanting({}, 1)))
    apply(shard, (b"a", None), (b"nobody", None))
    assert answers(shard.answer(frame((0, 0)))) == [[(b'"b"', 1, 1.0)]]
    assert len(shard) == 1


def test_an_event_that_lacks_an_attribute_meets_no_interval_on_it(shard):
    apply(shard, (b"any age", wanting({"age": [None, None]}, 1)), (b"all", wanting({}, 1)))
    assert answers(shard.answer(frame((NAN, 1), (5, NAN)))) == [
        [(b'"all"', 1, 1.0)],
        [(b'"any age"', 0, 1.0), (b'"all"', 1, 1.0)],
    ]


def test_each_event_gets_as_many_as_it_asks_for(shard):
    apply(shard, *((f"s{i}".encode(), wanting({}, i)) for i in range(5)))
    partial = shard.answer(frame(*[(0, 0)] * 4, ks=[0, 2, 9, 1]))
    assert partial.counts.tolist() == [0, 2, 5, 1]
    assert [[text for text, _, _ in hits] for hits in answers(partial)] == [
        [],
        [b'"s4"', b'"s3"'],
        [b'"s4"', b'"s3"', b'"s2"', b'"s1"', b'"s0"'],
        [b'"s4"'],
    ]


def test_an_answer_carries_what_the_merger_needs_of_the_frame(shard):
    given = frame((1, 2), (3, 4), (5, 6), ks=[1, 2, 3])
    partial = shard.answer(given)
    assert (partial.frame_id, partial.shard) == (given.frame_id, 0)
    assert partial.taking_part.tolist() == [0, 1]
    assert partial.offsets.tolist() == [40, 41, 42]
    assert partial.timestamps.tolist() == [1000, 1001, 1002]
    assert partial.ks.tolist() == [1, 2, 3]
    assert partial.keys.unpack() == [b"visitor", None, b""]


def test_an_answer_says_the_last_offset_that_was_applied(shard):
    assert shard.answer(frame((0, 0))).as_of == -1
    apply(shard, (b"a", wanting({}, 1)), first=17)
    assert shard.answer(frame((0, 0))).as_of == 17
    apply(shard, (b"b", b"not json"))
    assert shard.answer(frame((0, 0))).as_of == 18


def test_an_empty_shard_answers_without_hits(shard):
    partial = shard.answer(frame((1, 2), (3, 4)))
    assert partial.counts.tolist() == [0, 0]
    assert len(partial.ids) == len(partial.scores) == len(partial.id_texts.lengths) == 0


@pytest.mark.parametrize("events", [(), ((1, 2),)], ids=["no-events", "k-of-zero"])
def test_a_frame_that_asks_for_nothing_gets_nothing(shard, events):
    apply(shard, (b"a", wanting({}, 1)))
    partial = shard.answer(frame(*events, ks=[0] * len(events)))
    assert partial.counts.tolist() == [0] * len(events)
    assert len(partial.ids) == 0


def test_a_restored_shard_still_knows_every_id(shard):
    ids = [b"plain", b'"quoted" \\', "größe".encode(), b"tab\t"]
    apply(shard, *((id, wanting({}, 1)) for id in ids), (b"gone", wanting({}, 1)), (b"gone", None))
    other = restored(shard, "ranked")
    assert answers(other.answer(frame((0, 0)))) == answers(shard.answer(frame((0, 0))))
    apply(other, *((id, None) for id in ids))
    assert len(other) == 0


def test_a_restored_shard_knows_how_old_its_base_is(shard):
    """Or it would take one that is older."""
    apply(shard, (b"a", wanting({}, 1)), (b"b", wanting({}, 1)))
    shard.begin_rebuild().index.rebase()
    shard.end_rebuild(1)
    assert restored(shard, "ranked").base_offset == 1
    shard.begin_rebuild()
    shard.end_rebuild(3)
    with pytest.raises(ValueError, match="got 3, expected at most 2"):
        new_shard("ranked").restore(shard.to_arrays(), shard.next_offset)


def test_a_shard_that_cannot_be_restored_is_as_it_was(shard):
    apply(shard, (b"a", wanting({}, 1)))
    arrays = shard.to_arrays()
    del arrays["index.scores"]
    with pytest.raises(TypeError):
        shard.restore(arrays, 99)
    assert (len(shard), shard.next_offset) == (1, 1)


def test_the_answer_to_a_frame_off_the_wire_goes_back_on_it(shard):
    apply(shard, (b'"quoted" \\', wanting({"age": [1, 2]}, 1.5)))
    decoded = frames.decode(frames.encode(frame((1, NAN), (3, 3), (2, 0))))
    partial = shard.answer(decoded)
    back = partials.decode(partials.encode(partial))
    assert answers(back) == answers(partial)
    assert answers(back) == [[(rb'"\"quoted\" \\"', 0, 1.5)], [], [(rb'"\"quoted\" \\"', 0, 1.5)]]
    assert back.keys.unpack() == [b"visitor", None, b""]


@pytest.mark.parametrize("letter", ["x", "é", '"'], ids=["plain", "unicode", "escaped"])
def test_the_largest_answer_that_a_record_may_ask_for_fits_into_its_topic(shard, letter):
    """The longest ids, as JSON spells them, and as many bytes of event keys as there may be."""
    fill = letter * ((MAX_ID_BYTES - 4) // len(letter.encode()))
    apply(shard, *((f"{i:04}{fill}".encode(), wanting({}, 1)) for i in range(1000)))
    events = HITS_PER_FRAME_RECORD // 1000
    keys = [bytes(EVENTS_PER_FRAME_RECORD_BYTES // events)] * events
    asked = frame(*[(0, 0)] * events, ks=[1000] * events)._replace(keys=ByteStrings.pack(keys))
    partial = shard.answer(asked)
    assert len(partial.ids) == HITS_PER_FRAME_RECORD
    size = len(bundle([partials.encode(partial)]))
    assert size < FRAME_BYTES


coarse = st.integers(0, 4)
ends = st.one_of(st.none(), coarse)
intervals = st.tuples(ends, ends).filter(lambda e: None in e or e[0] <= e[1]).map(list)
coordinates = st.one_of(st.just(NAN), coarse.map(float))


@st.composite
def subscriptions(draw, kind, attributes):
    least = 1 if kind == "relaxed" else 0
    names = draw(st.lists(st.sampled_from(attributes), min_size=least, unique=True))
    where = {name: draw(intervals) for name in names}
    if kind == "relaxed":
        weights = {name: draw(st.sampled_from([0.5, 1, 2.5])) for name in names}
        return json.dumps({"where": where, "weights": weights}).encode()
    return wanting(where, draw(st.sampled_from([-1, 0, 1, 2.5])))


def batches_of(kind, attributes):
    wanted = subscriptions(kind, attributes)
    values = st.one_of(wanted, wanted, wanted, st.none(), st.just(b"not json"))
    batch = st.lists(st.tuples(st.integers(0, 12), values), min_size=1, max_size=12)
    return st.lists(st.tuples(batch, st.sampled_from(RENEWAL_STEPS)), max_size=6)


# What happens to the index after a batch.
RENEWAL_STEPS = ["nothing", "begin", "rebuild", "catch up", "end", "open", "restore"]


def restored(shard, kind):
    """The shard as it comes out of a snapshot, where nothing can be written to."""
    arrays = {name: array.copy() for name, array in shard.to_arrays().items()}
    for array in arrays.values():
        array.flags.writeable = False
    other = new_shard(kind, shard.contract.attributes)
    other.restore(arrays, shard.next_offset)
    again = other.to_arrays()
    assert {n: a.tobytes() for n, a in again.items()} == {n: a.tobytes() for n, a in arrays.items()}
    other.open()
    return other


def rebuild_in_steps(shard, step, rebuild):
    """Take one step of a rebuild if it is its turn; the rebuild under way, or None."""
    if step == "open":
        shard.open()
    elif rebuild is None:
        return shard.begin_rebuild() if step == "begin" else None
    elif step == "rebuild":
        rebuild.index.rebase()
    elif step == "catch up":
        rebuild.catch_up()
    elif step == "end":
        shard.end_rebuild(shard.next_offset)
        return None
    return rebuild


@pytest.mark.parametrize(
    ("kind", "attributes"),
    [
        ("ranked", ("age",)),
        ("ranked", ATTRIBUTES),
        ("relaxed", ("age",)),
        ("relaxed", ATTRIBUTES),
    ],
    ids=["ranked-1", "ranked-2", "relaxed-1", "relaxed-2"],
)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_answers_are_those_of_a_scan_of_what_is_live(kind, attributes, data):
    shard, rebuild = new_shard(kind, attributes), None
    log = []
    batches, replayed = data.draw(batches_of(kind, attributes)), data.draw(st.integers(0, 6))
    for at, (batch, step) in enumerate(batches):
        records = [(f"s {i}".encode(), value) for i, value in batch]
        log += [(len(log) + i, key, value) for i, (key, value) in enumerate(records)]
        apply(shard, *records)
        if at == replayed:
            shard.open()
        if at >= replayed:
            rebuild = rebuild_in_steps(shard, step, rebuild)
        if at >= replayed and step == "restore" and rebuild is None:
            shard = restored(shard, kind)
    if len(batches) <= replayed:
        shard.open()

    asked = st.tuples(st.tuples(*[coordinates] * len(attributes)), st.integers(0, 6))
    events = data.draw(st.lists(asked, min_size=1, max_size=6))
    partial = shard.answer(frame(*[values for values, _ in events], ks=[k for _, k in events]))
    judge = oracle.Collection(kind, attributes, [log])
    for hits, (values, k) in zip(answers(partial), events, strict=True):
        event = dict(zip(attributes, (None if math.isnan(v) else v for v in values), strict=True))
        wanted = judge.top_k(event, k, [len(log) - 1])
        assert [(json.loads(text), score) for text, _, score in hits] == wanted
        assert [log[offset][1].decode() for _, offset, _ in hits] == [name for name, _ in wanted]
    assert partial.as_of == len(log) - 1
    refused = {refusal.offset for refusal in judge.refused}
    latest = {key: value for offset, key, value in log if offset not in refused}
    assert len(shard) == sum(value is not None for value in latest.values())
    assert shard.nbytes > 0


def test_a_boolean_shard_forgets_strings_that_nobody_names_any_more(monkeypatch):
    monkeypatch.setattr("indexes.boolean.matcher._FEW_STRINGS", 100)
    shard = new_shard("boolean", ("user", "pay"))
    shard.open()
    for turn in range(12):
        named = ({"attr": "user", "op": "=", "value": f"{turn}-{i}"} for i in range(10))
        apply(shard, *((b"%d" % i, json.dumps({"all": [p]}).encode()) for i, p in enumerate(named)))
    assert shard.is_worn
    rebuild = shard.begin_rebuild()
    apply(shard, (b"0", None))  # what changes meanwhile is not lost
    rebuild.index.rebase()
    shard.end_rebuild(shard.next_offset)
    assert not shard.is_worn
    assert len(shard) == 9


def test_a_boolean_shard_tells_how_many_conjunctions_have_no_place(monkeypatch):
    monkeypatch.setattr("indexes.boolean.naming.MOST_COLUMNS", 4)
    shard = new_shard("boolean", ())
    shard.open()
    for i in range(6):
        body = {"all": [{"attr": f"n{i}", "op": "=", "value": 1}]}
        apply(shard, (b"%d" % i, json.dumps(body).encode()))
    assert (len(shard), shard.unplaced) == (6, 3)  # one column is kept for those without
    again = new_shard("boolean", ())
    again.restore(shard.to_arrays(), shard.next_offset)
    assert again.unplaced == 3
    assert new_shard("ranked").unplaced == 0


@pytest.mark.parametrize("kind", ["ranked", "relaxed"])
def test_a_stale_shard_is_set_in_order_beside_its_frames(kind):
    shard, rows = new_shard(kind), 4000
    ends = {"age": [0, 9]}
    body = (
        {"where": ends, "score": 1} if kind == "ranked" else {"where": ends, "weights": {"age": 1}}
    )
    value = json.dumps(body).encode()
    apply(shard, *((b"%d" % i, value) for i in range(rows)))
    shard.open()
    assert not shard.is_stale
    apply(shard, *((b"%d" % i, value) for i in range(700)))  # each goes, and comes
    assert shard.is_stale
    base_offset, rebuild = shard.base_offset, shard.begin_rebuild()
    assert not shard.is_stale  # one rebuild at a time
    apply(shard, (b"9", None))  # what changes meanwhile is not lost
    rebuild.index.refresh()
    shard.end_rebuild(base_offset)
    assert not shard.is_stale
    (hits,) = answers(shard.answer(frame((5, NAN), ks=[rows])))
    assert len(hits) == len(shard) == rows - 1


def forget_a_key(shard):
    shard._keys.remove_many([b"a"])


def forget_a_row(shard):
    shard._index.delete_many(np.array([0]))


def mix_up(shard):
    """Rows of the key table that were found before it was written anew."""
    found = shard._keys._find

    def stale(texts):
        hashes, rows = found(texts)
        return hashes, rows[::-1].copy()

    shard._keys._find = stale


@pytest.mark.parametrize(
    ("break_", "act"),
    [
        (forget_a_key, lambda shard: shard.answer(frame((5, 5)))),
        (forget_a_key, Shard.to_arrays),
        (forget_a_row, Shard.to_arrays),
        (forget_a_row, lambda shard: apply(shard, (b"a", None))),
        (mix_up, lambda shard: apply(shard, (b"a", ANY_AGE), (b"b", ANY_AGE))),
    ],
    ids=["key-answer", "key-snapshot", "row-snapshot", "row-change", "mixed-up"],
)
def test_keys_and_index_that_differ_are_noticed(shard, break_, act):
    apply(shard, (b"a", ANY_AGE), (b"b", ANY_AGE), (b"c", ANY_AGE))
    assert shard.is_consistent
    break_(shard)
    with pytest.raises(ShardInconsistent, match="shard 0 at offset 3"):
        act(shard)
    assert not shard.is_consistent
