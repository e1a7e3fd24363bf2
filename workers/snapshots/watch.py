"""Whether Redis answered last: known to the probe and to all shards of a worker.

A Redis that hangs costs whoever asks it the whole of `redis.timeout_s`.  So the first that waits in
vain says so in the worker's health, and the others do without Redis until it is asked again: by the
probe every few seconds, or by a shard where no probe has spoken lately.
"""

import redis

from configs.settings import Redis
from storage.redis_client import open_redis
from workers.process.health import Health, Probe

REDIS = "redis"
_PROBE_EVERY_S = 2.0
# More than the probe rests, so that on a busy machine its next word comes before the last expires.
_BETWEEN_WORDS_S = 5.0


class RedisWatch:
    """All watches of one `health` know the same."""

    def __init__(self, health: Health, settings: Redis) -> None:
        self._health, self._settings = health, settings

    def probe(self) -> Probe:
        """Asks Redis again and again.  It does not back off: a shard may want its snapshot soon."""
        return Probe(self._health, REDIS, self._ping, _PROBE_EVERY_S, _PROBE_EVERY_S, needed=False)

    def silence(self) -> str | None:
        """What was said of Redis by the last that asked, if it got no answer a moment ago."""
        return self._health.degraded_within(REDIS, self._settings.timeout_s + _BETWEEN_WORDS_S)

    def has_answered(self) -> None:
        self._health.ready(REDIS)

    def has_not_answered(self, error: BaseException | None) -> None:
        self._health.degraded(REDIS, f"{self._no_answer(error)}; trying again")

    def _ping(self) -> None:
        client = open_redis(self._settings.url.get_secret_value(), self._settings.timeout_s)
        try:
            client.ping()
        except redis.RedisError as error:
            raise ConnectionError(self._no_answer(error)) from None
        finally:
            client.close()

    def _no_answer(self, error: BaseException | None) -> str:
        return f"no answer from {self._settings.url} ({error})"
