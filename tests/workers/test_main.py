"""A worker process before its role runs."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_COMPILES = """
import time
import workers.warm_up
from configs import Collection, Settings
from workers.main import run_worker

def warm_up(*_):
    print("compiling", flush=True)
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            time.sleep(0.1)
        except BaseException:
            pass

workers.warm_up.warm_up = warm_up
settings = Settings(kafka={"brokers": "127.0.0.1:1"}, http={"port": 0})
collection = Collection(name="c", kind="ranked", attributes=("a",))
raise SystemExit(run_worker("merger", settings, collection))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_that_compiles_leaves_at_once(number):
    """Numba, which compiles, catches whatever is raised meanwhile."""
    child = subprocess.Popen([sys.executable, "-c", _COMPILES], cwd=ROOT, stdout=subprocess.PIPE)
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == b"compiling\n"
        child.send_signal(number)
        assert child.wait(20) == 0
    finally:
        child.kill()
        child.communicate()
