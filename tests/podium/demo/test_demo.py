"""`podium demo` as a person runs it, and the ways in which it may end."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from podium.stack.run.folder import StackFolder
from tests.podium.processes import eventually, is_running

ROOT = Path(__file__).parents[3]
SMALL = ("--ads", "2000", "--visitors", "1000", "--check", "100", "--rate", "500")
LIMIT_S = 200.0


def command(folder: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "podium", "demo", *SMALL, "--folder", str(folder), *arguments]


def started(folder: Path) -> list[int]:
    """Everything that the demo in `folder` runs."""
    record = StackFolder(folder).read()
    assert record is not None
    assert record.guard_pid is not None
    return [record.guard_pid, *(process.pid for process in record.processes)]


@pytest.fixture
def demo(stack_folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A small demo whose visitors have begun to come."""
    process = subprocess.Popen(
        command(stack_folder),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    while line := process.stderr.readline():
        if "register done" in line:
            break
    yield process
    process.kill()
    process.communicate(timeout=30)


def test_a_small_demo_agrees_with_a_full_scan_and_leaves_nothing(stack_folder: Path):
    """It runs beside another stack: variables that name that one are not for it."""
    ended = subprocess.run(
        command(stack_folder, "--json", "--matchers", "2"),
        cwd=ROOT,
        env=os.environ | {"PODIUM_KAFKA__BROKERS": "localhost:1", "PODIUM_PREFIX": "other"},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    report = json.loads(ended.stdout)
    assert ended.stdout.count("\n") == 1
    assert report["ok"] is True
    assert report["checked"] == report["agreed"] == 100
    assert report["checked_around"]["kill"] >= 20
    assert report["checked_around"]["swap"] >= 20
    assert report["states"] > 1
    assert report["visitors"] == 1000
    assert 900 < report["with_a_match"] <= 1000
    assert report["unknown"] == report["missing"] == []
    rebuilt = report["rebuilt"]
    assert rebuilt["shards"] == 2
    assert rebuilt["delta_after"] < rebuilt["delta_before"]
    assert rebuilt["around"][1] - rebuilt["around"][0] + 1 == 50
    killed = report["killed"]
    assert killed["from_snapshots"] == killed["shards"] > 0
    assert killed["visitors"] == killed["around"][1] - killed["around"][0] + 1 == 100
    assert report["streamed"]["new_ads"] > 0
    assert report["streamed"]["latency"]["p99_ms"] >= report["streamed"]["latency"]["p50_ms"] > 0
    assert len(report["examples"]) == 5
    assert "podium demo: check done" in ended.stderr
    assert not stack_folder.exists()


def test_control_c_stops_everything(demo: subprocess.Popen[str], stack_folder: Path):
    pids = started(stack_folder)
    demo.send_signal(signal.SIGINT)
    out, err = demo.communicate(timeout=60)
    assert demo.returncode == 130
    assert out == ""
    assert "Traceback" not in err
    assert err.endswith("podium: interrupted; everything is stopped\n")
    eventually(lambda: not any(map(is_running, pids)))
    assert not stack_folder.exists()


def test_a_worker_that_dies_fails_the_demo_and_its_log_is_named_and_kept(
    demo: subprocess.Popen[str], stack_folder: Path
):
    pids = started(stack_folder)
    record = StackFolder(stack_folder).read()
    assert record is not None
    os.kill(next(p.pid for p in record.processes if p.name == "ads-matcher"), signal.SIGKILL)
    out, err = demo.communicate(timeout=60)
    log = stack_folder / "logs" / "ads-matcher.log"
    assert demo.returncode == 1
    assert out == ""
    assert "Traceback" not in err
    assert f"podium: ads-matcher ended by itself\npodium: its log is {log}\n" in err
    assert log.exists()
    eventually(lambda: not any(map(is_running, pids)))


def test_a_folder_with_something_in_it_is_refused(podium, tmp_path: Path):
    (tmp_path / "mine").write_text("precious")
    ended = podium("demo", "--folder", tmp_path)
    assert ended.code == 2
    assert f"podium: got --folder {tmp_path}, which is not empty\n" in ended.err
    assert (tmp_path / "mine").read_text() == "precious"
