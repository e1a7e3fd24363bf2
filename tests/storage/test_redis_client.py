import socket
import time

import pytest
import redis

from storage.redis_client import open_redis


def test_nothing_is_connected_before_the_first_command():
    open_redis("redis://127.0.0.1:1/0", timeout_s=1).close()


def test_it_answers(redis_url):
    with open_redis(redis_url, timeout_s=5) as client:
        assert client.ping()


@pytest.mark.parametrize("retries", [0, 2])
def test_a_silent_server_is_given_up_after_so_many_time_outs(retries):
    """It takes connections, and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        host, port = silent.getsockname()
        started = time.monotonic()
        client = open_redis(f"redis://{host}:{port}/0", 0.2, retries)
        with client, pytest.raises(redis.TimeoutError):
            client.ping()
        waited = time.monotonic() - started
    assert waited >= 0.2 * (1 + retries)
    assert retries or waited < 1.0
