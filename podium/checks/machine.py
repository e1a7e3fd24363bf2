"""Checks of this machine: Python, packages, and the programs of the local stack."""

import re
import shutil
import subprocess
import sys
from importlib import metadata

from podium.checks import Check, State
from podium.stack.setup import jars, tools

# The versions that were measured and tested together.
KNOWN_PYTHON = "3.11"
KNOWN_PACKAGES = {
    "aiokafka": "0.14.0",
    "confluent-kafka": "2.16",
    "faust-streaming": "0.15.3",
    "numba": "0.68",
    "numpy": "2.4",
    "pyspark": "4.0.4",
}
OPTIONAL_TOOLS = ("kcat", "go")
VERSION_ARGUMENTS = {
    "java": "-version",
    "mvn": "--version",
    "redis-server": "--version",
    "kcat": "-V",
    "go": "version",
}


def check_machine(missing_is: State) -> list[Check]:
    """`missing_is`: how bad it is to be without what only a local stack needs."""
    return [
        check_python(),
        check_packages(),
        *(check_tool(tool, missing_is) for tool in tools.TOOLS.values()),
        check_jars(missing_is),
    ]


def check_python() -> Check:
    version = sys.version.split()[0]
    if not is_version(version, KNOWN_PYTHON):
        detail = f"{version}; tested with {KNOWN_PYTHON}"
        return Check("python", "warning", detail, f"prefer Python {KNOWN_PYTHON}")
    return Check("python", "ok", version)


def check_packages() -> Check:
    missing, other, found = [], [], []
    for name, known in KNOWN_PACKAGES.items():
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            missing.append(name)
            continue
        found.append(f"{name} {version}")
        if not is_version(version, known):
            other.append(f"{name} {version} (tested with {known})")
    remedy = "install what requirements.lock pins"
    if missing:
        return Check("packages", "failed", f"not installed: {', '.join(missing)}", remedy)
    if other:
        return Check("packages", "warning", ", ".join(other), remedy)
    return Check("packages", "ok", ", ".join(found))


def is_version(version: str, known: str) -> bool:
    """
    >>> is_version("2.16.1", "2.16"), is_version("2.160.1", "2.16")
    (True, False)
    """
    return f"{version}.".startswith(f"{known}.")


def check_tool(tool: tools.Tool, missing_is: State) -> Check:
    path = tools.find(tool.command)
    if path is None:
        state: State = "warning" if tool.command in OPTIONAL_TOOLS else missing_is
        old = shutil.which(tool.command)
        detail = f"{old} is too old: " if old else "not found: "
        return Check(tool.command, state, detail + tool.purpose, tools.install_command([tool]))
    return Check(tool.command, "ok", f"{program_version(path, tool.command)} {path}")


def program_version(path: str, command: str) -> str:
    run = subprocess.run(
        [path, VERSION_ARGUMENTS[command]], capture_output=True, text=True, check=False, timeout=30
    )
    found = re.search(r"\d+\.\d+(\.\d+)?", run.stdout + run.stderr)
    return found[0] if found else "of unknown version"


def check_jars(missing_is: State) -> Check:
    folder = jars.location()
    pinned = jars.read_lock(jars.LOCK)
    found = jars.problems(folder, pinned)
    if not found:
        return Check("jars", "ok", f"{len(pinned)} of Kafka and Spark in {folder}")
    remedy = "python -m podium.stack.setup.provision"
    if not folder.exists():
        return Check("jars", missing_is, f"not fetched to {folder}", remedy)
    return Check("jars", missing_is, f"{len(found)} damaged or missing in {folder}", remedy)
