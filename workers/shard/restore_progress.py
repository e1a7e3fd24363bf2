"""How far the restore of a shard is, as a line in the log every two seconds."""

import logging
import time

from workers.shard.shard import Shard

log = logging.getLogger(__name__)

_EVERY_S = 2.0


class RestoreProgress:
    """From where the shard stands when this is made to `end`, where its partition ended then.

    What comes later is life, not restore: while changes keep coming there may never be a moment
    at which all of them are in.
    """

    def __init__(self, shard: Shard, end: int) -> None:
        self._shard = shard
        self._first, self._end = shard.next_offset, end
        self._started_at = self._reported_at = time.monotonic()

    def is_done(self) -> bool:
        return self._shard.next_offset >= self._end

    def report(self) -> None:
        if time.monotonic() - self._reported_at >= _EVERY_S:
            self._reported_at = time.monotonic()
            log.info("shard %d: restoring, %s", self._shard.number, self.line())

    def line(self) -> str:
        """Of the part of the log that is replayed, in records as their offsets count them."""
        done, all_ = self._shard.next_offset - self._first, self._end - self._first
        per_s = done / max(time.monotonic() - self._started_at, 1e-9)
        left = f"{(all_ - done) / per_s:.0f} s left" if done else "no end in sight yet"
        return f"{100 * done // max(1, all_)} %, {per_s:,.0f} records/s, {left}"

    def finish(self) -> None:
        log.info(
            "shard %d: restored, %d subscriptions up to offset %d, of which %d records replayed"
            " in %.1f s",
            self._shard.number,
            len(self._shard),
            self._shard.next_offset,
            self._shard.next_offset - self._first,
            time.monotonic() - self._started_at,
        )
