"""Programs that check the chart, built once from Go's module registry into the user's cache.

    python -m tests.helm.go_tools [--cluster]

builds those that are absent, one at a time, and says how far it is. A tool is one package at a
version, or the main package of a module of ours in `tools/`, whose go.sum pins all that it needs.
"""

import argparse
import fcntl
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from podium.stack.errors import StackError
from podium.stack.setup import tools
from podium.stack.setup.jars import cache_root

MODULES = Path(__file__).with_name("tools")
SAID_EVERY_S = 15.0

Say = Callable[[str], None]

_KUBERNETES = "k8s.io/component-base/version"
# Without it the server calls itself v0.0.0-master, and no chart with a `kubeVersion` installs.
_STAMP = (
    f"-X {_KUBERNETES}.gitVersion=v1.36.3 -X {_KUBERNETES}.gitMajor=1"
    f" -X {_KUBERNETES}.gitMinor=36 -X k8s.io/client-go/pkg/version.gitVersion=v1.36.3"
)


class GoTool(NamedTuple):
    name: str
    package: str  # with `@version`, unless a module pins it
    minutes: float  # of one core, if nothing of it has been compiled before
    module: str = ""  # the folder in `tools/`
    flags: tuple[str, ...] = ()

    @property
    def program(self) -> Path:
        digest = hashlib.sha256(repr((self.package, self.flags)).encode())
        if self.module:
            for file in ("go.mod", "go.sum"):
                digest.update((MODULES / self.module / file).read_bytes())
        return cache_root().parent / "tools" / f"{self.name}-{digest.hexdigest()[:12]}"


def _of_kubernetes(name: str, minutes: float) -> GoTool:
    return GoTool(
        name, f"k8s.io/kubernetes/cmd/{name}", minutes, "kubernetes", ("-ldflags", _STAMP)
    )


# In this order, as each has packages in common with those before it.
TOOLS = {
    tool.name: tool
    for tool in (
        GoTool("helm4", "helm.sh/helm/v4/cmd/helm@v4.3.1", 7),
        GoTool("kube-score", "github.com/zegl/kube-score/cmd/kube-score@v1.20.0", 1),
        GoTool(
            "promtool",
            "github.com/prometheus/prometheus/cmd/promtool",
            3,
            "promtool",
            ("-tags", "remove_all_sd"),
        ),
        GoTool("helm3", "helm.sh/helm/v3/cmd/helm@v3.22.0", 3),
        GoTool("etcd", "go.etcd.io/etcd/server/v3", 1.2, "etcd"),
        _of_kubernetes("kube-apiserver", 10),
        _of_kubernetes("kube-scheduler", 1),
        _of_kubernetes("kube-controller-manager", 2),
        GoTool("kwok", "sigs.k8s.io/kwok/cmd/kwok@v0.8.0", 3),
    )
}
FOR_TESTS = ("helm4", "kube-score", "promtool")


def ensure(names: tuple[str, ...], say: Say) -> dict[str, Path]:
    """The programs by name, built where they are absent; a `StackError` says what to do."""
    absent = [name for name in names if not TOOLS[name].program.exists()]
    if absent:
        go = tools.require("go")
        with _exclusive(say):
            for name in absent:
                if not TOOLS[name].program.exists():
                    _build(go, TOOLS[name], say)
    return {name: TOOLS[name].program for name in names}


def _build(go: str, tool: GoTool, say: Say) -> None:
    say(f"building {tool.name} (once for all clones; about {tool.minutes:g} minutes of one core)")
    began = told = time.monotonic()
    tool.program.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=tool.program.parent, prefix=".building-") as folder:
        lines, packages = [], 0
        for line in _go(go, tool, Path(folder)):
            lines.append(line)
            packages += bool(re.fullmatch(r"[\w.~-]+(/[\w.~-]+)*", line.strip()))
            if time.monotonic() - told > SAID_EVERY_S:
                told = time.monotonic()
                say(f"building {tool.name}: {packages} packages in {told - began:.0f} s")
        built = next(Path(folder).glob("*"), None)
        if built is None:
            tail = "\n".join(lines[-15:])
            raise StackError(
                f"`go` could not build {tool.package}; what it has compiled is kept, run again to"
                f" continue:\n{tail}"
            )
        built.rename(tool.program)


def _go(go: str, tool: GoTool, out: Path) -> Iterator[str]:
    """Compile it into `out`; the names of packages as they are compiled, and what goes wrong."""
    if tool.module:
        command = ["build", "-mod=readonly", "-o", str(out / tool.name)]
        cwd = MODULES / tool.module
    else:
        command, cwd = ["install"], out
    run = subprocess.Popen(
        [go, *command, "-v", "-trimpath", *tool.flags, tool.package],
        cwd=cwd,
        # A Go that is too old fetches the one that the tool asks for, if it knows how.
        env=os.environ | {"GOBIN": str(out), "GOTOOLCHAIN": "auto", "GOFLAGS": "-buildvcs=false"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    yield from run.stdout or ()
    run.wait()


@contextmanager
def _exclusive(say: Say) -> Iterator[None]:
    """One build at a time, of all clones; the kernel frees the lock when its holder ends."""
    folder = cache_root().parent / "tools"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another process that is building tools")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.helm.go_tools", description=__doc__)
    parser.add_argument("--cluster", action="store_true", help="also what a cluster is made of")
    wanted = tuple(TOOLS) if parser.parse_args().cluster else FOR_TESTS

    def say(line: str) -> None:
        print(f"podium set-up: {line}", file=sys.stderr, flush=True)

    try:
        ensure(wanted, say)
    except StackError as error:
        say(str(error))
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
