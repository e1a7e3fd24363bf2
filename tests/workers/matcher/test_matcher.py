"""The shards of one matcher as they come and go, without a worker process around it."""

import asyncio
import time
import weakref
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from faust.types import TP, EventT, StreamT

from tests.workers.shard.shard_lab import ShardLab, until
from topics import frames
from topics.codecs.byte_strings import ByteStrings
from topics.codecs.columns import bundle
from workers.matcher.frame_queue import FrameQueue
from workers.matcher.matcher import Matcher
from workers.process.faust_app import create_app
from workers.shard.service import ShardService


@pytest.fixture
def lab(broker: str, redis_url: str, unique_name) -> ShardLab:
    return ShardLab(unique_name("matcher"), broker, redis_url)


class Assigned:
    """A matcher that is told by a test what Faust would tell it."""

    def __init__(self, lab: ShardLab) -> None:
        self._frames = lab.context.names.topic("frames")
        self._app = create_app(lab.context)
        self._matcher = Matcher(lab.context, self._app)

    async def assign(self, *shards: int) -> None:
        await self._app.on_partitions_assigned.send({TP(self._frames, shard) for shard in shards})

    async def revoke(self, *shards: int) -> None:
        await self._app.on_partitions_revoked.send({TP(self._frames, shard) for shard in shards})

    async def distribute(self, *events: EventT) -> None:
        """As the agent does with what it reads."""

        async def read() -> AsyncIterator[EventT]:
            for event in events:
                yield event

        stream = SimpleNamespace(noack=lambda: SimpleNamespace(events=read))
        await self._matcher.shards.distribute(cast(StreamT, stream))

    async def leave(self) -> None:
        """As on TERM."""
        await self._app.on_before_shutdown.send()

    @property
    def consumer(self) -> Any:
        return self._app.consumer

    def queue(self, shard: int) -> FrameQueue:
        return self._matcher.shards[shard].queue

    def service(self, shard: int) -> ShardService:
        return self.queue(shard).service

    async def restored(self, shard: int) -> ShardService:
        """Its service; an app that was not started does not start it."""
        await self.service(shard).maybe_start()
        await until(self.service(shard).feed.restored.is_set)
        return self.service(shard)


def test_a_shard_that_is_gone_leaves_no_index_behind(lab: ShardLab):
    lab.subscribe("a", "b")

    async def run() -> None:
        matcher = Assigned(lab)
        await matcher.assign(0)
        index = weakref.ref((await matcher.restored(0)).shard._index)
        await matcher.assign()
        assert index() is None

    asyncio.run(run())


def test_a_shard_that_was_revoked_stands_still_and_goes_on_when_it_is_kept(lab: ShardLab):
    async def run() -> None:
        lab.subscribe("a", "b")
        matcher = Assigned(lab)
        await matcher.assign(0)
        service = await matcher.restored(0)
        await until(lambda: service.shard.next_offset == 2)
        await matcher.revoke(0)
        lab.subscribe("c")
        await asyncio.sleep(0.5)  # a poll takes a fifth of it
        assert service.shard.next_offset == 2
        await matcher.assign(0)
        assert matcher.service(0) is service, "its index is kept"
        await until(lambda: len(service.shard) == 3)
        await matcher.revoke(0)
        await matcher.assign()
        assert service.should_stop

    asyncio.run(run())


def test_a_shard_may_be_revoked_while_it_is_restored(lab: ShardLab):
    async def run() -> None:
        lab.subscribe("a", "b")
        matcher = Assigned(lab)
        await matcher.assign(0)
        await matcher.service(0).maybe_start()
        await matcher.revoke(0)
        await asyncio.sleep(0.5)
        assert not matcher.service(0).feed.restored.is_set()
        await matcher.assign(0)
        await matcher.restored(0)
        await matcher.assign()

    asyncio.run(run())


def a_frame(shard: int = 0) -> EventT:
    """As Faust hands one over, without events."""
    none = np.empty(0, np.int64)
    frame = frames.Frame(
        frames.FrameId(0, 0, 0, 0),
        0,
        np.zeros(1, np.uint16),
        -1,
        none,
        none,
        np.empty((0, 1)),
        np.empty(0, np.int32),
        ByteStrings.pack([]),
        fingerprint=frames.fingerprint("ranked", ["age"]),
    )
    now = time.time()
    message = SimpleNamespace(generation_id=0, partition=shard, offset=0, timestamp=now)
    event = SimpleNamespace(message=message, value=bundle([frames.encode(frame)]), acked=False)
    event.ack = lambda: setattr(event, "acked", True)
    return cast(EventT, event)


def test_frames_of_a_shard_that_is_gone_hold_nobody_up(lab: ShardLab):
    """Those of all shards come through one loop, which may be waiting for room in its queue."""

    async def run() -> None:
        matcher = Assigned(lab)
        await matcher.assign(0)
        queue = matcher.queue(0)
        waiting = asyncio.ensure_future(fill(queue))
        await asyncio.sleep(0.1)
        assert not waiting.done(), "the queue is full"
        await matcher.assign()
        await asyncio.wait_for(waiting, 10)

    async def fill(queue: FrameQueue) -> None:
        for _ in range(300):
            await queue.put(a_frame())

    asyncio.run(run())


def test_a_frame_that_comes_before_its_assignment_is_not_left_out(lab: ShardLab, monkeypatch):
    """Left out, it would count as answered once a later one of its partition is."""
    given: list[tuple[FrameQueue, EventT]] = []

    async def note(queue: FrameQueue, event: EventT) -> None:
        given.append((queue, event))

    monkeypatch.setattr(FrameQueue, "put", note)

    async def run() -> None:
        matcher, frame = Assigned(lab), a_frame(shard=1)
        await matcher.assign(0)
        await matcher.revoke(0)
        distributing = asyncio.ensure_future(matcher.distribute(frame))
        await asyncio.sleep(0.05)
        assert not distributing.done()
        await matcher.assign(1)
        await asyncio.wait_for(distributing, 10)
        assert given == [(matcher.queue(1), frame)]

    asyncio.run(run())


def test_a_matcher_that_leaves_commits_what_it_has_sent(lab: ShardLab, monkeypatch):
    """Also what is acknowledged late, and while Faust is in the middle of committing before that.

    Otherwise its successor would answer again, and a merger that is new as well would not know.
    """
    sent: list[bytes] = []
    committed: list[list[bool]] = []

    async def run() -> None:
        matcher, first, second = Assigned(lab), a_frame(), a_frame()
        acknowledged = asyncio.Event()

        async def send(matcher: Matcher, partition: int, value: bytes) -> None:
            sent.append(value)
            await acknowledged.wait()

        async def note_commit(places: Any, start_new_transaction: bool) -> bool:
            committed.append([first.acked, second.acked])
            return True

        monkeypatch.setattr(Matcher, "_send", send)
        monkeypatch.setattr(matcher.consumer, "_commit_tps", note_commit)
        await matcher.assign(0)
        await matcher.restored(0)
        await matcher.distribute(first)
        await until(lambda: sent)
        before = matcher.consumer._commit_fut = asyncio.get_running_loop().create_future()
        leaving = asyncio.ensure_future(matcher.leave())
        await asyncio.sleep(0.05)
        await matcher.distribute(second)
        await asyncio.sleep(0.05)
        acknowledged.set()
        await asyncio.sleep(0.05)
        assert not leaving.done()
        matcher.consumer._commit_fut = before.set_result(None)
        await asyncio.wait_for(leaving, 10)
        await matcher.assign()

    asyncio.run(run())
    assert len(sent) == 1, "what was not on its way is left to the successor"
    assert committed == [[True, False]]


def test_a_matcher_leaves_though_its_answers_are_not_acknowledged(
    lab: ShardLab, monkeypatch, caplog
):
    async def run() -> None:
        matcher, frame = Assigned(lab), a_frame()
        never = asyncio.Event()
        monkeypatch.setattr(Matcher, "_send", lambda *_: never.wait())
        await matcher.assign(0)
        await matcher.restored(0)
        await matcher.distribute(frame)
        await until(lambda: matcher.queue(0)._sending)
        await asyncio.wait_for(matcher.leave(), 30)
        assert not frame.acked
        await matcher.assign()

    monkeypatch.setattr("workers.process.partitions._LEAVES_WITHIN_S", 0.2)
    asyncio.run(run())
    assert "not acknowledged yet" in caplog.text
