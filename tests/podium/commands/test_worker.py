"""`podium worker`: what it says and how it ends, without a broker."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from podium.stack.run import ports
from tests.podium.conftest import Ended

ROLES = ("router", "matcher", "merger")
LIST_ROLES = ("painter", "zone")
GOOD_COLLECTION = "name: shop\nkind: ranked\nattributes: [price]\n"
KEEPS_LISTS = "name: shop\nkind: range_topk\n"
ENDS_WITHIN_S = 15.0


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("PODIUM_")}


def worker(folder: Path, *arguments: str) -> Ended:
    """Run `podium worker …` to its end, as a process of its own."""
    ended = subprocess.run(
        [sys.executable, "-m", "podium", "worker", *arguments],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    return Ended(ended.returncode, ended.stdout, ended.stderr)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "shop.yaml").write_text(GOOD_COLLECTION)
    return tmp_path


def check_refusal(ended: Ended, *texts: str) -> None:
    assert ended.code == 2, ended.err
    assert ended.out == ""
    assert "Traceback" not in ended.err
    for text in texts:
        assert text in ended.err


def test_all_problems_of_a_settings_file_are_told_at_once(folder: Path):
    (folder / "podium.yaml").write_text(
        "kafka:\n  brokers: nowhere\n  pasword: hunter2\n"
        "matcher:\n  session_timeout_s: -1\nrouter:\n  frame_events: many\n"
    )
    ended = worker(folder, "router", "--collection", "./shop.yaml", "--config", "podium.yaml")
    check_refusal(
        ended,
        "podium.yaml:2: kafka.brokers",
        "podium.yaml:3: kafka.pasword",
        "did you mean `password`",
        "podium.yaml:5: matcher.session_timeout_s",
        "podium.yaml:7: router.frame_events",
    )
    assert "hunter2" not in ended.err


def test_all_problems_of_a_collection_file_are_told_at_once(folder: Path, podium):
    (folder / "shop.yaml").write_text("name: Shop\nkind: ranked\nk: 0\nshards: two\ncolor: red\n")
    ended = podium("worker", "matcher", "--collection", "./shop.yaml")
    check_refusal(ended, "name", "attributes", "k", "shards", "color")
    assert len(re.findall(r"shop\.yaml", ended.err)) >= 5


@pytest.mark.parametrize(
    ("arguments", "texts"),
    [
        pytest.param(
            ["router", "--config", "gone.yaml", "--collection", "./shop.yaml"],
            ["gone.yaml", "no such file"],
            id="no-settings-file",
        ),
        pytest.param(
            ["router", "--collection", "./gone.yaml"],
            ["gone.yaml", "no such file"],
            id="no-collection-file",
        ),
        pytest.param(
            ["router", "--collection", "shoes"],
            ["no collection 'shoes'", "looked in", "ads"],
            id="unknown-collection",
        ),
        pytest.param(["printer"], ["printer", *ROLES, *LIST_ROLES], id="unknown-role"),
        pytest.param([], ["ROLE"], id="no-role"),
        pytest.param(
            ["router", "--collection", "./shop.yaml", "--brokers", "nowhere"],
            ["command line", "kafka.brokers", "host:port"],
            id="bad-flag",
        ),
        pytest.param(
            ["matcher", "--collection", "./shop.yaml", "--instance-id", ""],
            ["command line", "matcher.instance_id: got '', expected"],
            id="empty-instance-id",
        ),
        pytest.param(
            ["matcher", "--collection", "./shop.yaml", "--instance-id", "rack 7/a"],
            ["command line", "matcher.instance_id: got 'rack 7/a', expected", "A-Za-z0-9._-"],
            id="odd-instance-id",
        ),
        pytest.param(
            ["merger", "--collection", "./shop.yaml", "--instance-id", "a"],
            ["--instance-id is for matcher, node, zone; got a merger"],
            id="instance-id-of-a-merger",
        ),
        pytest.param(
            ["router", "--collection", "./shop.yaml", "--http-port", "70000"],
            ["command line", "http.port", "65535"],
            id="bad-port",
        ),
    ],
)
def test_a_mistake_ends_with_exit_code_2_and_what_was_expected(
    folder: Path, podium, arguments: list[str], texts: list[str]
):
    ended = podium("worker", *arguments)
    check_refusal(ended, *(text for text in texts if text != "ROLE"))
    assert "ROLE" not in texts or "role" in ended.err.lower()


def test_a_bad_variable_ends_with_exit_code_2(
    folder: Path, podium, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PODIUM_KAFKA_BROKERS", "kafka:9092")
    ended = podium("worker", "router", "--collection", "./shop.yaml")
    check_refusal(ended, "PODIUM_KAFKA_BROKERS", "did you mean PODIUM_KAFKA__BROKERS?")


@pytest.mark.parametrize(
    ("collection", "role", "expected"),
    [
        pytest.param(KEEPS_LISTS, "router", LIST_ROLES, id="lists"),
        pytest.param(GOOD_COLLECTION, "painter", ROLES, id="matching"),
        pytest.param(GOOD_COLLECTION, "node", ROLES, id="sharded"),
        pytest.param(
            f"{GOOD_COLLECTION}layout: replicated\n", "matcher", ["node"], id="replicated"
        ),
    ],
)
def test_a_role_of_another_kind_or_layout_ends_with_exit_code_2(
    folder: Path, collection: str, role: str, expected: tuple[str, ...]
):
    (folder / "shop.yaml").write_text(collection)
    ended = worker(folder, role, "--collection", "./shop.yaml")
    check_refusal(ended, f"got role {role}, expected one of {', '.join(expected)}")


@pytest.mark.parametrize(
    ("role", "setting", "instead"),
    [
        ("painter", "painter: batch", "podium spark paint-batch --collection shop"),
        ("zone", "deliver: messages", "gateways keep the lists"),
    ],
)
def test_a_role_that_the_collection_does_without_ends_with_exit_code_2(
    folder: Path, podium, role: str, setting: str, instead: str
):
    (folder / "shop.yaml").write_text(f"{KEEPS_LISTS}{setting}\n")
    check_refusal(podium("worker", role, "--collection", "./shop.yaml"), setting, instead)


def test_a_port_in_use_is_named(folder: Path):
    with socket.create_server((ports.HOST, 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = worker(folder, "router", "--collection", "./shop.yaml", "--http-port", port)
    assert ended.code == 1
    assert "Traceback" not in ended.err
    assert port in ended.err


class Waiting(NamedTuple):
    """A worker whose broker is not there."""

    process: subprocess.Popen[str]
    port: int
    broker: str
    log: Path


@pytest.fixture(scope="module")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Waiting]]:
    """One worker of each role."""
    folder = tmp_path_factory.mktemp("waiting")
    (folder / "shop.yaml").write_text(GOOD_COLLECTION)
    (folder / "podium.yaml").write_text("kafka: {brokers: 'localhost:1'}\nhttp: {port: 1}\n")
    started: dict[str, Waiting] = {}
    *http_ports, nobody = ports.choose(len(ROLES) + 1)
    for role, port in zip(ROLES, http_ports, strict=True):
        broker = f"{ports.HOST}:{nobody}"
        arguments = [role, "--collection", "./shop.yaml", "--brokers", broker]
        log = folder / f"{role}.log"
        with log.open("w") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "podium", "worker", *arguments, "--http-port", str(port)],
                cwd=folder,
                env=environment(),
                stdout=output,
                stderr=subprocess.STDOUT,
                text=True,
            )
        started[role] = Waiting(process, port, broker, log)
    yield started
    for one in started.values():
        one.process.kill()
        one.process.wait()


def get(one: Waiting, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://{ports.HOST}:{one.port}{path}", timeout=5) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError:
        return 0, ""


def wait_for_reason(one: Waiting, text: str) -> dict:
    deadline = time.monotonic() + 60
    while True:
        status, body = get(one, "/readyz")
        if text in body:
            assert status == 503
            return json.loads(body)
        assert time.monotonic() < deadline, f"{status} {body}\n{one.log.read_text()}"
        time.sleep(0.05)


@pytest.mark.parametrize("role", ROLES)
def test_flags_win_over_the_file_and_the_reason_names_the_broker(
    waiting: dict[str, Waiting], role: str
):
    told = wait_for_reason(waiting[role], f"no answer from {waiting[role].broker}")
    assert told["ready"] is False
    assert waiting[role].broker in waiting[role].log.read_text()


@pytest.mark.parametrize("role", ROLES)
def test_a_waiting_worker_lives_and_serves_its_metrics(waiting: dict[str, Waiting], role: str):
    wait_for_reason(waiting[role], '"topics": "no answer')
    assert get(waiting[role], "/livez")[0] == 200
    status, metrics = get(waiting[role], "/metrics")
    assert status == 200
    assert "# TYPE podium_" in metrics
    status, hint = get(waiting[role], "/")
    assert status == 404
    assert "/readyz" in hint


@pytest.mark.parametrize(
    ("role", "number"),
    [("router", signal.SIGTERM), ("matcher", signal.SIGINT), ("merger", signal.SIGTERM)],
)
def test_a_waiting_worker_stops_when_it_is_told_to(
    waiting: dict[str, Waiting], role: str, number: signal.Signals
):
    wait_for_reason(waiting[role], "no answer")
    waiting[role].process.send_signal(number)
    assert waiting[role].process.wait(ENDS_WITHIN_S) == 0
    log = waiting[role].log.read_text()
    assert "Traceback" not in log
