"""Why a snapshot could not be written, or why there is none to start from."""

from typing import Literal

import redis

# Of `write`, `claim` and `drop`: "full" is Redis at its maxmemory, "refused" any other answer that
# says no, "lost" chunks that were gone before they were published, "stale" a shard that belongs to
# another worker.
FailureReason = Literal["unreachable", "slow", "full", "refused", "lost", "stale"]

# Of `read`: "foreign" is that of another collection, kind, topic or shard, or of an older format,
# "newer" one of a later format, "too_old" and "gap" such as may miss an unsubscription.
AbsenceReason = Literal[
    "missing", "truncated", "corrupt", "foreign", "newer", "too_old", "gap", "unreachable"
]


class SnapshotFailed(Exception):
    """Nothing was published: the snapshot before this one stays, and the next may succeed.

    After "unreachable" and "slow" alone that is not sure, as the answer may be what was lost.
    """

    def __init__(self, reason: FailureReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason

    @property
    def unanswered(self) -> bool:
        return self.reason in ("unreachable", "slow")


class StaleWriter(SnapshotFailed):
    """The shard has another owner, or a snapshot that is ahead of this one."""

    def __init__(
        self, shard: int, next_offset: int, got: str, epoch: str, held_offset: str, holder: str
    ) -> None:
        at = f" at {held_offset}" if held_offset else ""
        super().__init__(
            "stale",
            f"snapshot of shard {shard} at {next_offset} refused: got {got}, but the shard is held"
            f" by {holder or 'another worker'} with epoch {epoch}{at}",
        )


class NoSnapshot(Exception):
    """There is no snapshot to start from: replay `subscriptions` from the beginning.

    `generation` is the name of what is there in its place: nobody can use it, so it may be
    replaced also by one that is behind it.
    """

    def __init__(self, reason: AbsenceReason, message: str, generation: bytes = b"") -> None:
        super().__init__(message)
        self.reason, self.generation = reason, generation

    def of(self, name: str) -> "NoSnapshot":
        """The same, said of the generation of this name."""
        return NoSnapshot(self.reason, f"{name}: {self}", name.encode())


def failure(what: str, error: redis.RedisError) -> SnapshotFailed:
    return SnapshotFailed(_failure_reason(error), f"{what}: {_text(error)}")


def absence(what: str, error: redis.RedisError) -> NoSnapshot:
    held_by_others = isinstance(error, redis.ResponseError) and "WRONGTYPE" in str(error)
    return NoSnapshot("corrupt" if held_by_others else "unreachable", f"{what}: {_text(error)}")


def _failure_reason(error: redis.RedisError) -> FailureReason:
    if isinstance(error, redis.OutOfMemoryError):
        return "full"
    if isinstance(error, redis.TimeoutError):
        return "slow"
    return "refused" if isinstance(error, redis.ResponseError) else "unreachable"


def _text(error: redis.RedisError) -> str:
    return str(error) or type(error).__name__
