"""`podium up`, `down` and `status` as a person runs them, and every way in which they may end."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from podium.stack.run.fleet import READY_TIMEOUT_S
from podium.stack.run.folder import Record, StackFolder
from podium.stack.run.supervisor import WORKER_GRACE_S
from podium.stack.status.display import duration
from podium.stack.status.report import Row, examine
from tests.podium.processes import eventually, is_running

ROOT = Path(__file__).parents[3]
PODIUM = [sys.executable, "-m", "podium"]
START_S = 120.0


def podium(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PODIUM, *arguments],
        cwd=ROOT,
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


def when_ready(folder: Path, timeout_s: float = START_S) -> Record:
    """What the stack says of itself once it is ready."""
    found = StackFolder(folder)

    def ready() -> bool:
        record = found.read()
        return record is not None and record.running() and record.state == "ready"

    eventually(ready, timeout_s)
    record = found.read()
    assert record is not None
    return record


def everyone(record: Record) -> list[int]:
    servers = [process.pid for process in record.processes]
    return [*servers, record.supervisor_pid, record.guard_pid]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all foreground stacks: each finds what the end of the last has left."""
    return tmp_path_factory.mktemp("foreground") / "stack"


@pytest.fixture
def up(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """`podium up` in the foreground, without workers."""
    process = subprocess.Popen(
        [*PODIUM, "up", "--folder", str(folder)],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    yield process
    process.kill()
    process.communicate()


def test_a_term_stops_everything_in_the_proper_order(up, folder):
    record = when_ready(folder)
    up.terminate()
    shown, _ = up.communicate(timeout=40)
    assert up.returncode == 0
    assert not any(map(is_running, everyone(record)))
    assert f"Kafka     127.0.0.1:{record.ports['kafka']}" in shown
    assert f"logs      {folder / 'logs'}" in shown
    assert shown.endswith("stopping\nstopped\n")
    assert StackFolder(folder).read().state == "stopped"


def test_a_killed_supervisor_takes_everything_with_it(up, folder):
    record = when_ready(folder)
    up.kill()
    eventually(lambda: not any(map(is_running, everyone(record))), timeout_s=30)
    assert podium("status", "--folder", str(folder)).returncode == 3


def test_without_supervisor_and_guard_the_leftovers_are_seen_and_taken_down(up, folder):
    record = when_ready(folder)
    os.kill(record.guard_pid, signal.SIGSTOP)  # so that it is not replaced before its turn
    up.kill()
    os.kill(record.guard_pid, signal.SIGKILL)
    servers = [process.pid for process in record.processes]
    assert all(map(is_running, servers))
    seen = podium("status", "--folder", str(folder))
    assert seen.returncode == 1
    assert "dead" in seen.stdout
    stopped = podium("down", "--folder", str(folder), "--json")
    assert stopped.returncode == 0
    assert sorted(json.loads(stopped.stdout)["stopped"].values()) == sorted(servers)
    assert not any(map(is_running, servers))


def test_the_death_of_its_parent_stops_a_foreground_stack(folder):
    command = " ".join([*PODIUM, "up", "--folder", str(folder)])
    shell = subprocess.Popen(["/bin/sh", "-c", f"{command} & wait"], cwd=ROOT)
    record = when_ready(folder)
    shell.kill()
    shell.wait()
    eventually(lambda: not any(map(is_running, everyone(record))), timeout_s=40)


def test_ctrl_c_on_a_terminal_reaches_the_supervisor_alone_and_stops_everything(folder):
    supervisor, terminal = pty.fork()
    if supervisor == 0:
        os.chdir(ROOT)
        os.execv(sys.executable, [*PODIUM, "up", "--folder", str(folder)])
    record = when_ready(folder)
    sessions = {os.getsid(process.pid) for process in record.processes}
    assert os.getsid(supervisor) not in sessions
    os.write(terminal, b"\x03")
    shown = _read_to_the_end(terminal)
    _, status = os.waitpid(supervisor, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert shown.rstrip().endswith("stopped")
    assert not any(map(is_running, everyone(record)))


def _read_to_the_end(terminal: int) -> str:
    shown = b""
    try:
        while piece := os.read(terminal, 4096):
            shown += piece
    except OSError:  # Linux's end of file, once the last process has left the terminal
        return shown.decode()
    return shown.decode()


def row_of(folder: Path, name: str) -> Row:
    """What `podium status` shows of a process, for those who ask again and again."""
    report = examine(StackFolder(folder))
    assert report is not None
    return next(row for row in report.processes if row.name == name)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict]]:
    """A detached stack with the workers of a collection, and what `up --json` told of it."""
    folder = tmp_path_factory.mktemp("fleet") / "stack"
    arguments = ["--folder", str(folder), "--collection", "ads", "--detach", "--json"]
    # A setting of somebody else's broker must not lead the workers away from the stack's own.
    started = podium("up", *arguments, PODIUM_KAFKA__BROKERS="127.0.0.1:1")
    assert started.returncode == 0, started.stderr
    assert "PODIUM_KAFKA__BROKERS is ignored" in started.stderr
    yield folder, json.loads(started.stdout)
    podium("down", "--folder", str(folder))


def test_a_detached_stack_outlives_its_command_with_all_workers_ready(fleet):
    folder, told = fleet
    assert told["workers"] == ["ads-router", "ads-matcher", "ads-merger"]
    assert is_running(told["supervisor_pid"])
    assert os.getsid(told["supervisor_pid"]) == told["supervisor_pid"]
    shown = podium("status", "--folder", str(folder), "--json")
    assert shown.returncode == 0
    report = json.loads(shown.stdout)
    assert report["healthy"]
    assert {row["name"]: row["state"] for row in report["processes"]} == dict.fromkeys(
        ["redis", "kafka", *told["workers"]], "ready"
    )
    assert all(row["memory_bytes"] > 2**20 for row in report["processes"])
    groups = ("router", "matcher", "feed", "merger")
    assert set(report["lag"]) == {f"podium.ads.{group}" for group in groups}


def test_a_second_up_on_the_folder_is_refused_with_the_pid_of_the_first(fleet):
    folder, told = fleet
    for flags in ([], ["--detach"]):
        refused = podium("up", "--folder", str(folder), *flags)
        assert refused.returncode == 2
        assert f"(pid {told['supervisor_pid']})" in refused.stderr
        assert "podium down" in refused.stderr
    assert is_running(told["supervisor_pid"])


def test_send_tail_and_doctor_find_the_stack_by_its_folder(fleet, tmp_path):
    folder, told = fleet
    lines = tmp_path / "lines.jsonl"
    lines.write_text('{"id": "ad-7", "where": {"age": [20, 35]}, "score": 7.5}\n')
    sent = podium("send", str(lines), "--folder", str(folder), "--json")
    assert sent.returncode == 0, sent.stderr
    shown = podium(
        *("tail", "subscriptions", "--from-beginning", "--limit", "1", "--timeout", "30"),
        *("--folder", str(folder), "--json"),
    )
    assert shown.returncode == 0, shown.stderr
    assert json.loads(shown.stdout)["key"] == "ad-7"
    checked = podium("doctor", "--folder", str(folder), "--json")
    checks = {check["name"]: check for check in json.loads(checked.stdout)["checks"]}
    assert told["brokers"] in checks["broker"]["detail"]
    assert checks["redis"]["state"] == "ok"
    assert checks["worker ads-matcher"]["state"] == "ok"


def test_status_and_doctor_show_a_matcher_that_does_without_redis(fleet):
    folder, _ = fleet
    redis = next(each for each in StackFolder(folder).read().processes if each.kind == "redis")
    psutil.Process(redis.pid).suspend()

    try:
        eventually(lambda: "redis" in row_of(folder, "ads-matcher").degraded, timeout_s=60)
        assert row_of(folder, "ads-matcher").state == "ready"
        shown = podium("status", "--folder", str(folder))
        assert shown.returncode == 0
        assert "ready, degraded" in shown.stdout
        assert "podium: ads-matcher does without redis: no answer from" in shown.stderr
        checked = podium("doctor", "--folder", str(folder), "--json")
    finally:
        psutil.Process(redis.pid).resume()
    checks = {check["name"]: check for check in json.loads(checked.stdout)["checks"]}
    assert checks["worker ads-matcher"]["state"] == "warning"
    assert "degraded: redis: no answer" in checks["worker ads-matcher"]["detail"]
    eventually(lambda: not row_of(folder, "ads-matcher").degraded, timeout_s=60)


def test_status_exits_1_while_a_worker_is_dead_and_shows_its_restart(fleet):
    folder, told = fleet
    router = next(p for p in StackFolder(folder).read().processes if p.name == "ads-router")
    supervisor = psutil.Process(told["supervisor_pid"])
    supervisor.suspend()  # so that it cannot restart the worker before we have looked
    psutil.Process(router.pid).kill()
    dead = podium("status", "--folder", str(folder))
    supervisor.resume()
    assert dead.returncode == 1
    assert f"ads-router is dead; read {router.log}" in dead.stderr

    eventually(lambda: row_of(folder, "ads-router").state == "ready", timeout_s=60)
    shown = podium("status", "--folder", str(folder), "--json")
    rows = {row["name"]: row for row in json.loads(shown.stdout)["processes"]}
    assert (rows["ads-router"]["state"], rows["ads-router"]["restarts"]) == ("ready", 1)


def test_down_stops_the_fleet_and_a_second_one_finds_nothing(fleet):
    folder, _ = fleet
    record = StackFolder(folder).read()
    stopped = podium("down", "--folder", str(folder))
    assert stopped.returncode == 0
    assert "no process is left" in stopped.stdout
    assert not any(map(is_running, everyone(record)))
    again = podium("down", "--folder", str(folder), "--json")
    assert again.returncode == 0
    assert json.loads(again.stdout)["was_running"] is False
    assert podium("status", "--folder", str(folder)).returncode == 3


def test_without_its_broker_a_stack_with_workers_stops_soon_and_says_why(tmp_path):
    folder = tmp_path / "stack"
    process = subprocess.Popen(
        [*PODIUM, "up", "--folder", str(folder), "--collection", "ads"],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        record = when_ready(folder, START_S + READY_TIMEOUT_S)
        broker = next(each for each in record.processes if each.kind == "broker")
        os.kill(broker.pid, signal.SIGKILL)
        killed_at = time.monotonic()
        shown, _ = process.communicate(timeout=60)
        seconds = time.monotonic() - killed_at
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 1
    assert f"kafka (pid {broker.pid}) ended: killed by SIGKILL; the stack stops" in shown
    assert not any(map(is_running, everyone(record)))
    assert StackFolder(folder).read().state == "failed"
    assert seconds < WORKER_GRACE_S


def test_a_collection_that_does_not_exist_is_refused_before_anything_starts(stack_folder):
    refused = podium("up", "--folder", str(stack_folder), "--collection", "adz")
    assert refused.returncode == 2
    assert "adz" in refused.stderr
    assert not stack_folder.exists()


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.4, "0s"), (59.9, "59s"), (75, "1m 15s"), (7384, "2h 03m")]
)
def test_an_uptime_is_shown_in_its_two_largest_units(seconds, shown):
    assert duration(seconds) == shown


def test_without_java_up_names_the_command_to_type(stack_folder):
    refused = podium("up", "--folder", str(stack_folder), PATH="/nonexistent")
    assert refused.returncode == 2
    assert "missing: java" in refused.stderr
    assert "apt-get install -y openjdk-17-jre-headless" in refused.stderr
