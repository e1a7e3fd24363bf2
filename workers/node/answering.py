"""The answer to a run of events from all shards at once, without Kafka between them.

Ids are looked up at last, and only those of hits that are among the best of all shards.
"""

from collections.abc import Sequence

import numpy as np

from indexes.hits import merge_shards
from topics.events.contract import EventForm
from topics.matches import Hits
from topics.traces import Traces
from workers.merger.assembly import MergedFrame
from workers.router.framing import Accepted
from workers.shard.shard import Shard, Taken


def answer(run: Accepted, shards: Sequence[Shard], form: EventForm) -> MergedFrame:
    """`shards` in order, one for each partition of `subscriptions`; none of them may change."""
    messages = run.messages
    columns = form.columns(run.rows)
    ks = np.array([options.k for options in run.options], np.int32)
    return MergedFrame(
        messages[0].partition(),
        np.array([message.offset() for message in messages], np.int64),
        np.array([message.timestamp()[1] for message in messages], np.int64),
        [message.key() for message in messages],
        _best_of_all(shards, [shard.best(columns, ks) for shard in shards], ks),
        [{shard.number: shard.next_offset - 1 for shard in shards}],
        np.zeros(len(messages), np.int64),
        Traces.of([options.trace for options in run.options]).headers(),
    )


def _best_of_all(shards: Sequence[Shard], taken: list[Taken], ks: np.ndarray) -> Hits:
    ids = np.concatenate([one.ids for one in taken])
    scores = np.concatenate([one.scores for one in taken])
    counts = np.array([one.counts for one in taken], np.int64)
    merged, chosen = merge_shards(counts, ks.astype(np.int64), scores, ids)
    lengths, starts = np.empty(len(chosen), np.int32), np.empty(len(chosen), np.int64)
    texts, begin, size = [], 0, 0
    for shard, one in zip(shards, taken, strict=True):
        end = begin + len(one.ids)
        rows = np.flatnonzero((chosen >= begin) & (chosen < end))
        found = shard.texts(ids[chosen[rows]])
        lengths[rows] = found.lengths
        starts[rows] = size + np.cumsum(found.lengths, dtype=np.int64) - found.lengths
        texts.append(found.data)
        begin, size = end, size + len(found.data)
    return Hits(merged, scores[chosen], starts, lengths, np.concatenate(texts))
