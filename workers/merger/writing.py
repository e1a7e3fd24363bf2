"""Match records: written by mergers and nodes alike, so that both write the same bytes."""

import time

from topics import matches
from topics.headers import AS_OF, format_token
from topics.kafka.producer import Outbox
from workers.merger.assembly import MergedFrame
from workers.process import metrics
from workers.process.context import Context
from workers.process.stages import WRITING


class MatchWriter:
    def __init__(self, context: Context, outbox: Outbox) -> None:
        self._events = context.names.topic("events")
        self._matches = context.names.topic("matches")
        self._name, self._emit_empty = context.collection.name, context.collection.emit_empty
        self._outbox = outbox

    def write(self, merged: MergedFrame) -> None:
        """Queue the records of its events, in order."""
        began = time.time()
        headers = [[(AS_OF, format_token(as_of).encode())] for as_of in merged.as_of]
        values = matches.encode_many(self._events, merged.partition, merged.offsets, merged.hits)
        written = 0
        counts, told = merged.hits.counts.tolist(), [headers[by] for by in merged.as_of_by.tolist()]
        for event, trace in merged.traces.items():
            told[event] = [*told[event], *trace]
        for key, value, count, about in zip(merged.keys, values, counts, told, strict=True):
            if count or self._emit_empty:
                self._outbox.send(self._matches, value, key=key, headers=about)
                written += 1
        metrics.MATCHES.labels(self._name).inc(written)
        now = time.time()
        metrics.STAGE_SECONDS.observe(self._name, WRITING, seconds=now - began, events=len(values))
        metrics.END_TO_END_SECONDS.observe(self._name, seconds=now - merged.timestamps / 1e3)
