"""Why a snapshot could not be written, or why there is none to start from."""

from typing import Literal

import redis

# Of `write`, `claim` and `drop`: "full" is Redis at its maxmemory, "refused" any other answer that
# says no, "lost" chunks that were gone before they were published, "stale" a shard that belongs to
# another worker.
FailureReason = Literal["unreachable", "slow", "full", "refused", "lost", "stale"]

# Of `read`: "foreign" is that of another collection, kind, topic or shard, or of an older format,
# "newer" one of a later format, "too_old" one that may miss an unsubscription.
AbsenceReason = Literal[
    "missing", "truncated", "corrupt", "foreign", "newer", "too_old", "unreachable"
]


class SnapshotFailed(Exception):
    """Nothing was published: the snapshot before this one stays, and the next may succeed.

    After "unreachable" and "slow" alone that is not sure, as the answer may be what was lost.
    """

    def __init__(self, reason: FailureReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class StaleWriter(SnapshotFailed):
    """The shard has another owner, or a snapshot that is ahead of this one: stop writing."""

    def __init__(self, message: str) -> None:
        super().__init__("stale", message)


class NoSnapshot(Exception):
    """There is no snapshot to start from: replay `subscriptions` from the beginning."""

    def __init__(self, reason: AbsenceReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


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
