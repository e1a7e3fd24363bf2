"""The partitions of one topic that Faust has given to a worker, and who works for each of them.

Faust assigns partitions, reads and commits.  An exception inside an agent's loop would acknowledge
the record, so none leaves it, and a record is acknowledged by hand once what it led to is.
"""

import asyncio
import gc
import logging
from collections.abc import Callable, Iterator
from typing import Any, Generic, Protocol, TypeVar

import faust
from faust.types import TP, EventT, ServiceT, StreamT

from workers.process.context import Context
from workers.process.topic_watch import TopicReplaced, TopicWatch

log = logging.getLogger(__name__)

_LEAVES_WITHIN_S = 5.0


class Occupant(Protocol):
    """Who works for a partition as long as it is this worker's."""

    @property
    def service(self) -> ServiceT:
        """What the app starts and stops."""

    async def put(self, event: EventT) -> None: ...

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def give_back(self) -> None:
        """Another worker has the partition now, and gets what waits."""

    async def leave(self) -> None:
        """Begin nothing more, and wait until all that was begun is acknowledged."""


O = TypeVar("O", bound=Occupant)  # noqa: E741  as in "occupant"


class Partitions(Generic[O]):
    """`called` is what a partition is for this worker, in logs: shard, zone."""

    def __init__(
        self, context: Context, app: faust.App, called: str, occupy: Callable[[int], O]
    ) -> None:
        self._context, self._app = context, app
        self._called, self._occupy = called, occupy
        self._held: dict[int, O] = {}
        self._are_set = asyncio.Event()  # as the latest assignment says
        app.on_partitions_revoked.connect(self._on_revoked)
        app.on_partitions_assigned.connect(self._on_assigned)
        app.on_before_shutdown.connect(self._on_leaving)

    def __len__(self) -> int:
        return len(self._held)

    def __getitem__(self, partition: int) -> O:
        return self._held[partition]

    def items(self) -> Iterator[tuple[int, O]]:
        """By partition; from other threads as well."""
        return iter(sorted(self._held.copy().items()))

    async def distribute(self, stream: StreamT) -> None:
        """Each record to who works for its partition; one that is gone belongs to another."""
        async for event in stream.noack().events():
            self._context.health.beat()
            # Faust reads on while it tells us of the assignment.  A record that is left out, and is
            # followed by one that is acknowledged, would count as done.
            await self._are_set.wait()
            occupant = self._held.get(event.message.partition)
            if occupant is not None and self.is_current(event):
                await occupant.put(event)

    def is_current(self, event: EventT) -> bool:
        """Whether the partition has stayed with this worker since the record was read."""
        generation = event.message.generation_id
        return generation == self._app.consumer_generation_id and not self._app.crashed

    async def _on_revoked(self, app: faust.App, revoked: set[TP], **_: Any) -> None:
        """Pause: every rebalance begins so, and most partitions are given back at its end."""
        self._are_set.clear()
        for partition in {place.partition for place in revoked} & self._held.keys():
            self._held[partition].pause()

    async def _on_assigned(self, app: faust.App, assigned: set[TP], **_: Any) -> None:
        """Go on with the partitions that are still ours, open the new ones, close the others."""
        partitions = {place.partition for place in assigned}
        new, lost = partitions - self._held.keys(), self._held.keys() - partitions
        for partition in partitions & self._held.keys():
            self._held[partition].resume()
        for partition in new:
            log.info("%s %d: ours", self._called, partition)
            self._held[partition] = self._occupy(partition)
        self._are_set.set()
        for partition in new:
            await self._app.add_runtime_dependency(self._held[partition].service)
        await asyncio.gather(*map(self._close, lost))
        if lost:
            # Who worked there and what refers to it are in cycles.  A worker that keeps calm looks
            # for such too seldom to leave an index, which may be most of its memory, to chance.
            gc.collect()

    async def _close(self, partition: int) -> None:
        log.info("%s %d: gone", self._called, partition)
        occupant = self._held.pop(partition)
        occupant.give_back()
        await self._app.remove_dependency(occupant.service)  # stops it; the app would keep it

    async def _on_leaving(self, app: faust.App, **_: Any) -> None:
        """A successor is to begin behind what was done last, or it would be done twice."""
        if app.crashed or not self._held:
            return
        try:
            await asyncio.wait_for(self._leave(), _LEAVES_WITHIN_S)
        except TimeoutError:
            log.warning("what was written last is not acknowledged yet; it will be written again")
        except Exception:  # Faust would not stop what it has started
            log.exception("what was written last is not committed; it will be written again")

    async def _leave(self) -> None:
        await asyncio.gather(*(occupant.leave() for occupant in self._held.values()))
        # Faust itself commits when it stops, but not if it is doing so at that moment.
        await self._app.consumer.maybe_wait_for_commit_to_finish()
        await self._app.consumer.force_commit()


def report_regularly(
    app: faust.App, context: Context, watch: TopicWatch, report: Callable[[], None]
) -> None:
    """Beat and report twice a second, and stop the worker when a topic was made anew."""
    watch.start()

    @app.timer(interval=0.5)
    async def tick() -> None:
        context.health.beat()
        report()
        try:
            watch.check()
        except TopicReplaced as error:
            log.error("%s", error)
            await app.crash(error)
