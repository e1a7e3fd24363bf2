"""The snapshots of one collection in Redis.

A snapshot is written in chunks under a new name and published by one swap of its shard's pointer,
so that a reader sees the old one or the new one, each of them whole.  What is not published
expires by itself.

A worker that takes over a shard claims it and gets an epoch, above every one before.  From then
on what the shard's former owner writes is refused, also if it does not know yet that it has lost
the shard.  A former owner may claim as well, as long as it does not know; so it is not by the epoch
alone that the pointer never goes back, but by the offset: one that is behind the snapshot of the
same topic is refused, whatever it has claimed.
"""

import os
import socket
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple
from uuid import uuid4

import msgspec
import redis

from configs.collection import Collection
from configs.settings import Settings
from storage import redis_chunks
from storage.redis_chunks import Deadline, DeadlinePassed, WrongLength
from workers.snapshots.errors import NoSnapshot, SnapshotFailed, StaleWriter, absence, failure
from workers.snapshots.pointer import (
    CLAIM,
    DROP,
    PUBLISH,
    Pointer,
    chunk_key,
    claim_key,
    parse_pointer,
    pointer_key,
)
from workers.snapshots.snapshot import (
    Expected,
    Snapshot,
    SnapshotHead,
    check_usable,
    decode,
    encode,
)

CHUNK_BYTES = 1024 * 1024
_FENCED_S = 24 * 60 * 60  # how long a dropped shard still refuses its former owner


def stored_name(collection: Collection, of: str) -> str:
    """What snapshots are of: of a collection's shards or, if `of` says so, of something else."""
    return f"{collection.name}/{of}" if of else collection.name


class Written(NamedTuple):
    name: str
    bytes: int
    chunks: int


class SnapshotStore:
    """`timeout_s` limits a whole write or read, the client's own time-outs each command."""

    def __init__(
        self,
        client: redis.Redis,
        prefix: str,
        collection: str,
        *,
        chunk_bytes: int = CHUNK_BYTES,
        keep_old_s: float = 60.0,
        timeout_s: float = 60.0,
        holder: str | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._client, self._prefix, self._collection = client, prefix, collection
        self._chunk_bytes, self._timeout_s, self._now = chunk_bytes, timeout_s, now
        self._keep_old_s = max(1, round(keep_old_s))
        # An upload must not expire before its time is up.
        self._upload_expires_s = max(1, round(timeout_s)) + self._keep_old_s
        self._holder = holder or f"{socket.gethostname()}:{os.getpid()}"
        self._claim = client.register_script(CLAIM)
        self._publish = client.register_script(PUBLISH)
        self._drop = client.register_script(DROP)

    @classmethod
    def of(cls, client: redis.Redis, settings: Settings, collection: str) -> "SnapshotStore":
        return cls(
            client,
            settings.prefix,
            collection,
            chunk_bytes=settings.snapshots.chunk_bytes,
            keep_old_s=settings.snapshots.keep_old_s,
            timeout_s=settings.snapshots.timeout_s,
        )

    def claim(self, shard: int, held: SnapshotHead | None = None, unusable: bytes = b"") -> int:
        """The epoch of the shard's new owner; `SnapshotFailed` if there is no Redis.

        One that has had the shard for a while says what it `held`, and is a `StaleWriter` if the
        shard's snapshot is ahead of that, unless this is the generation that it found `unusable`.
        """
        arguments: list[str | int | bytes] = [self._holder]
        if held is not None:
            arguments += [held.topic_id, held.next_offset, unusable]
        try:
            answer = self._claim(self._keys(shard), arguments)
        except redis.RedisError as error:
            raise failure(f"shard {shard} not claimed", error) from error
        verdict, *rest = [text.decode() for text in answer]
        if verdict == "stale" and held is not None:
            raise StaleWriter(held.shard, held.next_offset, "another claim", *rest)
        return int(rest[0])

    def write(self, snapshot: Snapshot, epoch: int, unusable: bytes = b"") -> Written:
        """Publish the snapshot.

        `StaleWriter` if the shard has been claimed since `epoch`, or if its snapshot is ahead of
        this one and not the generation that was found `unusable`; `SnapshotFailed` if Redis does
        not take it.
        """
        head = snapshot.head
        if head.collection != self._collection:
            raise ValueError(
                f"got a snapshot of {head.collection!r}, expected {self._collection!r}"
            )
        parts = encode(snapshot)
        size = sum(map(len, parts))
        written = Written(
            f"{epoch}-{head.next_offset}-{uuid4().hex[:12]}", size, -(-size // self._chunk_bytes)
        )
        keys = self._chunk_keys(head.shard, written.name, written.chunks)
        chunks = zip(keys, redis_chunks.cut(parts, self._chunk_bytes), strict=True)
        what = f"snapshot of shard {head.shard} at {head.next_offset} not written"
        try:
            redis_chunks.upload(
                self._client,
                chunks,
                self._upload_expires_s,
                Deadline(self._timeout_s),
                rests=True,
            )
            self._swap(head, epoch, written, keys, unusable)
        except DeadlinePassed as late:
            # Redis is behind already: what is there expires, and nothing more is asked of it.
            raise SnapshotFailed("slow", str(late)) from late
        except redis.RedisError as error:
            failed = failure(what, error)
            self._discard(failed, keys)
            raise failed from error
        except SnapshotFailed as failed:
            self._discard(failed, keys)
            raise
        return written

    def read(self, shard: int, expected: Expected) -> Snapshot:
        """The shard's snapshot, every byte verified, or `NoSnapshot`.

        The arrays are read-only views of one buffer.
        """
        pointer, snapshot = self._load(shard)
        self._check(pointer, snapshot.head, shard, expected)
        return snapshot

    def verify(self, shard: int, expected: Expected | None = None) -> Pointer:
        """Read and check as a worker would; `NoSnapshot` if it could not start from it."""
        pointer, snapshot = self._load(shard)
        if expected is not None:
            self._check(pointer, snapshot.head, shard, expected)
        return pointer

    def ls(self, shards: Iterable[int]) -> dict[int, Pointer | NoSnapshot]:
        """What there is for each shard; `NoSnapshot` is raised only if Redis cannot be asked."""
        found: dict[int, Pointer | NoSnapshot] = {}
        for shard in shards:
            try:
                found[shard] = self._pointer(shard)
            except NoSnapshot as absent:
                if absent.reason == "unreachable":
                    raise
                found[shard] = absent
        return found

    def drop(self, shard: int) -> bool:
        """Remove the shard's snapshot; whether there was one."""
        try:
            return bool(self._drop(self._keys(shard), [_FENCED_S]))
        except redis.RedisError as error:
            raise failure(f"snapshot of shard {shard} not dropped", error) from error

    def _keys(self, shard: int) -> list[str]:
        pointer = pointer_key(self._prefix, self._collection, shard)
        return [pointer, claim_key(pointer)]

    def _chunk_keys(self, shard: int, name: str, count: int) -> list[str]:
        pointer = pointer_key(self._prefix, self._collection, shard)
        return [chunk_key(pointer, name, index) for index in range(count)]

    def _swap(
        self,
        head: SnapshotHead,
        epoch: int,
        written: Written,
        keys: list[str],
        unusable: bytes = b"",
    ) -> None:
        fields = {
            "name": written.name,
            "epoch": str(epoch),
            "next_offset": str(head.next_offset),
            "chunks": str(written.chunks),
            "chunk_bytes": str(self._chunk_bytes),
            "bytes": str(written.bytes),
            "holder": self._holder,
            "head": msgspec.json.encode(head).decode(),
        }
        answer = self._publish(
            [*self._keys(head.shard), *keys],
            [msgspec.json.encode(fields), self._keep_old_s, unusable],
        )
        verdict, *rest = [text.decode() for text in answer]
        if verdict == "stale":
            raise StaleWriter(head.shard, head.next_offset, f"epoch {epoch}", *rest)
        if verdict == "lost":
            raise SnapshotFailed(
                "lost",
                f"snapshot of shard {head.shard} at {head.next_offset} not written: Redis has kept"
                f" {rest[0]} of its {written.bytes} bytes; was it flushed, or does it evict?",
            )

    def _discard(self, failed: SnapshotFailed, keys: list[str]) -> None:
        """Make room at once where Redis answers; elsewhere the chunks expire by themselves."""
        if failed.unanswered:
            return
        try:
            self._client.unlink(*keys)
        except redis.RedisError as error:
            failed.add_note(f"its chunks stay until they expire: {error}")

    def _pointer(self, shard: int) -> Pointer:
        key = pointer_key(self._prefix, self._collection, shard)
        try:
            fields: dict[bytes, bytes] = self._client.hgetall(key)  # type: ignore[assignment]
        except redis.RedisError as error:
            raise absence(key, error) from error
        if not fields:
            raise NoSnapshot("missing", f"there is no {key}")
        return parse_pointer(key, fields)

    def _load(self, shard: int) -> tuple[Pointer, Snapshot]:
        deadline = Deadline(self._timeout_s)
        pointer = self._pointer(shard)
        while True:
            try:
                return pointer, self._decoded(shard, pointer, deadline)
            except NoSnapshot as absent:
                if absent.reason == "unreachable":
                    raise
                newest = self._pointer(shard)
                if newest.name == pointer.name or deadline.passed():
                    raise absent.of(pointer.name) from absent
                pointer = newest  # the one before was published over, and has expired meanwhile

    def _decoded(self, shard: int, pointer: Pointer, deadline: Deadline) -> Snapshot:
        keys = self._chunk_keys(shard, pointer.name, pointer.chunks)
        try:
            data = redis_chunks.download(
                self._client, keys, pointer.bytes, pointer.lengths, deadline
            )
        except WrongLength as wrong:
            raise NoSnapshot("truncated", str(wrong)) from wrong
        except DeadlinePassed as late:
            raise NoSnapshot("unreachable", str(late)) from late
        except redis.RedisError as error:
            raise absence("not read", error) from error
        return decode(data)

    def _check(self, pointer: Pointer, head: SnapshotHead, shard: int, expected: Expected) -> None:
        try:
            check_usable(head, self._collection, shard, expected, self._now())
        except NoSnapshot as absent:
            raise absent.of(pointer.name) from absent
