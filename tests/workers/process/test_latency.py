"""What goes on beside frames does not hold them up."""

import asyncio
import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from tests.fleet.time_slices import expected_short_ns
from tests.workers.shard.shard_lab import ShardLab, until

ROOT = Path(__file__).parents[3]

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="no priorities of threads, no options of malloc there"
)


def niceness_by_thread() -> dict[str, int]:
    found = {}
    for thread in threading.enumerate():
        with suppress(ProcessLookupError):  # it has just ended
            niceness = os.getpriority(os.PRIO_PROCESS, thread.native_id or 0)
            found[thread.name.rpartition("_")[0]] = niceness
    return found


def test_snapshots_and_renewals_give_way_to_frames_and_changes(
    broker: str, redis_url: str, unique_name
):
    often = {"snapshots": {"every_s": 0.1, "least_changes": 1}}
    lab = ShardLab(unique_name("calm"), broker, redis_url, often)

    ours = os.getpriority(os.PRIO_PROCESS, os.getpid())
    expected = {"snapshots-0": ours + 10, "rebuilder-0": ours + 10, "feed-0": ours}

    async def run() -> None:
        async with lab.service():
            lab.subscribe("a")
            await until(lambda: expected.items() <= niceness_by_thread().items())

    asyncio.run(run())


TURNS = """
from concurrent.futures import ThreadPoolExecutor
from tests.fleet.time_slices import turn_ns
from workers.process.latency import tune_for_latency

before = turn_ns()
tune_for_latency()
print(before, turn_ns(), ThreadPoolExecutor(1).submit(turn_ns).result())
"""


def test_the_thread_that_answers_takes_shorter_turns_than_others():
    told = subprocess.run(
        [sys.executable, "-c", TURNS], cwd=ROOT, capture_output=True, text=True, check=True
    )
    before, ours, of_a_thread = map(int, told.stdout.split())
    assert ours == expected_short_ns()
    assert of_a_thread == before
    assert ours < before or not ours


FAULTS = """
import resource
import sys
import numpy as np
from workers.process.latency import tune_for_latency

def faults_of_filling():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    index = [np.ones(2**24 // arrays) for _ in range(arrays)]
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

arrays = int(sys.argv[1])
tune_for_latency()
print(faults_of_filling(), faults_of_filling())
"""


@pytest.mark.parametrize("arrays", [16, 2])
def test_memory_of_what_is_gone_serves_what_comes(arrays: int):
    command = [sys.executable, "-c", FAULTS, f"{arrays}"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    first, second = map(int, told.stdout.split())
    assert first > 0
    assert second <= first / 10
