"""`frames`: events of one `events` partition, packed in columns, on their way to one shard.

Partition = shard.  A record is a bundle of frames, of different events partitions.  Kept for a
short while only: a frame can be made again from `events`.

    PODF | version | shard u16, attributes u16, shards taking part u16, shards routed u16,
    partition u32, events u32, key bytes u64, epoch i64, first i64, last i64, after i64, mixed u64,
    answers u64, fingerprint u64, traced u64, trace bytes u64
    routed i64[r] | offsets i64[m] | timestamps i64[m] | values f64[m, d]
    ks i32[m] | key lengths i32[m] | traced rows i32[t] | trace lengths i32[2 t]
    taking part u16[s] | keys | trace texts

Events that are not rows of numbers are `mixed` bytes of `topics.events.mixed` in place of the
values, filled up with zeros to a multiple of 8.

`(partition, epoch, first, last)` names the frame in every shard that takes part.  The epoch
grows each time the partition is given to a router, so that an answer to a frame of a router
that died half-way can be told from the answers to its successor's frames.

`answers` is the partition of `partials` that every shard answers into, so that one merger has all
answers to the frame, also while the number of these partitions changes.  `fingerprint` is of the
kind and the attributes that the values are of, and of how they were read: a shard of others cannot
answer.

With routing a shard gets only the events that its routes let through.  `routes as of` says for each
shard of the collection up to which subscription offset the routes spoke, less one, that an event
which it did not get was kept from it by.
"""

import hashlib
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from topics import traces
from topics.codecs.byte_strings import ByteStrings
from topics.codecs.columns import CodecError, RecordLayout, check_lengths
from topics.traces import NO_TRACES, Traces

MAGIC, VERSION = b"PODF", 4


def _words_of_payload(header: Any) -> int:
    if header.payload_bytes:
        return -(-header.payload_bytes // 8)
    return header.events * header.attributes


_LAYOUT = RecordLayout(
    MAGIC,
    VERSION,
    [
        ("shard", "H"),
        ("attributes", "H"),
        ("shards_taking_part", "H"),
        ("shards_routed", "H"),
        ("partition", "I"),
        ("events", "I"),
        ("key_bytes", "Q"),
        ("epoch", "q"),
        ("first", "q"),
        ("last", "q"),
        ("after", "q"),
        ("payload_bytes", "Q"),
        ("answers", "Q"),
        ("fingerprint", "Q"),
        *traces.FIELDS,
    ],
    [
        ("routes_as_of", "<i8", "shards_routed"),
        ("offsets", "<i8", "events"),
        ("timestamps", "<i8", "events"),
        ("payload", "<f8", _words_of_payload),
        ("ks", "<i4", "events"),
        ("key_lengths", "<i4", "events"),
        *traces.NUMBERS,
        ("taking_part", "<u2", "shards_taking_part"),
        ("keys", "u1", "key_bytes"),
        *traces.TEXTS,
    ],
)

NOT_ROUTED = np.empty(0, np.int64)


class FrameId(NamedTuple):
    partition: int  # of the events topic
    epoch: int
    first: int  # offsets of the first and the last event, in whatever shard
    last: int


class Frame(NamedTuple):
    frame_id: FrameId
    shard: int
    taking_part: np.ndarray  # u2[s]  the shards that have to answer
    after: int  # answer only when the subscriptions up to this offset are in
    offsets: np.ndarray  # i8[m]
    timestamps: np.ndarray  # i8[m]  the events' own, in ms
    payload: np.ndarray  # f8[m, d] or u1[n]  the events, in the form of their kind
    ks: np.ndarray  # i4[m]
    keys: ByteStrings  # of the events
    routes_as_of: np.ndarray = NOT_ROUTED  # i8[r]  by shard
    answers: int = 0  # partition of the partials topic
    fingerprint: int = 0
    traces: Traces = NO_TRACES  # of the events that this frame carries them of


def fingerprint(kind: str, attributes: Sequence[str], reading: Sequence[str] = ()) -> int:
    """Of what a frame's values are; another kind, name or order of names has another one.

    So has what reads the events in another way, as `reading` says.

    >>> fingerprint("ranked", ["age", "visits"]) == fingerprint("ranked", ["visits", "age"])
    False
    """
    said = [list(reading)] if reading else []
    declared = json.dumps([kind, *attributes, *said]).encode()
    return int.from_bytes(hashlib.blake2b(declared, digest_size=8).digest(), "little")


def encode(frame: Frame) -> bytes:
    if frame.payload.ndim == 2:
        payload, attributes, payload_bytes = frame.payload, frame.payload.shape[1], 0
    else:
        attributes, payload_bytes = 0, len(frame.payload)
        payload = np.concatenate((frame.payload, np.zeros(-payload_bytes % 8, np.uint8)))
    return _LAYOUT.write(
        shard=frame.shard,
        attributes=attributes,
        shards_taking_part=len(frame.taking_part),
        shards_routed=len(frame.routes_as_of),
        partition=frame.frame_id.partition,
        events=len(frame.offsets),
        key_bytes=frame.keys.data.size,
        epoch=frame.frame_id.epoch,
        first=frame.frame_id.first,
        last=frame.frame_id.last,
        after=frame.after,
        payload_bytes=payload_bytes,
        answers=frame.answers,
        fingerprint=frame.fingerprint,
        routes_as_of=frame.routes_as_of,
        offsets=frame.offsets,
        timestamps=frame.timestamps,
        payload=payload,
        ks=frame.ks,
        key_lengths=frame.keys.lengths,
        taking_part=frame.taking_part,
        keys=frame.keys.data,
        **frame.traces.as_columns(),
    )


def decode(data: bytes | memoryview) -> Frame:
    read = _LAYOUT.read(data)
    check_lengths("keys", read.key_lengths, read.key_bytes)
    if read.ks.min(initial=0) < 0:
        raise CodecError(f"got an event that asks for {read.ks.min()} hits, expected 0 or more")
    if read.payload_bytes:
        payload = read.payload.view(np.uint8)[: read.payload_bytes]
    else:
        payload = read.payload.reshape(read.events, read.attributes)
    return Frame(
        frame_id=FrameId(read.partition, read.epoch, read.first, read.last),
        shard=read.shard,
        taking_part=read.taking_part,
        after=read.after,
        offsets=read.offsets,
        timestamps=read.timestamps,
        payload=payload,
        ks=read.ks,
        keys=ByteStrings(read.key_lengths, read.keys),
        routes_as_of=read.routes_as_of,
        answers=read.answers,
        fingerprint=read.fingerprint,
        traces=Traces.from_columns(read, read.events),
    )
