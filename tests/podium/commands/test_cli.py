import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer

import configs
from podium.cli import app
from podium.stack.run.folder import StackFolder
from podium.terminal import EXIT_CODES

ROOT = Path(__file__).parents[3]
HEAVY = ("confluent_kafka", "faust", "numba", "numpy", "pyspark", "pydantic", "redis", "yaml")


def test_help_names_every_command_and_exit_code(podium):
    ended = podium("--help")
    assert ended.code == 0
    shown = " ".join(ended.out.split())
    for command in (
        "up", "down", "status", "demo", "worker", "send", "tail", "doctor", "topics", "shards",
        "snapshot", "spark", "schemas", "config",
    ):  # fmt: skip
        assert f"│ {command} " in shown
    assert all(f"{code:d} {text}" in shown for code, text in EXIT_CODES.items())


def test_help_loads_nothing_heavy():
    code = f"import sys, podium.cli; print([m for m in {HEAVY} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert run.stdout.strip() == "[]", run.stdout + run.stderr


def test_versions(podium):
    versions = json.loads(podium("--version", "--json").out)
    assert versions["python"] == sys.version.split()[0]
    assert podium("--version").out.startswith(f"podium {versions['podium']}\n")


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["nonsense"], id="unknown-command"),
        pytest.param(["send"], id="missing-argument"),
        pytest.param(["send", "-", "--to", "nowhere"], id="unknown-topic-to-send-to"),
        pytest.param(["send", "-", "--after", "soon"], id="bad-token"),
        pytest.param(["send", "-", "--to", "subscriptions", "--k", "3"], id="k-is-for-events"),
        pytest.param(["send", "nowhere.jsonl"], id="no-such-file"),
        pytest.param(["tail", "frames"], id="internal-topic"),
        pytest.param(["tail", "matches", "--collection", "nowhere"], id="unknown-collection"),
        pytest.param(["topics", "ls", "--brokers", "nowhere"], id="bad-brokers"),
    ],
)
def test_bad_usage_is_exit_code_2_without_a_traceback(podium, arguments):
    ended = podium(*arguments)
    assert ended.code == 2
    assert ended.err
    assert "Traceback" not in ended.err


def test_every_problem_of_a_configuration_is_a_line(podium, tmp_path):
    Path(tmp_path, "podium.yaml").write_text("kafka: {brokers: 9092}\nredis: {urll: x}\n")
    ended = podium("config", "show")
    assert ended.code == 2
    assert ended.err.splitlines() == [
        "podium: podium.yaml:1: kafka.brokers: got 9092, expected host:port[,host:port…]",
        "podium: podium.yaml:2: redis.urll: unknown key; did you mean `url`?",
    ]


@pytest.mark.parametrize(
    "arguments",
    [["send", "-"], ["tail", "matches"], ["topics", "create"], ["topics", "ls"]],
    ids=" ".join,
)
def test_a_broker_that_is_not_there_is_a_clear_line_and_exit_code_4(podium, arguments):
    ended = podium(*arguments, "--brokers", "127.0.0.1:1")
    assert ended.code == 4
    cause, remedy = ended.err.splitlines()
    assert cause.startswith("podium: Kafka does not answer at 127.0.0.1:1: ")
    assert "Connection refused" in cause
    assert "podium up" in remedy


def test_a_bug_is_one_line_and_its_traceback_is_for_debug(podium, monkeypatch):
    def broken(*_):
        raise RuntimeError("something else")

    monkeypatch.setattr(configs, "load_with_origins", broken)
    ended = podium("config", "show")
    assert ended.code == 1
    assert ended.err.splitlines() == [
        "podium: something else",
        "podium: this is a bug (RuntimeError); --debug shows where",
    ]
    with pytest.raises(RuntimeError, match="something else"):
        podium("--debug", "config", "show")


def test_an_interrupt_is_exit_code_130(podium, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(configs, "load_with_origins", interrupted)
    assert podium("config", "show").code == 130


def test_config_shows_options_of_spark_but_no_secret_among_them(podium, tmp_path):
    file = tmp_path / "podium.yaml"
    options = {"spark.executor.memory": "2g", "spark.hadoop.fs.s3a.secret.key": "hush"}
    file.write_text(json.dumps({"spark": {"options": options}}))
    ended = podium("config", "show", "--json", "--config", file)
    shown = json.loads(ended.out)["settings"]["spark.options"]
    assert shown["value"] == options | {"spark.hadoop.fs.s3a.secret.key": "**********"}
    assert str(file) in shown["source"]
    assert "hush" not in podium("config", "show", "--config", file).out


def test_config_shows_values_and_sources_but_no_secret(podium, monkeypatch, tmp_path):
    Path(tmp_path, "podium.yaml").write_text("redis: {url: 'redis://:hunter2@r:1/0'}\n")
    monkeypatch.setenv("PODIUM_HTTP__PORT", "81")
    ended = podium("config", "show", "--json", "--brokers", "kafka:9")
    assert "hunter2" not in ended.out
    told = json.loads(ended.out)
    assert told["file"] == "podium.yaml"
    assert told["settings"]["redis.url"] == {
        "value": "redis://:***@r:1/0",
        "source": "podium.yaml:1",
    }
    assert told["settings"]["http.port"] == {"value": 81, "source": "PODIUM_HTTP__PORT"}
    assert told["settings"]["kafka.brokers"] == {"value": "kafka:9", "source": "command line"}
    assert told["settings"]["prefix"] == {"value": "podium", "source": "default"}
    shown = podium("config", "show").out
    assert "redis://:***@r:1/0" in shown
    assert "hunter2" not in shown


def commands(group, path=()):
    """Every command with its options, by the words that call it."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), {option for each in command.params for option in each.opts}


WITH_SETTINGS = {
    words: options
    for words, options in commands(typer.main.get_command(app))
    if "--config" in options
}


@pytest.mark.parametrize("words", WITH_SETTINGS, ids=" ".join)
def test_every_command_that_reads_settings_takes_those_of_a_stack_by_its_folder(words):
    assert "--folder" in WITH_SETTINGS[words]


def a_stack_of_settings(folder, brokers):
    """What a stack that was started in a folder has left there for other commands."""
    folder.mkdir()
    StackFolder(folder).write_settings(brokers, "redis://127.0.0.1:1/0")
    return folder


def brokers_in_force(podium, *arguments):
    ended = podium("config", "show", "--json", *arguments)
    assert ended.code == 0, ended.err
    return json.loads(ended.out)["settings"]["kafka.brokers"]["value"]


def test_which_settings_file_is_read(podium, tmp_path, monkeypatch):
    """The flags, then PODIUM_CONFIG, then podium.yaml, then the local stack's."""
    named = a_stack_of_settings(tmp_path / "named", "by-flag:1")
    a_stack_of_settings(tmp_path / ".podium", "usual-stack:1")
    variable = a_stack_of_settings(tmp_path / "variable", "by-variable:1")
    assert brokers_in_force(podium) == "usual-stack:1"
    monkeypatch.setenv("PODIUM_FOLDER", str(tmp_path / "nothing-there"))
    assert brokers_in_force(podium) == "usual-stack:1"
    monkeypatch.setenv("PODIUM_FOLDER", str(variable))
    assert brokers_in_force(podium) == "by-variable:1"
    Path("podium.yaml").write_text("kafka: {brokers: 'in-file:1'}\n")
    assert brokers_in_force(podium) == "in-file:1"
    monkeypatch.setenv("PODIUM_CONFIG", str(tmp_path / ".podium" / "podium.yaml"))
    assert brokers_in_force(podium) == "usual-stack:1"
    assert brokers_in_force(podium, "--folder", named) == "by-flag:1"
    assert brokers_in_force(podium, "--folder", named, "--config", "podium.yaml") == "in-file:1"


@pytest.mark.parametrize("words", WITH_SETTINGS, ids=" ".join)
def test_a_folder_without_a_stack_is_refused_with_the_remedy(podium, words):
    needed = {"send": ["-"], "tail": ["matches"], "worker": ["router"], "shards plan": ["-"]}
    needed["explain"] = ["0@0", "ad-1"]
    ended = podium(*words, *needed.get(" ".join(words), []), "--folder", "nowhere")
    assert ended.code == 2
    cause, remedy = ended.err.splitlines()
    assert cause.startswith("podium: no stack was started in nowhere: no ")
    assert remedy == "podium: `podium up --folder nowhere` starts one"


def test_schemas_are_written_and_checked(podium, tmp_path):
    out = tmp_path / "schemas"
    assert podium("schemas", "--check", "--out", out).code == 1
    assert podium("schemas", "--out", out).code == 0
    assert podium("schemas", "--check", "--out", out).code == 0
    for file in out.glob("*.json"):
        assert json.loads(file.read_text())["$schema"]
    file.write_text("{}")
    ended = podium("schemas", "--check", "--out", out, "--json")
    assert ended.code == 1
    assert json.loads(ended.out)["stale"] == [file.name]


def test_the_schemas_in_the_repository_are_current(podium):
    ended = podium("schemas", "--check")
    assert ended.code == 0, ended.out
