"""Threads whose work may wait leave the processors to those that answer."""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from workers.calm import give_way


def niceness() -> int:
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


@pytest.mark.skipif(sys.platform != "linux", reason="threads have no priorities of their own")
def test_a_thread_that_gives_way_is_the_only_one_that_does():
    before = niceness()
    with ThreadPoolExecutor(1, initializer=give_way) as waiting, ThreadPoolExecutor(1) as other:
        assert waiting.submit(niceness).result() == 10
        assert other.submit(niceness).result() == before
    assert niceness() == before
