"""Set-up: what is missing is installed or named, and every jar is the one that is pinned."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from podium.stack.errors import JarMismatch, MissingTools, StackError
from podium.stack.setup import apt, bootstrap, jars, tools

ROOT = Path(__file__).parents[3]
PROVISION = [sys.executable, "-m", "podium.stack.setup.provision"]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, so that the user's is not touched; Maven's repository stays."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def filled(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That cache with copies of the user's jars."""
    own = jars.location()
    monkeypatch.delenv("XDG_CACHE_HOME")
    shutil.copytree(jars.ensure_jars(print), own)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    return own


@pytest.fixture
def path_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """A PATH of nothing but the given scripts: `path_with(java="echo ...")`."""

    def make(**scripts: str) -> Path:
        folder = tmp_path / "bin"
        folder.mkdir()
        for name, body in scripts.items():
            script = folder / name.replace("_", "-")
            script.write_text(f"#!/bin/sh\n{body}\n")
            script.chmod(0o755)
        monkeypatch.setenv("PATH", str(folder))
        return folder

    return make


def test_a_second_run_needs_no_maven_and_says_nothing(filled, path_with):
    path_with()
    said: list[str] = []
    assert jars.ensure_jars(said.append) == filled
    assert said == []
    names = {path.name for path in filled.glob("spark/*.jar")}
    assert "kafka-clients-3.9.1.jar" in names
    assert len(names) == 4


def test_a_damaged_jar_in_the_cache_is_fetched_again(filled):
    jar = filled / "kafka" / "kafka-clients-4.3.1.jar"
    good = jar.read_bytes()
    jar.write_bytes(good[: len(good) // 2])
    said: list[str] = []
    assert jars.ensure_jars(said.append) == filled
    assert "kafka/kafka-clients-4.3.1.jar" in said[0]
    assert "damaged" in said[0]
    assert jar.read_bytes() == good


def test_other_jars_than_the_pinned_ones_are_refused_with_both_digests(cache, tmp_path):
    pinned = jars.LOCK.read_text()
    line = next(line for line in pinned.splitlines() if "slf4j-simple" in line)
    digest, name = line.split("  ")
    wrong = tmp_path / "jars.sha256"
    wrong.write_text(pinned.replace(digest, "0" * 64))
    with pytest.raises(JarMismatch) as refused:
        jars.ensure_jars(print, lock=wrong)
    assert f"{name}: got sha256 {digest}, expected {'0' * 64}" in str(refused.value)
    assert not jars.location(lock=wrong).exists()


def test_a_jar_that_nobody_pinned_is_refused(filled):
    (filled / "kafka" / "surprise.jar").write_bytes(b"")
    (problem,) = jars.problems(filled, jars.read_lock(jars.LOCK))
    assert problem.startswith("kafka/surprise.jar: got sha256 e3b0c442")
    assert problem.endswith("expected no such jar")


def test_two_clones_that_start_together_fetch_once_and_clear_up_after_a_killed_third(cache):
    left = cache / "podium" / "jars" / ".fetching-killed"
    left.mkdir(parents=True)
    runs = [
        subprocess.Popen(PROVISION, cwd=ROOT, stderr=subprocess.PIPE, text=True) for _ in range(2)
    ]
    said = [run.communicate(timeout=120)[1] for run in runs]
    assert [run.returncode for run in runs] == [0, 0], said
    assert "".join(said).count("fetching Kafka's and Spark's jars") == 1
    assert jars.problems(jars.location(), jars.read_lock(jars.LOCK)) == []
    assert not left.exists()


def test_a_failing_maven_shows_its_words_and_how_to_go_on(cache, path_with):
    path_with(mvn="echo 'Could not transfer artifact'; exit 1")
    with pytest.raises(StackError, match=r"run again to continue(.|\n)*Could not transfer"):
        jars.ensure_jars(print)


@pytest.mark.parametrize(
    ("purpose", "named"),
    [
        ("demo", ["java", "mvn", "redis-server"]),
        ("test", ["java", "mvn", "redis-server", "kcat", "go"]),
    ],
)
def test_missing_tools_are_all_named_with_the_command_to_type(purpose, named, path_with):
    path_with()
    run = subprocess.run(
        [*PROVISION, "--for", purpose], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 2
    lines = run.stderr.splitlines()
    assert [line.split("missing: ")[1].split()[0] for line in lines if "missing" in line] == named
    packages = " ".join(tools.TOOLS[command].apt[0] for command in named)
    assert lines[-1].endswith(f"apt-get install -y {packages}")


def test_a_java_that_is_too_old_counts_as_missing(path_with):
    path_with(java="""echo 'openjdk version "11.0.2" 2019-01-15' >&2""")
    assert tools.find("java") is None
    with pytest.raises(MissingTools, match="Java 17 or newer"):
        tools.require("java")


def test_a_go_that_cannot_fetch_a_newer_one_counts_as_missing(path_with):
    folder = path_with(go="echo 'go version go1.19.8 linux/amd64'")
    assert tools.go_minor(str(folder / "go")) == 19
    with pytest.raises(MissingTools, match=r"Go 1\.21 or newer"):
        tools.require("go")


@pytest.mark.parametrize(
    ("told", "major"),
    [('version "17.0.15" 2025', 17), ('version "1.8.0_392"', 8), ('version "21" 2023', 21)],
)
def test_the_version_of_java_is_read_from_its_own_words(told, major, path_with):
    folder = path_with(java=f"echo '{told}' >&2")
    assert tools.java_major(str(folder / "java")) == major


def test_apt_takes_the_first_package_that_this_release_has(path_with, tmp_path, monkeypatch):
    """The scripts stand for apt-get, which a test must not run for real."""
    log = tmp_path / "apt.log"
    folder = tmp_path / "bin"
    java = """printf '#!/bin/sh\\necho version \\\\"21\\\\"\\n'"""
    path_with(
        apt_get=f'echo "$@" >> {log}\n{java} > {folder}/java; /bin/chmod +x {folder}/java',
        apt_cache='[ "$2" != openjdk-17-jre-headless ]',
    )
    monkeypatch.setattr(apt, "usable", lambda: True)
    monkeypatch.setitem(tools.NEEDED, "demo", ("java",))
    said: list[str] = []
    tools.ensure_tools("demo", said.append)
    assert log.read_text().splitlines() == [
        "-q update",
        "-q install -y --no-install-recommends openjdk-21-jre-headless",
    ]
    assert said[-1] == "installing openjdk-21-jre-headless with apt-get"


def test_without_a_python_make_names_the_command_to_type():
    run = subprocess.run(
        ["make", "venv", "PYTHONS=python0 python1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 2
    assert "missing: Python 3.11 or newer (looked for python0 python1)" in run.stderr
    assert "install -y python3" in run.stderr


def test_make_alone_explains_every_target():
    shown = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for target in ("setup", "demo", "test", "lint", "format", "lock", "jars-lock", "clean"):
        assert f"  make {target} " in shown


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone whose .venv is whole."""
    for name in ("requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    places = {"ROOT": "", "VENV": ".venv", "STAMP": ".venv/podium.stamp"}
    places |= {"LOCK": "requirements.lock", "PROJECT": "pyproject.toml"}
    for name, place in places.items():
        monkeypatch.setattr(bootstrap, name, tmp_path / place)
    bootstrap.STAMP.write_text(bootstrap.wanted_stamp())
    assert bootstrap.up_to_date()
    return tmp_path


def test_a_half_made_environment_is_not_trusted(clone):
    bootstrap.STAMP.unlink()
    assert not bootstrap.up_to_date()


def test_an_environment_whose_python_is_gone_is_not_trusted(clone):
    (clone / ".venv/bin/python").unlink()
    (clone / ".venv/bin/python").symlink_to(clone / "no-such-python")
    assert not bootstrap.up_to_date()


@pytest.mark.parametrize("changed", ["requirements.lock", "pyproject.toml"])
def test_a_changed_lock_or_project_makes_the_environment_anew(clone, changed):
    with (clone / changed).open("a") as file:
        file.write("# newer\n")
    assert not bootstrap.up_to_date()


def test_the_lock_pins_setuptools_with_hashes_and_names_no_index():
    pinned = bootstrap.LOCK.read_text()
    lines = bootstrap.requirement(pinned, "setuptools").splitlines()
    assert lines[0].startswith("setuptools==")
    assert all("--hash=sha256:" in line for line in lines[1:])
    assert len(lines) > 1
    assert "://" not in pinned


def test_continuous_integration_runs_the_tests_and_nothing_else():
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert script.read_text().splitlines()[-1] == "exec make test"
