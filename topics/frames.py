"""`frames`: events of one `events` partition, packed in columns, on their way to one shard.

Partition = shard.  A record is a bundle of frames, of different events partitions.  Kept for a
short while only: a frame can be made again from `events`.

    PODF | version | shard u16, attributes u16, shards taking part u16, shards routed u16,
    partition u32, events u32, key bytes u64, epoch i64, first i64, last i64, after i64, mixed u64,
    answers u64, fingerprint u64
    routed i64[r] | offsets i64[m] | timestamps i64[m] | values f64[m, d]
    ks i32[m] | key lengths i32[m] | taking part u16[s] | keys

Events that are not rows of numbers are `mixed` bytes of `topics.events.mixed` in place of the
values, filled up with zeros to a multiple of 8.

`(partition, epoch, first, last)` names the frame in every shard that takes part.  The epoch
grows each time the partition is given to a router, so that an answer to a frame of a router
that died half-way can be told from the answers to its successor's frames.

`answers` is the partition of `partials` that every shard answers into, so that one merger has all
answers to the frame, also while the number of these partitions changes.  `fingerprint` is of the
kind and the attributes that the values are of: a shard of others cannot answer.

With routing a shard gets only the events that its routes let through.  `routed` says for each shard
of the collection up to which subscription offset the routes spoke, less one, that an event which it
did not get was kept from it by.
"""

import hashlib
import json
import struct
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from topics.codecs.byte_strings import Keys
from topics.codecs.columns import PREAMBLE, CodecError, check_lengths, columns_at, join, open_header
from topics.events import mixed as mixed_events
from topics.events.mixed import MixedColumns

MAGIC, VERSION = b"PODF", 3
_HEADER = struct.Struct("<HHHHIIQqqqqQQQ")


NOT_ROUTED = np.empty(0, np.int64)


class FrameName(NamedTuple):
    partition: int  # of the events topic
    epoch: int
    first: int  # offsets of the first and the last event, in whatever shard
    last: int


class Frame(NamedTuple):
    name: FrameName
    shard: int
    taking_part: np.ndarray  # u2[s]  the shards that have to answer
    after: int  # answer only when the subscriptions up to this offset are in
    offsets: np.ndarray  # i8[m]
    timestamps: np.ndarray  # i8[m]  the events' own, in ms
    events: np.ndarray | MixedColumns  # f8[m, d], NaN where the event lacks the attribute
    ks: np.ndarray  # i4[m]
    keys: Keys  # of the events
    routed: np.ndarray = NOT_ROUTED  # i8[r]  by shard
    answers: int = 0  # partition of the partials topic
    fingerprint: int = 0


def fingerprint(kind: str, attributes: Sequence[str]) -> int:
    """Of what a frame's values are; another kind, name or order of names has another one.

    >>> fingerprint("ranked", ["age", "visits"]) == fingerprint("ranked", ["visits", "age"])
    False
    """
    declared = json.dumps([kind, *attributes]).encode()
    return int.from_bytes(hashlib.blake2b(declared, digest_size=8).digest(), "little")


def encode(frame: Frame) -> bytes:
    mixed = b""
    attributes = 0
    if isinstance(frame.events, MixedColumns):
        mixed = mixed_events.encode(frame.events)
        values = np.frombuffer(mixed + bytes(-len(mixed) % 8), np.uint8)
    else:
        values, attributes = frame.events, frame.events.shape[1]
    header = _HEADER.pack(
        frame.shard,
        attributes,
        len(frame.taking_part),
        len(frame.routed),
        frame.name.partition,
        len(frame.offsets),
        frame.keys.data.size,
        frame.name.epoch,
        frame.name.first,
        frame.name.last,
        frame.after,
        len(mixed),
        frame.answers,
        frame.fingerprint,
    )
    columns = [frame.routed, frame.offsets, frame.timestamps, values, frame.ks]
    columns += [frame.keys.lengths, frame.taking_part, frame.keys.data]
    return join(MAGIC, VERSION, header, columns)


def decode(data: bytes | memoryview) -> Frame:
    shard, attributes, taking, shards, partition, events, key_bytes, *rest = open_header(
        data, MAGIC, VERSION, _HEADER
    )
    epoch, first, last, after, mixed, answers, declared = rest
    routed, offsets, timestamps, values, ks, key_lengths, taking_part, keys = columns_at(
        data,
        PREAMBLE.size + _HEADER.size,
        [
            ("<i8", shards),
            ("<i8", events),
            ("<i8", events),
            ("u1", mixed + -mixed % 8) if mixed else ("<f8", events * attributes),
            ("<i4", events),
            ("<i4", events),
            ("<u2", taking),
            ("u1", key_bytes),
        ],
    )
    check_lengths("keys", key_lengths, key_bytes)
    if ks.min(initial=0) < 0:
        raise CodecError(f"got an event that asks for {ks.min()} hits, expected 0 or more")
    return Frame(
        FrameName(partition, epoch, first, last),
        shard,
        taking_part,
        after,
        offsets,
        timestamps,
        mixed_events.decode_columns(values[:mixed].data)
        if mixed
        else values.reshape(events, attributes),
        ks,
        Keys(key_lengths, keys),
        routed,
        answers,
        declared,
    )
