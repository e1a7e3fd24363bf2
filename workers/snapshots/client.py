"""A connection to Redis that gives up in time."""

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from configs.settings import Redis


def open_redis(settings: Redis) -> redis.Redis:
    """Nothing is connected yet.

    A command that gets no answer fails after `timeout_s`; the default policy of the client would
    try it three times more, with growing pauses.
    """
    return redis.Redis.from_url(
        settings.url.get_secret_value(),
        socket_timeout=settings.timeout_s,
        socket_connect_timeout=settings.timeout_s,
        retry=Retry(NoBackoff(), 0),
    )
