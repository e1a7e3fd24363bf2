"""Make `.venv` from requirements.lock: run by path, with `-I`, by any Python 3.11 or newer.

The stamp inside is written last and names everything that the folder was made from, so one that was
half made, made from an older lock, or moved with its clone is made anew; else nothing is done.
Standard library only, since nothing else is there yet.
"""

import fcntl
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
VENV = ROOT / ".venv"
STAMP = VENV / "podium.stamp"
LOCK = ROOT / "requirements.lock"
PROJECT = ROOT / "pyproject.toml"


def wanted_stamp() -> str:
    # The series of Python (cpython-311) and not its patch release: a system's update keeps .venv.
    python = sys.implementation.cache_tag.encode()
    parts = [LOCK.read_bytes(), PROJECT.read_bytes(), python, str(ROOT).encode()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def up_to_date() -> bool:
    made = STAMP.exists() and os.access(VENV / "bin" / "python", os.X_OK)
    return made and STAMP.read_text() == wanted_stamp()


def say(line: str) -> None:
    print(f"podium set-up: {line}", file=sys.stderr, flush=True)


def make() -> None:
    ensure_venv_module()
    if VENV.exists():
        say("removing .venv: it is incomplete or made from something else")
        shutil.rmtree(VENV)
    pinned = LOCK.read_text()
    count = len(re.findall(r"^[\w.-]+==", pinned, re.MULTILINE))
    say(f"installing {count} packages into .venv (once; a minute or two)")
    subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
    # What is built from source is built with the pinned setuptools, not with one fetched unchecked.
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as first:
        first.write(requirement(pinned, "setuptools"))
        first.flush()
        pip("install", "--require-hashes", "-r", first.name)
    # Not compiled: Python does that with what is imported, which is a small part of it.
    locked = ["--no-compile", "--no-build-isolation", "-r", str(LOCK)]
    pip("install", "--require-hashes", *locked, total=count)
    # `compat` puts the clone itself on the path, so that a package added later is found as well.
    editable = ["--config-settings", "editable_mode=compat", "-e", str(ROOT)]
    pip("install", "--no-deps", "--no-build-isolation", *editable)
    STAMP.write_text(wanted_stamp())


def requirement(pinned: str, name: str) -> str:
    """The lines of one package in the lock: its version and its hashes."""
    found = re.search(rf"^{name}==[^\\\n]*(?:\\\n[^\\\n]*)*", pinned, re.MULTILINE)
    if found is None:
        sys.exit(f"{LOCK} does not pin {name}; make it anew with `make lock`")
    return found[0] + "\n"


def pip(*arguments: str, total: int = 0) -> None:
    """Run pip in .venv; on a terminal count the packages, on failure show what it said."""
    command = [str(VENV / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
    run = subprocess.Popen(
        [*command, "--no-input", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=ROOT,
    )
    lines, collected = [], 0
    for line in run.stdout or ():
        lines.append(line)
        collected += line.startswith("Collecting ")
        if total and sys.stderr.isatty():
            print(f"\r  {min(collected, total)} of {total}", end="", file=sys.stderr, flush=True)
    if total and sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    if run.wait() != 0:
        print("".join(lines[-20:]), file=sys.stderr)
        sys.exit(f"podium set-up: pip failed with exit code {run.returncode}; run again to retry")


def ensure_venv_module() -> None:
    """Debian keeps `venv` and `ensurepip` in a package of their own."""
    if importlib.util.find_spec("ensurepip") and importlib.util.find_spec("venv"):
        return
    package = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
    sys.path.insert(0, str(ROOT))
    from podium.stack.setup import apt

    if apt.usable():
        apt.install([[package, "python3-venv"]], say)
        return
    sudo = "" if os.geteuid() == 0 else "sudo "
    say("missing: Python's venv module")
    say(f"install with:\n  {sudo}apt-get update && {sudo}apt-get install -y {package}")
    sys.exit(2)


def main() -> None:
    if up_to_date():
        return
    # Two makes in one clone: the second waits, then finds it done.
    with PROJECT.open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not up_to_date():
            make()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        say("interrupted; run again to start over")
        sys.exit(130)
