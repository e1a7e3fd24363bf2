"""Answers of shards as the merger gets them."""

import numpy as np

from topics.codecs.byte_strings import ByteStrings
from topics.frames import FrameId
from topics.partials import Partial


def partial(
    events, *, shard=0, name=None, shards=(0, 1), as_of=-1, key_of=lambda offset: b"%d" % offset
):
    """The answer to events given as {offset: (k, [(score, id), …])}, best first."""
    hits = [hit for _, best in events.values() for hit in best]
    offsets = np.array(list(events), np.int64)
    texts = [b'"%d/%d"' % (shard, id) for _, id in hits]
    return Partial(
        name or FrameId(0, 1, int(offsets[0]), int(offsets[-1])),
        shard,
        np.array(shards, np.uint16),
        as_of,
        offsets,
        offsets + 1000,
        np.array([k for k, _ in events.values()], np.int32),
        ByteStrings.pack([key_of(offset) for offset in events]),
        np.array([len(best) for _, best in events.values()], np.int32),
        np.array([score for score, _ in hits], np.float64),
        np.array([id for _, id in hits], np.int64),
        ByteStrings.pack(texts),
    )


def merged_hits(frame):
    """Per event a list of (id text, score), read from the columns that are written out."""
    h = frame.hits
    flat = [
        (h.texts[start : start + length].tobytes(), score)
        for start, length, score in zip(
            h.text_starts.tolist(), h.text_lengths.tolist(), h.scores.tolist(), strict=True
        )
    ]
    ends = np.cumsum(h.counts).tolist()
    assert len(flat) == (ends[-1] if ends else 0)
    return [flat[end - n : end] for end, n in zip(ends, h.counts.tolist(), strict=True)]
