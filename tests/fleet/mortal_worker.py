"""`python -m tests.fleet.mortal_worker` is `podium`, but dies by SIGKILL after a certain step.

`DIE_AFTER` names a file with lines `<step> <count>`: the process takes the first line away and dies
when it has taken that step so often.  When there is none left it lives.
"""

import functools
import inspect
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import redis
from faust.transport.drivers.aiokafka import AIOKafkaConsumerThread

from podium.cli import main
from workers.matcher.frame_queue import FrameQueue
from workers.merger.writing import MatchWriter
from workers.node.events import EventReader
from workers.node.node import AllShards
from workers.shard.feed import SubscriptionReader
from workers.shard.shard import Shard
from workers.snapshots.keeper import SnapshotKeeper
from workers.snapshots.store import SnapshotStore

HOLDERS = {"matcher", "node"}  # who dies

STEPS: dict[str, tuple[type, str]] = {
    "read": (SubscriptionReader, "read"),
    "apply": (Shard, "apply"),
    "answer": (FrameQueue, "_answer"),
    "send": (FrameQueue, "_send_batch"),
    "commit": (SubscriptionReader, "commit"),
    "commit-frames": (AIOKafkaConsumerThread, "commit"),
    "gather": (SnapshotKeeper, "gather"),
    "chunk": (redis.Redis, "set"),
    "swap": (SnapshotStore, "_swap"),
    "answer-events": (AllShards, "answer"),
    "write-matches": (MatchWriter, "write"),
    "commit-events": (EventReader, "_commit"),
}


def arm(step: str, count: int) -> None:
    owner, name = STEPS[step]
    left = count

    def taken() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    setattr(owner, name, followed(getattr(owner, name), taken))


def followed(method: Callable, taken: Callable[[], None]) -> Callable:
    if inspect.iscoroutinefunction(method):

        @functools.wraps(method)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            result = await method(*args, **kwargs)
            taken()
            return result

        return awaited

    @functools.wraps(method)
    def called(*args: Any, **kwargs: Any) -> Any:
        result = method(*args, **kwargs)
        taken()
        return result

    return called


if __name__ == "__main__":
    orders = Path(os.environ["DIE_AFTER"])
    lines = orders.read_text().splitlines() if orders.exists() else []
    if lines and HOLDERS & set(sys.argv):
        step, count = lines[0].split()
        orders.write_text("\n".join(lines[1:]))
        arm(step, int(count))
    main()
