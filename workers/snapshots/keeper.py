"""The snapshots of one shard, from the side of its worker: start from one, write one now and then.

Every method may block; the feed calls them from its threads.
"""

import logging
import time
from collections.abc import Mapping
from importlib.metadata import version
from typing import Protocol

import numpy as np
import redis

from storage.redis_client import open_redis
from topics.kinds import reading_of
from workers.process import metrics
from workers.process.context import Context
from workers.snapshots.errors import NoSnapshot, SnapshotFailed, StaleWriter
from workers.snapshots.snapshot import Expected, Snapshot, SnapshotHead
from workers.snapshots.store import SnapshotStore, Written, stored_name
from workers.snapshots.watch import RedisWatch

log = logging.getLogger(__name__)


class Restorable(Protocol):
    """What a worker keeps in memory of one partition, and can write down in arrays."""

    number: int  # of the partition
    next_offset: int  # everything below is applied

    def __len__(self) -> int: ...

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Everything but `next_offset`."""

    def restore(self, arrays: Mapping[str, np.ndarray], next_offset: int) -> None:
        """Become what `to_arrays()` gave.  If that raises, nothing has changed."""


class SnapshotKeeper:
    """`of`: what the partitions are of, if it is not the shards of a collection.

    Where a shard is `shared` several workers hold it, and the one that writes claims it then.
    """

    def __init__(
        self, context: Context, shard: Restorable, of: str = "", shared: bool = False
    ) -> None:
        self._context, self._shard, self._shared = context, shard, shared
        self._name = stored_name(context.collection, of)
        self._settings = context.settings.snapshots
        self._labels = (context.collection.name, str(shard.number))
        self._watch = RedisWatch(context.health, context.settings.redis)
        server = context.settings.redis
        self._client: redis.Redis = open_redis(server.url.get_secret_value(), server.timeout_s)
        self._store = SnapshotStore.of(self._client, context.settings, self._name)
        self._epoch: int | None = None
        self._unusable = b""  # the generation that was found instead of a snapshot
        self._topic_id = ""
        self._too_old_s = Expected.of(context.collection, None).max_age_s / 2
        self._saved_at, self._saved_offset = time.monotonic(), 0

    def restore(self, topic_id: str, offsets: range) -> None:
        """Take the state of the shard's snapshot, if there is one to start from.

        `topic_id` is of the topic that the shard is going to read, in which it finds `offsets`.
        """
        self._topic_id = topic_id
        if not self._settings.enabled:
            return
        started = time.monotonic()
        silence = self._watch.silence() or (None if self._shared else self._try_to_claim())
        if silence is not None:
            self._start_empty("unreachable", silence)
            return
        try:
            expected = Expected.of(self._context.collection, topic_id, offsets.stop, offsets.start)
            snapshot = self._store.read(self._shard.number, expected)
            self._shard.restore(snapshot.arrays, snapshot.head.next_offset)
        except NoSnapshot as absent:
            self._unusable = absent.generation
            # A topic without records has none to make a snapshot of.
            expected_so = absent.reason == "missing" and not offsets
            level = logging.INFO if expected_so else logging.WARNING
            self._start_empty(absent.reason, str(absent), level)
        except Exception as error:  # whole, but not what we would write: it will be so each time
            self._start_empty("corrupt", repr(error), error=error)
        else:
            self._saved_offset = self._shard.next_offset
            metrics.RESTORES.labels(*self._labels, "snapshot").inc()
            log.info(
                "shard %d: %d subscriptions up to offset %d from a snapshot in %.1f s",
                self._shard.number,
                len(self._shard),
                self._shard.next_offset,
                time.monotonic() - started,
            )

    def _try_to_claim(self) -> str | None:
        """What went wrong if Redis does not answer: to ask it for a snapshot would be in vain.

        A Redis that takes nothing, being full or a replica, may still have a snapshot.
        """
        try:
            self._epoch = self._store.claim(self._shard.number)
        except SnapshotFailed as failed:
            if failed.unanswered:
                self._watch.has_not_answered(failed.__cause__)
                return str(failed)
            log.warning("%s; it is claimed when the next snapshot is written", failed)
        self._watch.has_answered()
        return None

    def _start_empty(
        self, reason: str, why: str, level: int = logging.WARNING, error: Exception | None = None
    ) -> None:
        metrics.RESTORES.labels(*self._labels, reason).inc()
        text = "shard %d: no snapshot to start from (%s: %s); replaying from the beginning"
        log.log(level, text, self._shard.number, reason, why, exc_info=error)

    def is_due(self) -> bool:
        """Whether enough has changed for long enough, or the snapshot would soon be too old."""
        if not self._settings.enabled:
            return False
        waited_s = time.monotonic() - self._saved_at
        worth_it = self._changed() >= max(1, self._settings.least_changes)
        return waited_s >= (self._settings.every_s if worth_it else self._too_old_s)

    def is_behind(self) -> bool:
        """Whether a snapshot, which Redis would take, could spare a successor a replay."""
        if not self._settings.enabled or self._changed() <= 0:
            return False
        return self._watch.silence() is None

    def _changed(self) -> int:
        return self._shard.next_offset - self._saved_offset

    def gather(self) -> Snapshot:
        """The shard as it is; it may answer meanwhile, but not change."""
        collection, shard = self._context.collection, self._shard
        head = SnapshotHead(
            self._name,
            collection.kind,
            collection.attributes,
            shard.number,
            self._topic_id,
            shard.next_offset,
            len(shard),
            time.time(),
            version("podium"),
            reading_of(collection.kind, collection.dialect),
        )
        return Snapshot(head, shard.to_arrays())

    def write(self, snapshot: Snapshot) -> Written | None:
        """Publish it; None, with a warning, if that could not be done."""
        self._saved_at = started = time.monotonic()
        shard = self._shard.number
        try:
            written = self._store.write(snapshot, self._claimed(snapshot), self._unusable)
        except SnapshotFailed as failed:
            if isinstance(failed, StaleWriter):
                self._epoch = None  # claim again next time: who is behind the pointer cannot
            metrics.SNAPSHOTS.labels(*self._labels, failed.reason).inc()
            log.warning("shard %d: no snapshot written (%s)", shard, failed)
            return None
        except Exception:  # the shard answers all the same, and the next attempt may succeed
            metrics.SNAPSHOTS.labels(*self._labels, "failed").inc()
            log.exception("shard %d: no snapshot written", shard)
            return None
        self._saved_offset = snapshot.head.next_offset
        seconds = time.monotonic() - started
        metrics.SNAPSHOTS.labels(*self._labels, "written").inc()
        metrics.SNAPSHOT_SECONDS.labels(*self._labels).set(seconds)
        metrics.SNAPSHOT_OFFSET.labels(*self._labels).set(snapshot.head.next_offset)
        metrics.SNAPSHOT_BYTES.labels(*self._labels).set(written.bytes)
        log.info(
            "shard %d: snapshot up to offset %d, %.1f MB in %.1f s",
            shard,
            snapshot.head.next_offset,
            written.bytes / 1e6,
            seconds,
        )
        return written

    def discard(self) -> None:
        """Take the shard's snapshot away: it is not to be trusted, and a replay is."""
        if not self._settings.enabled:
            return
        try:
            self._store.drop(self._shard.number)
        except SnapshotFailed as failed:
            log.warning("%s; drop it by hand: podium snapshot drop", failed)
        else:
            log.warning("shard %d: its snapshot is dropped", self._shard.number)

    def close(self) -> None:
        self._client.close()

    def _claimed(self, snapshot: Snapshot) -> int:
        if self._epoch is None:
            self._epoch = self._store.claim(self._shard.number, snapshot.head, self._unusable)
        return self._epoch
