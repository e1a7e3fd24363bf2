import http.server
import json
import os
import threading
import time

import pytest
from confluent_kafka.admin import AdminClient

from configs import Settings
from podium.checks import machine, services
from podium.stack.run import guard
from podium.stack.run.folder import ProcessRecord, Record, StackFolder
from podium.stack.setup import tools
from topics.catalogue import TopicSpec
from topics.kafka.creation import apply, plan


def by_name(checks):
    return {check.name: check for check in checks}


@pytest.fixture
def doctor(podium, monkeypatch, broker, redis_url):
    monkeypatch.setenv("PODIUM_REDIS__URL", redis_url)

    def doctor(*arguments):
        ended = podium("doctor", "--json", "--brokers", broker, *arguments)
        told = json.loads(ended.out)
        return ended.code, told["ok"], {check["name"]: check for check in told["checks"]}

    return doctor


def test_everything_in_order_is_exit_code_0(doctor, topics):
    code, ok, checks = doctor("--collection", topics.file)
    assert (code, ok) == (0, True), checks
    for name in ("python", "packages", "java", "mvn", "redis-server", "jars", "broker", "redis"):
        assert checks[name]["state"] == "ok", checks[name]
    assert "cluster" in checks["broker"]["detail"]
    assert "version 7" in checks["redis"]["detail"]
    assert checks["clock"]["state"] == "ok"
    assert checks[f"topics of {topics.file}"]["detail"] == "9 topics as declared"
    assert checks["workers"]["state"] == "skipped"


def test_one_line_each_for_people(podium, topics, redis_url, monkeypatch):
    monkeypatch.setenv("PODIUM_REDIS__URL", redis_url)
    ended = podium("doctor", *topics.options)
    assert ended.code == 0
    *lines, summary = ended.out.splitlines()
    assert summary == "no check failed"
    assert {line.split()[0] for line in lines} <= {"ok", "warning", "skipped"}


def test_topics_that_are_not_there_fail_only_where_they_were_asked_for(doctor, undeclared):
    code, _, checks = doctor("--collection", undeclared.file)
    check = checks[f"topics of {undeclared.file}"]
    assert code == 1
    assert (check["state"], check["detail"]) == ("failed", "not created")
    assert check["remedy"] == f"podium topics create --collection {undeclared.file}"


def test_a_topic_that_is_missing_or_different_fails_with_the_remedy(doctor, podium, topics, broker):
    admin = AdminClient({"bootstrap.servers": broker})
    partials = topics.topic("partials")
    admin.delete_topics([partials])[partials].result()
    while partials in admin.list_topics(timeout=10).topics:
        pass
    code, _, checks = doctor("--collection", topics.file)
    check = checks[f"topics of {topics.file}"]
    assert (code, check["state"], check["detail"]) == (1, "failed", f"missing: {partials}")
    apply(admin, plan([TopicSpec(partials, 7)], {}))
    check = doctor("--collection", topics.file)[2][f"topics of {topics.file}"]
    assert check["state"] == "failed"
    assert check["detail"].startswith(f"{partials}: partitions: got 7, wanted 2, and 3 more")


def test_nothing_that_answers_is_exit_code_1_with_causes_and_remedies(podium, monkeypatch):
    monkeypatch.setenv("PODIUM_REDIS__URL", "redis://:hunter2@127.0.0.1:1/0")
    ended = podium("doctor", "--brokers", "127.0.0.1:1")
    assert ended.code == 1
    assert "hunter2" not in ended.out
    failed = [line for line in ended.out.splitlines() if line.startswith("failed")]
    assert [line.split()[1] for line in failed] == ["broker", "redis"]
    assert all("127.0.0.1:1" in line and "refused" in line and "→" in line for line in failed)
    assert ended.out.endswith("2 checks failed\n")


def test_a_broken_collection_is_reported_with_its_problems(doctor, tmp_path):
    file = tmp_path / "broken.yaml"
    file.write_text("name: broken\nkind: rankd\n")
    code, _, checks = doctor("--collection", str(file))
    assert code == 1
    assert "kind: got 'rankd'" in checks[f"topics of {file}"]["detail"]


def test_a_program_that_is_missing_is_named_with_the_command_that_installs_it(
    monkeypatch, tmp_path
):
    monkeypatch.setenv("PATH", str(tmp_path))
    java = machine.check_tool(tools.TOOLS["java"], missing_is="failed")
    assert (java.state, java.detail) == ("failed", "not found: Java 17 or newer, runs Kafka")
    assert "install" in java.remedy
    assert machine.check_tool(tools.TOOLS["java"], missing_is="warning").state == "warning"
    assert machine.check_tool(tools.TOOLS["kcat"], missing_is="failed").state == "warning"


def test_an_old_java_is_not_taken_for_a_new_one(monkeypatch, tmp_path):
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_392\"' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    assert f"{java} is too old" in machine.check_tool(tools.TOOLS["java"], "failed").detail


def test_jars_that_are_not_fetched_are_named_with_the_command_that_fetches_them(
    monkeypatch, tmp_path
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    check = machine.check_jars("failed")
    assert (check.state, check.remedy) == ("failed", "python -m podium.stack.setup.provision")


def test_packages_of_another_version_are_a_warning(monkeypatch):
    monkeypatch.setitem(machine.KNOWN_PACKAGES, "numpy", "1.2")
    check = machine.check_packages()
    assert check.state == "warning"
    assert "(tested with 1.2)" in check.detail
    monkeypatch.setitem(machine.KNOWN_PACKAGES, "no-such-package", "1")
    assert machine.check_packages().detail == "not installed: no-such-package"


@pytest.mark.parametrize(("ahead_s", "state"), [(0.2, "ok"), (-3.0, "warning"), (3.0, "warning")])
def test_a_clock_that_is_off_is_a_warning(redis_url, ahead_s, state):
    settings = Settings(redis={"url": redis_url})
    checks = by_name(services.check_redis(settings, now=lambda: time.time() + ahead_s))
    assert checks["clock"].state == state


class Readiness(http.server.BaseHTTPRequestHandler):
    ready = True

    def do_GET(self):
        self.send_response(200 if self.ready else 503)
        self.end_headers()
        self.wfile.write(b"shard 0 is restoring" if not self.ready else b"")

    def log_message(self, *_):
        """Not on stderr."""


@pytest.fixture
def worker(tmp_path):
    """A local stack's record with one worker, played by this process."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Readiness)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    me, born = os.getpid(), guard.birth(os.getpid())
    process = ProcessRecord(
        "ads-matcher", "worker", me, born, server.server_port, 0.0, 0, "matcher.log"
    )
    StackFolder(tmp_path).write(
        Record("ready", me, born, None, None, {"kafka": 1}, [process], None)
    )
    yield server
    server.shutdown()
    server.server_close()


def test_workers_of_a_local_stack_must_be_ready(worker, tmp_path, monkeypatch):
    (check,) = services.check_workers(tmp_path)
    assert (check.name, check.state) == ("worker ads-matcher", "ok")
    monkeypatch.setattr(Readiness, "ready", False)
    (check,) = services.check_workers(tmp_path)
    assert (check.state, check.detail) == ("failed", "not ready: shard 0 is restoring")
    assert check.remedy == "read matcher.log"
    worker.shutdown()
    worker.server_close()
    (check,) = services.check_workers(tmp_path)
    assert "does not answer" in check.detail


def test_without_a_local_stack_there_are_no_workers_to_check(tmp_path):
    (check,) = services.check_workers(tmp_path)
    assert check.state == "skipped"
