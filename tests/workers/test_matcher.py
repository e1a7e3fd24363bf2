"""The shards of one matcher as they come and go, without a worker process around it."""

import asyncio
import weakref

import pytest
from faust.types import TP

from tests.workers.feed_lab import FeedLab, until
from workers.faust_app import create_app
from workers.feed import SubscriptionFeed
from workers.matcher import Matcher


@pytest.fixture
def lab(broker: str, redis_url: str, unique_name) -> FeedLab:
    return FeedLab(unique_name("matcher"), broker, redis_url)


class Assigned:
    """A matcher that is told by a test what Faust would tell it."""

    def __init__(self, lab: FeedLab) -> None:
        self._frames = lab.context.names.topic("frames")
        self._app = create_app(lab.context)
        self._matcher = Matcher(lab.context, self._app)

    async def assign(self, *shards: int) -> None:
        await self._app.on_partitions_assigned.send({TP(self._frames, shard) for shard in shards})

    async def revoke(self, *shards: int) -> None:
        await self._app.on_partitions_revoked.send({TP(self._frames, shard) for shard in shards})

    def feed(self, shard: int) -> SubscriptionFeed:
        return self._matcher._lanes[shard].feed

    async def restored(self, shard: int) -> SubscriptionFeed:
        """Its feed; an app that was not started does not start it."""
        await self.feed(shard).maybe_start()
        await until(self.feed(shard).restored.is_set)
        return self.feed(shard)


def test_a_shard_that_is_gone_leaves_no_index_behind(lab: FeedLab):
    lab.subscribe("a", "b")

    async def run() -> None:
        matcher = Assigned(lab)
        await matcher.assign(0)
        index = weakref.ref((await matcher.restored(0)).shard._index)
        await matcher.assign()
        assert index() is None

    asyncio.run(run())
