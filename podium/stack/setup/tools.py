"""The programs that the stack runs: found, installed where that is ours to do, or named.

Installed with apt-get on Debian and its kin as root; otherwise the answer is the exact command.
"""

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from podium.stack.errors import MissingTools
from podium.stack.setup import apt

JAVA_AT_LEAST = 17
GO_AT_LEAST = 21  # of 1.x: from there on Go fetches the newer Go that a program asks for

Say = Callable[[str], None]


@dataclass(frozen=True)
class Tool:
    """A program and the package that brings it, by package manager; apt takes the first it has."""

    command: str
    purpose: str
    apt: tuple[str, ...]
    dnf: str
    brew: str


TOOLS = {
    tool.command: tool
    for tool in (
        Tool(
            "java",
            f"Java {JAVA_AT_LEAST} or newer, runs Kafka",
            ("openjdk-17-jre-headless", "openjdk-21-jre-headless", "default-jre-headless"),
            "java-21-openjdk-headless",
            "openjdk@17",
        ),
        Tool("mvn", "Maven, fetches Kafka's and Spark's jars", ("maven",), "maven", "maven"),
        Tool("redis-server", "Redis, keeps the snapshots", ("redis-server",), "redis", "redis"),
        Tool("kcat", "kcat, the other client in the tests", ("kcat",), "kcat", "kcat"),
        Tool(
            "go",
            f"Go 1.{GO_AT_LEAST} or newer, builds what the chart is tested with; where the package"
            " below is older, take Go as its makers give it",
            ("golang-go",),
            "golang",
            "go",
        ),
    )
}
NEEDED = {"demo": ("java", "mvn", "redis-server"), "test": tuple(TOOLS)}


def find(command: str) -> str | None:
    """The program's path; for Java and Go only where it is new enough."""
    path = shutil.which(command)
    if path is None:
        return None
    if command == "java" and (java_major(path) or 0) < JAVA_AT_LEAST:
        return None
    if command == "go" and (go_minor(path) or 0) < GO_AT_LEAST:
        return None
    return path


def java_major(path: str) -> int | None:
    """The version that `java -version` prints: 17 for "17.0.15", 8 for "1.8.0_392"."""
    told = subprocess.run([path, "-version"], capture_output=True, text=True, check=False)
    found = re.search(r'version "(?:1\.)?(\d+)', told.stderr + told.stdout)
    return int(found[1]) if found else None


def go_minor(path: str) -> int | None:
    """The version that `go version` prints: 26 for "go1.26.8"."""
    # Here, whatever a go.mod around us asks for.
    here = os.environ | {"GOTOOLCHAIN": "local"}
    told = subprocess.run([path, "version"], capture_output=True, text=True, check=False, env=here)
    found = re.search(r"go1\.(\d+)", told.stdout)
    return int(found[1]) if found else None


def require(command: str) -> str:
    """The program's path, or the command that installs it."""
    path = find(command)
    if path is None:
        raise MissingTools(advice([TOOLS[command]]))
    return path


def ensure_tools(purpose: str, say: Say) -> None:
    """Everything that `purpose` needs is there afterwards, or `MissingTools` names all of it."""
    missing = [TOOLS[command] for command in NEEDED[purpose] if find(command) is None]
    if not missing:
        return
    if not apt.usable():
        raise MissingTools(advice(missing))
    apt.install([tool.apt for tool in missing], say)
    still = [tool for tool in missing if find(tool.command) is None]
    if still:
        raise MissingTools(advice(still))


def advice(missing: Iterable[Tool]) -> str:
    lines = [f"missing: {tool.command} ({tool.purpose})" for tool in missing]
    return "\n".join([*lines, "install with:", f"  {install_command(missing)}"])


def install_command(missing: Iterable[Tool]) -> str:
    sudo = "" if os.geteuid() == 0 else "sudo "
    if platform.system() == "Darwin":
        return "brew install " + " ".join(tool.brew for tool in missing)
    if shutil.which("dnf") and not shutil.which("apt-get"):
        return f"{sudo}dnf install -y " + " ".join(tool.dnf for tool in missing)
    packages = " ".join(tool.apt[0] for tool in missing)
    return f"{sudo}apt-get update && {sudo}apt-get install -y {packages}"
