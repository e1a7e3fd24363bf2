"""`matches`: for each event its best subscriptions, best first.

Key: the event's key.  Header `podium-as-of`: the subscriptions it was computed from.  The
record id, `event`, is where the event lies, so that a consumer can drop a repeat.

    {"event": "podium.ads.events[3]@1042", "matches": [{"id": "ad-7", "score": 9.1}]}
"""

import itertools
import re
from typing import Annotated, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta, Struct
from numba import njit

_EVENT = re.compile(r"(?P<topic>.+)\[(?P<partition>\d+)\]@(?P<offset>\d+)")


class Match(Struct, frozen=True):
    id: str
    score: float


class MatchRecord(Struct, frozen=True):
    event: Annotated[str, Meta(pattern=r"^.+\[\d+\]@\d+$", description="topic[partition]@offset")]
    matches: list[Match]


class EventPlace(NamedTuple):
    topic: str
    partition: int
    offset: int


_decoder = msgspec.json.Decoder(MatchRecord)


def decode(value: bytes) -> MatchRecord:
    return _decoder.decode(value)


def event_place(event: str) -> EventPlace:
    """
    >>> event_place("podium.ads.events[3]@1042")
    EventPlace(topic='podium.ads.events', partition=3, offset=1042)
    """
    found = _EVENT.fullmatch(event)
    if not found:
        raise ValueError(f"got {event!r}, expected topic[partition]@offset")
    return EventPlace(found["topic"], int(found["partition"]), int(found["offset"]))


class Hits(NamedTuple):
    """Merged hits of the events of one partition, event by event, best first."""

    counts: np.ndarray  # i8[m]  hits of each event
    scores: np.ndarray  # f8[h]
    text_starts: np.ndarray  # i8[h]  where each hit's id text starts in `texts`
    text_lengths: np.ndarray  # i4[h]
    texts: np.ndarray  # u1[...]  ids as JSON strings, with quotes


def encode_many(topic: str, partition: int, offsets: np.ndarray, hits: Hits) -> list[bytes]:
    """The JSON of one match record an event, written by one compiled call.

    Numbers are formatted by msgspec for all hits at once; the kernel finds them again by the
    commas between them.
    """
    prefix = b'{"event":' + msgspec.json.encode(f"{topic}[{partition}]@")[:-1]
    numbers = msgspec.json.encode(hits.scores.tolist())
    buffer, ends = _write(
        np.frombuffer(prefix, np.uint8), offsets, hits, np.frombuffer(numbers, np.uint8)
    )
    text, cuts = buffer.tobytes(), [0, *ends.tolist()]
    return [text[start:end] for start, end in itertools.pairwise(cuts)]


_MATCHES = np.frombuffer(b'","matches":[', np.uint8)
_ID = np.frombuffer(b'{"id":', np.uint8)
_SCORE = np.frombuffer(b',"score":', np.uint8)
_COMMA, _BRACE, _BRACKET = ord(","), ord("}"), ord("]")


@njit(cache=True)
def _write(prefix, offsets, hits, numbers):
    record = len(prefix) + 19 + len(_MATCHES) + 2
    a_hit = len(_ID) + len(_SCORE) + 2
    size = len(offsets) * record + len(numbers) + len(hits.scores) * a_hit
    buffer = np.empty(size + hits.text_lengths.sum(), np.uint8)
    ends = np.empty(len(offsets), np.int64)
    at, hit, number = 0, 0, 1  # `numbers` starts with a bracket
    for i in range(len(offsets)):
        at = _copy(buffer, at, prefix, 0, len(prefix))
        at = _digits(buffer, at, offsets[i])
        at = _copy(buffer, at, _MATCHES, 0, len(_MATCHES))
        for rank in range(hits.counts[i]):
            if rank:
                buffer[at] = _COMMA
                at += 1
            at, number = _write_hit(buffer, at, hits, hit, numbers, number)
            hit += 1
        buffer[at], buffer[at + 1] = _BRACKET, _BRACE
        at += 2
        ends[i] = at
    return buffer[:at], ends


@njit(cache=True)
def _write_hit(buffer, at, hits, hit, numbers, number):
    end = number
    while numbers[end] != _COMMA and numbers[end] != _BRACKET:
        end += 1
    at = _copy(buffer, at, _ID, 0, len(_ID))
    at = _copy(buffer, at, hits.texts, hits.text_starts[hit], hits.text_lengths[hit])
    at = _copy(buffer, at, _SCORE, 0, len(_SCORE))
    at = _copy(buffer, at, numbers, number, end - number)
    buffer[at] = _BRACE
    return at + 1, end + 1


@njit(cache=True)
def _copy(buffer, at, source, start, length):
    for i in range(length):
        buffer[at + i] = source[start + i]
    return at + length


@njit(cache=True)
def _digits(buffer, at, number):
    length, rest = 1, number // 10
    while rest:
        length, rest = length + 1, rest // 10
    for i in range(length - 1, -1, -1):
        buffer[at + i] = ord("0") + number % 10
        number //= 10
    return at + length
