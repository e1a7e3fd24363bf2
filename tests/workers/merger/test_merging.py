"""Merging of answers."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.workers.merger.answers import merged_hits, partial
from topics.frames import FrameId
from topics.traces import Traces
from workers.merger.assembly import merge


def test_hits_of_all_shards_are_merged_best_first():
    frame = merge(
        [
            partial({5: (3, [(9.0, 4), (1.0, 7)])}, shard=0, as_of=40),
            partial({5: (3, [(5.0, 2), (2.0, 3)])}, shard=1, as_of=-1),
        ]
    )
    assert merged_hits(frame) == [[(b'"0/4"', 9.0), (b'"1/2"', 5.0), (b'"1/3"', 2.0)]]
    assert frame.as_of == [{0: 40, 1: -1}]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_ties_go_to_the_older_offset_and_then_to_the_lower_shard(order):
    answers = [
        partial({5: (9, [(1.0, 6), (1.0, 8)])}, shard=0),
        partial({5: (9, [(1.0, 2), (1.0, 6)])}, shard=1),
        partial({5: (9, [(1.0, 6), (0.5, 1)])}, shard=2),
    ]
    frame = merge([answers[shard] for shard in order])
    ids = [text for text, _ in merged_hits(frame)[0]]
    assert ids == [b'"1/2"', b'"0/6"', b'"1/6"', b'"2/6"', b'"0/8"', b'"2/1"']


def test_a_negative_zero_ties_with_zero():
    frame = merge([partial({5: (2, [(0.0, 8)])}, shard=0), partial({5: (2, [(-0.0, 3)])}, shard=1)])
    assert [text for text, _ in merged_hits(frame)[0]] == [b'"1/3"', b'"0/8"']


def test_what_belongs_to_the_events_is_kept():
    name = FrameId(7, 1, 40, 42)
    keys = {40: None, 41: b"", 42: b"visitor"}
    answers = [
        partial({o: (1, []) for o in keys}, shard=shard, name=name, key_of=keys.get)
        for shard in (0, 1)
    ]
    frame = merge(answers)
    assert frame.partition == 7
    assert frame.offsets.tolist() == [40, 41, 42]
    assert frame.timestamps.tolist() == [1040, 1041, 1042]
    assert frame.keys == [None, b"", b"visitor"]
    assert merged_hits(frame) == [[], [], []]


def test_a_single_shard_is_its_own_answer():
    frame = merge([partial({5: (2, [(2.0, 1), (1.0, 0)]), 9: (1, [])}, shards=(0,))])
    assert merged_hits(frame) == [[(b'"0/1"', 2.0), (b'"0/0"', 1.0)], []]


def test_a_shard_that_was_asked_about_fewer_events_leaves_the_others_whole():
    frame = merge(
        [
            partial({5: (2, [(1.0, 0)])}, shard=0),
            partial({5: (2, [(2.0, 0)]), 8: (3, [(3.0, 4)])}, shard=1),
        ]
    )
    assert frame.offsets.tolist() == [5, 8]
    assert frame.timestamps.tolist() == [1005, 1008]
    assert frame.keys == [b"5", b"8"]
    assert merged_hits(frame) == [[(b'"1/0"', 2.0), (b'"0/0"', 1.0)], [(b'"1/4"', 3.0)]]


def test_shards_that_were_asked_about_different_events_are_laid_side_by_side():
    frame = merge(
        [
            partial({6: (1, [(1.0, 0)])}, shard=0),
            partial({5: (1, [(2.0, 0)]), 8: (1, [])}, shard=1),
        ]
    )
    assert frame.offsets.tolist() == [5, 6, 8]
    assert frame.keys == [b"5", b"6", b"8"]
    assert merged_hits(frame) == [[(b'"1/0"', 2.0)], [(b'"0/0"', 1.0)], []]


def test_the_trace_of_an_event_is_found_whichever_shard_carries_it():
    first = partial({6: (1, [(1.0, 0)]), 8: (1, [])}, shard=0)
    second = partial({5: (1, []), 8: (1, [])}, shard=1)
    frame = merge(
        [
            first._replace(traces=Traces.of([None, (b"of-8", b"state")])),
            second._replace(traces=Traces.of([(b"of-5", None), None])),
        ]
    )
    assert frame.traces == {
        0: [("traceparent", b"of-5")],
        2: [("traceparent", b"of-8"), ("tracestate", b"state")],
    }


@st.composite
def frames_of_hits(draw):
    """For each shard the events it was asked about, with hits in the order a shard gives them."""
    shards = draw(st.integers(1, 4))
    ks = draw(st.dictionaries(st.integers(0, 20), st.integers(0, 6), min_size=1, max_size=6))
    hit = st.tuples(st.sampled_from([-1.0, 0.0, 1.0, 2.5]), st.integers(0, 6))
    answers = []
    for shard in range(shards):
        asked = draw(st.sets(st.sampled_from(sorted(ks)), min_size=1))
        asked = sorted(ks) if draw(st.booleans()) else sorted(asked)
        events = {}
        for offset in asked:
            hits = draw(st.lists(hit, max_size=6, unique_by=lambda hit: hit[1]))
            events[offset] = (ks[offset], sorted(hits, key=lambda h: (-h[0], h[1]))[: ks[offset]])
        given = partial(events, shard=shard, shards=range(shards), as_of=shard * 10)
        answers.append(given._replace(routes_as_of=np.arange(shards + 1) + 1000))
    return answers


def naive_merge(answers):
    everything = defaultdict(list)
    ks = {}
    for answer in answers:
        at = 0
        for offset, k, count in zip(
            answer.offsets.tolist(), answer.ks.tolist(), answer.counts.tolist(), strict=True
        ):
            ks[offset] = k
            for i in range(at, at + count):
                everything[offset].append((-answer.scores[i], answer.ids[i], answer.shard))
            at += count
    return {
        offset: [
            (b'"%d/%d"' % (shard, id), -negated)
            for negated, id, shard in sorted(everything[offset])[:k]
        ]
        for offset, k in sorted(ks.items())
    }


@settings(max_examples=150, deadline=None)
@given(answers=frames_of_hits(), data=st.data())
def test_merging_is_sorting(answers, data):
    expected = naive_merge(answers)
    frame = merge(data.draw(st.permutations(answers)))
    assert frame.offsets.tolist() == list(expected)
    assert merged_hits(frame) == list(expected.values())
    assert frame.keys == [b"%d" % offset for offset in expected]
    assert frame.timestamps.tolist() == [offset + 1000 for offset in expected]
    for offset, by in zip(expected, frame.as_of_by.tolist(), strict=True):
        asked = [answer.shard for answer in answers if offset in answer.offsets]
        left_out = {shard: shard + 1000 for shard in range(len(answers) + 1)}
        assert frame.as_of[by] == left_out | {shard: shard * 10 for shard in asked}
