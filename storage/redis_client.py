"""The one way to open a Redis client: it gives up in time."""

import redis
from redis.backoff import ExponentialWithJitterBackoff, NoBackoff
from redis.retry import Retry


def open_redis(url: str, timeout_s: float, retries: int = 0) -> redis.Redis:
    """Nothing is connected yet.  `url` may hold a password: never log it.

    A command that gets no answer fails after `timeout_s`, and only with `retries` is it tried
    again, with growing pauses; the default policy of the client would do so three times.
    """
    return redis.Redis.from_url(
        url,
        socket_timeout=timeout_s,
        socket_connect_timeout=timeout_s,
        retry=Retry(ExponentialWithJitterBackoff() if retries else NoBackoff(), retries),
    )
