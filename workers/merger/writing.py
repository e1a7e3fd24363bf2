"""Match records: written by mergers and nodes alike, so that both write the same bytes."""

import time

from topics import matches
from topics.headers import AS_OF, format_token
from topics.kafka.producer import Outbox
from workers.merger.assembly import MergedFrame
from workers.process import metrics
from workers.process.context import Context


class MatchWriter:
    def __init__(self, context: Context, outbox: Outbox) -> None:
        self._events = context.names.topic("events")
        self._matches = context.names.topic("matches")
        self._name, self._emit_empty = context.collection.name, context.collection.emit_empty
        self._outbox = outbox

    def write(self, merged: MergedFrame) -> None:
        """Queue the records of its events, in order."""
        headers = [[(AS_OF, format_token(as_of).encode())] for as_of in merged.as_of]
        values = matches.encode_many(self._events, merged.partition, merged.offsets, merged.hits)
        written = 0
        counts, as_of_by = merged.hits.counts.tolist(), merged.as_of_by.tolist()
        for key, value, count, by in zip(merged.keys, values, counts, as_of_by, strict=True):
            if count or self._emit_empty:
                self._outbox.send(self._matches, value, key=key, headers=headers[by])
                written += 1
        metrics.MATCHES.labels(self._name).inc(written)
        # One observation a frame, of its oldest event: the slowest of them.
        waited_s = time.time() - merged.timestamps.min() / 1e3
        metrics.END_TO_END_SECONDS.labels(self._name).observe(waited_s)
