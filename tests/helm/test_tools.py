"""What the chart's tests are made with, and what `helm test` runs."""

import subprocess
import sys
from pathlib import Path

import pytest

from podium.stack.errors import MissingTools, StackError
from tests.helm import go_tools
from tests.helm.chart import CHART
from tests.helm.go_tools import GoTool, ensure
from workers.process.health import Health, serve

READY = CHART / "files" / "ready.py"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "podium" / "tools"


@pytest.fixture
def go_that(tmp_path, monkeypatch):
    """A PATH with nothing but a `go` of these words, which builds nothing for minutes."""

    def make(script: str) -> None:
        folder = tmp_path / "bin"
        folder.mkdir()
        (folder / "go").write_text(f"#!/bin/sh\n{script}\n")
        (folder / "go").chmod(0o755)
        monkeypatch.setenv("PATH", str(folder))

    return make


VERSION = '[ "$1" = version ] && echo go version go1.26.8 linux/amd64 && exit\n'


class TestPrograms:
    def test_without_go_it_says_what_to_install(self, cache, tmp_path, monkeypatch):
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(MissingTools, match=r"missing: go \(Go 1\.21 or newer(.|\n)*install"):
            ensure(("helm4",), print)

    def test_one_that_is_built_is_not_built_again(self, cache, go_that):
        go_that(VERSION + 'echo github.com/a/b; echo "#!" > "$GOBIN/helm"')
        said: list[str] = []
        first = ensure(("helm4",), said.append)
        assert said[0].startswith("building helm4 (once")
        assert first["helm4"].parent == cache
        assert ensure(("helm4",), said.append) == first
        assert len(said) == 1

    def test_a_build_that_fails_shows_its_words_and_leaves_nothing(self, cache, go_that):
        go_that(VERSION + "echo 'dial tcp: no route to host'; exit 1")
        with pytest.raises(StackError, match=r"run again to\s+continue:\ndial tcp: no route"):
            ensure(("helm4",), print)
        assert [file.name for file in cache.iterdir()] == [".lock"]

    def test_another_version_is_another_program(self, cache):
        one = GoTool("a", "example.org/a@v1", 1)
        assert one.program != one._replace(package="example.org/a@v2").program
        assert one.program != one._replace(flags=("-tags", "x")).program

    def test_modules_of_ours_are_pinned_to_the_last_byte(self):
        for tool in go_tools.TOOLS.values():
            if tool.module:
                assert (go_tools.MODULES / tool.module / "go.sum").stat().st_size > 1000
            else:
                assert "@v" in tool.package


class TestReady:
    """The script of the chart's test, against what a worker serves."""

    def run(self, *addresses: str) -> subprocess.CompletedProcess:
        command = [sys.executable, "-c", READY.read_text(), *addresses]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def test_it_names_each_worker_that_is_not_ready(self):
        ready, starting = Health([]), Health(["broker"])
        fine = f"127.0.0.1:{serve(ready, '127.0.0.1', 0)}"
        not_yet = f"127.0.0.1:{serve(starting, '127.0.0.1', 0)}"
        nobody = "127.0.0.1:1"
        run = self.run(fine, not_yet, nobody)
        assert run.returncode == 1
        told = run.stdout.splitlines()
        assert told[0].startswith(f"{not_yet}: 503")
        assert '"broker": "starting"' in told[0]
        assert told[1].startswith(f"{nobody}: ")
        assert len(told) == 2

    def test_it_is_content_when_all_are_ready(self):
        fine = f"127.0.0.1:{serve(Health([]), '127.0.0.1', 0)}"
        run = self.run(fine, fine)
        assert (run.returncode, run.stdout) == (0, "all of 2 components are ready\n")
