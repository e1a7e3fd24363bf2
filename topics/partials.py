"""`partials`: one shard's answer to one frame, on its way to the merger.

Partition = the one that the frame names, so that one merger sees every shard's answers to a frame,
and each shard's in the order it gave them.  A record is a bundle.

    PODP | version | shard u16, shards taking part u16, partition u32, events u32, hits u32,
    key bytes u64, id bytes u64, epoch i64, first i64, last i64, as of i64, shards routed u64,
    traced u64, trace bytes u64
    routes as of i64[r] | offsets i64[m] | timestamps i64[m] | scores f64[h] | ids i64[h]
    ks i32[m] | key lengths i32[m] | counts i32[m] | id text lengths i32[h] | traced rows i32[t]
    trace lengths i32[2 t] | taking part u16[s] | keys | id texts | trace texts

`ids` are subscription offsets, which break ties; an id text is the subscription's id as a JSON
string, quotes and escapes included, ready to be copied into match records.
"""

from typing import NamedTuple

import numpy as np

from topics import traces
from topics.codecs.byte_strings import ByteStrings
from topics.codecs.columns import CodecError, RecordLayout, check_lengths
from topics.frames import NOT_ROUTED, FrameId
from topics.traces import NO_TRACES, Traces

MAGIC, VERSION = b"PODP", 3
_LAYOUT = RecordLayout(
    MAGIC,
    VERSION,
    [
        ("shard", "H"),
        ("shards_taking_part", "H"),
        ("partition", "I"),
        ("events", "I"),
        ("hits", "I"),
        ("key_bytes", "Q"),
        ("id_bytes", "Q"),
        ("epoch", "q"),
        ("first", "q"),
        ("last", "q"),
        ("as_of", "q"),
        ("shards_routed", "Q"),
        *traces.FIELDS,
    ],
    [
        ("routes_as_of", "<i8", "shards_routed"),
        ("offsets", "<i8", "events"),
        ("timestamps", "<i8", "events"),
        ("scores", "<f8", "hits"),
        ("ids", "<i8", "hits"),
        ("ks", "<i4", "events"),
        ("key_lengths", "<i4", "events"),
        ("counts", "<i4", "events"),
        ("id_lengths", "<i4", "hits"),
        *traces.NUMBERS,
        ("taking_part", "<u2", "shards_taking_part"),
        ("keys", "u1", "key_bytes"),
        ("id_texts", "u1", "id_bytes"),
        *traces.TEXTS,
    ],
)


class Partial(NamedTuple):
    frame_id: FrameId
    shard: int
    taking_part: np.ndarray  # u2[s]
    as_of: int  # last subscription offset that the shard had applied
    offsets: np.ndarray  # i8[m]  of the events
    timestamps: np.ndarray  # i8[m]
    ks: np.ndarray  # i4[m]
    keys: ByteStrings  # of the events
    counts: np.ndarray  # i4[m]  hits of each event
    scores: np.ndarray  # f8[h]  hits of all events, event by event, best first
    ids: np.ndarray  # i8[h]
    id_texts: ByteStrings
    routes_as_of: np.ndarray = NOT_ROUTED  # i8[r]  as the frame has it
    traces: Traces = NO_TRACES  # as the frame has them


def encode(partial: Partial) -> bytes:
    return _LAYOUT.write(
        shard=partial.shard,
        shards_taking_part=len(partial.taking_part),
        partition=partial.frame_id.partition,
        events=len(partial.offsets),
        hits=len(partial.ids),
        key_bytes=partial.keys.data.size,
        id_bytes=partial.id_texts.data.size,
        epoch=partial.frame_id.epoch,
        first=partial.frame_id.first,
        last=partial.frame_id.last,
        as_of=partial.as_of,
        shards_routed=len(partial.routes_as_of),
        routes_as_of=partial.routes_as_of,
        offsets=partial.offsets,
        timestamps=partial.timestamps,
        scores=partial.scores,
        ids=partial.ids,
        ks=partial.ks,
        key_lengths=partial.keys.lengths,
        counts=partial.counts,
        id_lengths=partial.id_texts.lengths,
        taking_part=partial.taking_part,
        keys=partial.keys.data,
        id_texts=partial.id_texts.data,
        **partial.traces.as_columns(),
    )


def decode(data: bytes | memoryview) -> Partial:
    read = _LAYOUT.read(data)
    check_lengths("keys", read.key_lengths, read.key_bytes)
    check_lengths("ids", read.id_lengths, read.id_bytes)
    if read.counts.min(initial=0) < 0 or read.counts.sum(dtype=np.int64) != read.hits:
        raise CodecError(f"got counts of hits that do not add up to {read.hits}")
    return Partial(
        frame_id=FrameId(read.partition, read.epoch, read.first, read.last),
        shard=read.shard,
        taking_part=read.taking_part,
        as_of=read.as_of,
        offsets=read.offsets,
        timestamps=read.timestamps,
        ks=read.ks,
        keys=ByteStrings(read.key_lengths, read.keys),
        counts=read.counts,
        scores=read.scores,
        ids=read.ids,
        id_texts=ByteStrings(read.id_lengths, read.id_texts),
        routes_as_of=read.routes_as_of,
        traces=Traces.from_columns(read, read.events),
    )
