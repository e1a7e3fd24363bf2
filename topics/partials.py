"""`partials`: one shard's answer to one frame, on its way to the merger.

Partition = the one that the frame names, so that one merger sees every shard's answers to a frame,
and each shard's in the order it gave them.  A record is a bundle.

    PODP | version | shard u16, shards taking part u16, partition u32, events u32, hits u32,
    key bytes u64, id bytes u64, epoch i64, first i64, last i64, as of i64, shards routed u64
    routed i64[r] | offsets i64[m] | timestamps i64[m] | scores f64[h] | ids i64[h]
    ks i32[m] | key lengths i32[m] | counts i32[m] | id text lengths i32[h]
    taking part u16[s] | keys | id texts

`ids` are subscription offsets, which break ties; an id text is the subscription's id as a JSON
string, quotes and escapes included, ready to be copied into match records.
"""

import struct
from typing import NamedTuple

import numpy as np

from topics.codecs.byte_strings import Keys
from topics.codecs.columns import PREAMBLE, CodecError, check_lengths, columns_at, join, open_header
from topics.frames import NOT_ROUTED, FrameName

MAGIC, VERSION = b"PODP", 2
_HEADER = struct.Struct("<HHIIIQQqqqqQ")


class Partial(NamedTuple):
    frame: FrameName
    shard: int
    taking_part: np.ndarray  # u2[s]
    as_of: int  # last subscription offset that the shard had applied
    offsets: np.ndarray  # i8[m]  of the events
    timestamps: np.ndarray  # i8[m]
    ks: np.ndarray  # i4[m]
    keys: Keys  # of the events
    counts: np.ndarray  # i4[m]  hits of each event
    scores: np.ndarray  # f8[h]  hits of all events, event by event, best first
    ids: np.ndarray  # i8[h]
    id_texts: Keys
    routed: np.ndarray = NOT_ROUTED  # i8[r]  as the frame has it


def encode(partial: Partial) -> bytes:
    header = _HEADER.pack(
        partial.shard,
        len(partial.taking_part),
        partial.frame.partition,
        len(partial.offsets),
        len(partial.ids),
        partial.keys.data.size,
        partial.id_texts.data.size,
        partial.frame.epoch,
        partial.frame.first,
        partial.frame.last,
        partial.as_of,
        len(partial.routed),
    )
    columns = [
        partial.routed,
        partial.offsets,
        partial.timestamps,
        partial.scores,
        partial.ids,
        partial.ks,
        partial.keys.lengths,
        partial.counts,
        partial.id_texts.lengths,
        partial.taking_part,
        partial.keys.data,
        partial.id_texts.data,
    ]
    return join(MAGIC, VERSION, header, columns)


def decode(data: bytes | memoryview) -> Partial:
    (
        shard,
        taking,
        partition,
        events,
        hits,
        key_bytes,
        id_bytes,
        epoch,
        first,
        last,
        as_of,
        shards,
    ) = open_header(data, MAGIC, VERSION, _HEADER)
    routed, offsets, timestamps, scores, ids, ks, key_lengths, counts, id_lengths, *rest = (
        columns_at(
            data,
            PREAMBLE.size + _HEADER.size,
            [
                ("<i8", shards),
                ("<i8", events),
                ("<i8", events),
                ("<f8", hits),
                ("<i8", hits),
                ("<i4", events),
                ("<i4", events),
                ("<i4", events),
                ("<i4", hits),
                ("<u2", taking),
                ("u1", key_bytes),
                ("u1", id_bytes),
            ],
        )
    )
    taking_part, keys, id_texts = rest
    check_lengths("keys", key_lengths, key_bytes)
    check_lengths("ids", id_lengths, id_bytes)
    if counts.min(initial=0) < 0 or counts.sum(dtype=np.int64) != hits:
        raise CodecError(f"got counts of hits that do not add up to {hits}")
    return Partial(
        FrameName(partition, epoch, first, last),
        shard,
        taking_part,
        as_of,
        offsets,
        timestamps,
        ks,
        Keys(key_lengths, keys),
        counts,
        scores,
        ids,
        Keys(id_lengths, id_texts),
        routed,
    )
