"""What `podium status` says of Spark jobs: a real one, started by the command that it tells."""

import json
import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from prometheus_client import CollectorRegistry, Gauge, start_http_server

from configs import Settings, load_collection, load_settings
from podium.stack import Stack
from podium.stack.run import fleet, ports
from podium.stack.run.folder import StackFolder
from podium.stack.status.display import show_report
from podium.stack.status.jobs import JobRow, jobs_of, noted
from podium.stack.status.report import Report, examine
from podium.topics_setup import ensure_topics
from tests.podium.processes import eventually, is_running

# Batches without waiting.
QUICK = {
    "PODIUM_SPARK__MASTER": "local[1]",
    "PODIUM_SPARK__TRIGGER_S": "0.1",
    "PODIUM_SPARK__LEAST_CHANGES": "5",
    "PODIUM_SPARK__LONGEST_WAIT_S": "600",
}


@pytest.fixture
def collection_file(tmp_path: Path) -> Path:
    file = tmp_path / "shown.yaml"
    file.write_text("name: shown\nkind: ranked\nattributes: [age]\nshards: 1\n")
    return file


def send(brokers: str, first: int, count: int) -> None:
    producer = Producer({"bootstrap.servers": brokers, "partitioner": "murmur2_random"})
    for i in range(first, first + count):
        value = json.dumps({"where": {"age": [i, i + 9]}, "score": i})
        producer.produce("podium.shown.subscriptions", value, f"s{i}")
    assert not producer.flush(30)


def test_a_job_is_started_as_told_shown_while_it_runs_and_gone_when_it_has_ended(
    stack_folder: Path, collection_file: Path, podium, capsys: pytest.CaptureFixture[str]
):
    with Stack(stack_folder) as stack:
        settings = load_settings(stack.settings_path)
        collection = load_collection(collection_file)
        ensure_topics(settings, collection)
        served = [fleet.Served(collection, str(collection_file))]
        router = fleet.plan(stack, served, 1, "podium")[0]
        stack.start_worker(router.name, router.argv, port=router.port, labels=router.labels)
        send(stack.brokers, 0, 20)

        def status() -> Report:
            report = examine(StackFolder(stack_folder))
            assert report is not None
            return report

        before = status()
        assert before.jobs == []
        command = before.without_job["shown"]
        told = podium("status", "--folder", stack_folder)
        assert f"no Spark job runs for shown; start one: {command}" in told.out

        env = QUICK | {"PODIUM_SPARK__CHECKPOINTS": str(stack_folder / "spark")}
        job = stack.start_task("job", [sys.executable, "-m", *shlex.split(command)], env)
        try:
            eventually(lambda: ended_or_batched(job.pid, status()), 150)
            send(stack.brokers, 20, 3)  # too few for a batch
            shown = status()
            (row,) = shown.jobs
            assert (row.collection, row.job, row.pid) == ("shown", "sopt-bases", job.pid)
            assert row.answers
            assert row.batches == 1
            assert row.rows_per_second is not None
            assert row.batch_s is not None
            assert row.batch_s > 0
            assert row.offsets_behind == 3
            assert row.base_age_s is not None
            assert 0 <= row.base_age_s < 150
            assert shown.without_job == {}
            as_json = json.loads(podium("status", "--folder", stack_folder, "--json").out)
            assert as_json["jobs"][0]["offsets_behind"] == 3
            assert "last batch" in podium("status", "--folder", stack_folder).out

            # The same job, for those who only know its address.
            (elsewhere,) = jobs_of(StackFolder(stack_folder / "other"), row.address, [])
            assert (elsewhere.collection, elsewhere.job) == ("shown", "sopt-bases")
            assert (elsewhere.pid, elsewhere.batches) == (None, 1)
            assert elsewhere.batch_s == row.batch_s
            assert elsewhere.base_age_s is not None

            job.terminate()
            assert job.wait(60)
            assert job.reap() == 0
        finally:
            job.reap()
        after = status()
        assert after.jobs == []
        assert after.without_job == {"shown": command}
    assert not list((stack_folder / "jobs").iterdir())


def ended_or_batched(pid: int, report: Report) -> bool:
    assert is_running(pid), "the job ended by itself"
    return any(row.batches and row.base_age_s is not None for row in report.jobs)


def test_the_note_of_a_killed_job_is_not_believed(tmp_path: Path):
    notes = tmp_path / "jobs"
    notes.mkdir()
    note = {"collection": "ads", "job": "sopt-bases", "pid": 1, "born": "never", "port": 1}
    (notes / "1.json").write_text(json.dumps(note))
    (notes / "2.json").write_text("{")
    assert jobs_of(StackFolder(tmp_path), None, []) == []
    assert [file.name for file in notes.iterdir()] == ["2.json"]


def test_an_address_where_nobody_answers_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (port,) = ports.choose(1)
    rows = jobs_of(StackFolder(tmp_path), f"127.0.0.1:{port}", [])
    assert rows == [JobRow(f"127.0.0.1:{port}", None, None, None, answers=False)]
    show_report(Report("here", "ready", 1, jobs=rows))
    assert f"job (127.0.0.1:{port}): does not answer" in capsys.readouterr().out


@pytest.fixture
def painting() -> Iterator[int]:
    """The port of a job that paints two collections; one has had a batch."""
    registry = CollectorRegistry()
    gauges = {
        name: Gauge(f"podium_spark_{name}", "…", ["collection", "job"], registry=registry)
        for name in ("rows_per_second", "last_batch_seconds", "offsets_behind")
    }
    for number, collection in enumerate(("parking", "taxis"), start=1):
        gauges["rows_per_second"].labels(collection, "paint-batch").set(100 * number)
        gauges["offsets_behind"].labels(collection, "paint-batch").set(number)
    gauges["last_batch_seconds"].labels("taxis", "paint-batch").set(0.5)
    server, _ = start_http_server(0, ports.HOST, registry)
    yield server.server_port
    server.shutdown()
    server.server_close()


def test_each_collection_of_a_job_has_a_line(
    tmp_path: Path, painting: int, monkeypatch, capsys: pytest.CaptureFixture[str]
):
    folder = StackFolder(tmp_path)
    monkeypatch.setattr("podium.stack.status.jobs._folder_of", lambda *_: folder)
    with noted(None, Settings(), ["parking", "taxis"], "paint-batch") as serving:
        serving(painting)
        rows = jobs_of(folder, f"{ports.HOST}:{painting}", [])
    assert [(row.collection, row.rows_per_second, row.batch_s) for row in rows] == [
        ("parking", 100.0, None),
        ("taxis", 200.0, 0.5),
    ]
    assert [row.offsets_behind for row in rows] == [1, 2]
    assert {row.pid for row in rows} == {os.getpid()}
    show_report(Report("here", "ready", 1, jobs=rows))
    lines = capsys.readouterr().out
    assert f"job paint-batch of taxis (pid {os.getpid()}," in lines
    elsewhere = jobs_of(folder, f"{ports.HOST}:{painting}", [])
    assert [(row.collection, row.pid) for row in elsewhere] == [("parking", None), ("taxis", None)]
