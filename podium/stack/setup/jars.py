"""The jars of the stack in the user's cache, shared by all clones, checked against jars.sha256.

    <cache>/podium/jars/<digest of pom.xml and jars.sha256>/kafka/*.jar
                                                           /spark/*.jar

A folder appears under its final name only when every jar in it has the pinned digest. What Maven
has downloaded before an interruption is in Maven's own repository, so the next run continues there.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from podium.stack.errors import JarMismatch, StackError
from podium.stack.setup import tools

POM = Path(__file__).with_name("pom.xml")
LOCK = Path(__file__).with_name("jars.sha256")
GOALS = ("dependency:copy-dependencies@kafka", "dependency:copy@spark")

Say = Callable[[str], None]


def cache_root() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "podium" / "jars"


def location(pom: Path = POM, lock: Path = LOCK) -> Path:
    digest = hashlib.sha256(pom.read_bytes() + b"\0" + lock.read_bytes()).hexdigest()
    return cache_root() / digest[:16]


def ensure_jars(say: Say, pom: Path = POM, lock: Path = LOCK) -> Path:
    """The folder with `kafka/` and `spark/`, fetched if it is absent or a jar in it is damaged."""
    folder = location(pom, lock)
    pinned = read_lock(lock)
    if not problems(folder, pinned):
        return folder
    with _exclusive(say) as lock_fd:
        found = problems(folder, pinned)  # another clone may have fetched them while we waited
        if found:
            if folder.exists():
                say(f"fetching the jars again, the cached ones are damaged: {'; '.join(found)}")
            _fetch(folder, pom, pinned, lock_fd, say)
    return folder


def write_lock(say: Say) -> None:
    """Pin what Maven resolves now; for the person who changes pom.xml."""
    with _exclusive(say) as lock_fd, _scratch() as fetched:
        _run_maven(POM, fetched, lock_fd, say)
        lines = [f"{digest}  {name}\n" for name, digest in sorted(digests(fetched).items())]
        LOCK.write_text("".join(lines))
        say(f"wrote {len(lines)} digests to {LOCK}")


def read_lock(lock: Path) -> dict[str, str]:
    """`{"kafka/x.jar": sha256}` from the format of sha256sum."""
    rows = [line.split("  ", 1) for line in lock.read_text().splitlines() if line]
    return {name: digest for digest, name in rows}


def digests(folder: Path) -> dict[str, str]:
    found = {}
    for path in folder.glob("*/*.jar"):
        with path.open("rb") as jar:
            digest = hashlib.file_digest(jar, "sha256").hexdigest()
        found[f"{path.parent.name}/{path.name}"] = digest
    return found


def problems(folder: Path, pinned: dict[str, str]) -> list[str]:
    """Every difference between the folder and the lock; empty when they agree."""
    got = digests(folder)
    return [
        f"{name}: got sha256 {got.get(name, 'nothing')}, expected {pinned.get(name, 'no such jar')}"
        for name in sorted(pinned.keys() | got.keys())
        if got.get(name) != pinned.get(name)
    ]


def _fetch(folder: Path, pom: Path, pinned: dict[str, str], lock_fd: int, say: Say) -> None:
    with _scratch() as fetched:
        _run_maven(pom, fetched, lock_fd, say)
        found = problems(fetched, pinned)
        if found:
            raise JarMismatch(
                "Maven delivered other jars than podium/stack/jars.sha256 pins:\n  "
                + "\n  ".join(found)
                + "\nRemove these from Maven's local repository (~/.m2/repository) and run again; "
                "if pom.xml was changed on purpose, pin anew with `make jars-lock`."
            )
        if folder.exists():
            shutil.rmtree(folder)
        fetched.rename(folder)


def _run_maven(pom: Path, out: Path, lock_fd: int, say: Say) -> None:
    """Maven holds the lock too: should we be killed, the next run waits until it has ended."""
    say("fetching Kafka's and Spark's jars with Maven (about 55 MB, once for all clones)")
    options = ["-B", "-q", "-C", "-Dstyle.color=never", f"-Djars={out}", "-f", str(pom)]
    command = [tools.require("mvn"), *options, *GOALS]
    run = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=[lock_fd],
        text=True,
        check=False,
    )
    if run.returncode != 0:
        raise StackError(
            f"Maven failed with exit code {run.returncode}; what it has fetched is kept, "
            f"run again to continue.\n{run.stdout.strip()}"
        )


@contextmanager
def _exclusive(say: Say) -> Iterator[int]:
    """One clone at a time fetches; the kernel frees the lock when its last holder ends."""
    cache_root().mkdir(parents=True, exist_ok=True)
    with (cache_root() / ".lock").open("a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another clone that is fetching the jars")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield handle.fileno()


@contextmanager
def _scratch() -> Iterator[Path]:
    """A temporary folder beside the final ones; those of killed runs are removed on the way."""
    for left in cache_root().glob(".fetching-*"):
        shutil.rmtree(left)
    with tempfile.TemporaryDirectory(prefix=".fetching-", dir=cache_root()) as scratch:
        yield Path(scratch, "jars")
