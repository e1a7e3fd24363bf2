"""A merger puts together what two shards found: nothing."""

import numpy as np

from configs.collection import Collection
from topics import matches, partials
from topics.codecs.byte_strings import ByteStrings
from topics.codecs.columns import bundle, unbundle
from topics.frames import Frame
from topics.partials import Partial
from workers.merger.assembly import merge
from workers.router.warm_up import received_frames


def warm_up(collection: Collection) -> None:
    answers = [_received_answer(frame) for frame in received_frames(collection)]
    merged = merge(answers)
    matches.encode_many("warm-up", merged.partition, merged.offsets, merged.hits)


def _received_answer(frame: Frame) -> Partial:
    answer = Partial(
        frame.frame_id,
        frame.shard,
        frame.taking_part,
        -1,
        frame.offsets,
        frame.timestamps,
        frame.ks,
        frame.keys,
        np.zeros(len(frame.offsets), np.int32),
        np.empty(0),
        np.empty(0, np.int64),
        ByteStrings.pack([]),
        frame.routes_as_of,
    )
    return partials.decode(unbundle(bundle([partials.encode(answer)]))[0])
