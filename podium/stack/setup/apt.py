"""Installing with apt-get, on Debian and its kin, as root. Standard library only."""

import os
import platform
import pwd
import shutil
import subprocess
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from podium.stack.errors import StackError


def usable() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None and _is_debian()


def _is_debian() -> bool:
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return False
    return "debian" in (release.get("ID", ""), *release.get("ID_LIKE", "").split())


def install(alternatives: Iterable[Sequence[str]], say: Callable[[str], None]) -> None:
    """Install the first package of each group that this release has."""
    say("updating the list of packages with apt-get")
    _apt("update")
    packages = [_first_known(group) for group in alternatives]
    say(f"installing {', '.join(packages)} with apt-get")
    before = _redis_pids()
    _apt("install", "-y", "--no-install-recommends", *packages)
    if _redis_pids() - before:
        say("stopping the system's Redis service that the package has started")
        _stop_redis_service()
    left = _redis_pids() - before
    if left:
        raise StackError(f"the system's Redis service could not be stopped: pids {sorted(left)}")


def _first_known(group: Sequence[str]) -> str:
    for package in group:
        shown = subprocess.run(["apt-cache", "show", package], capture_output=True, check=False)
        if shown.returncode == 0:
            return package
    raise StackError(f"apt-get has none of the packages {', '.join(group)}")


def _apt(*arguments: str) -> None:
    run = subprocess.run(
        ["apt-get", "-q", *arguments],
        env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if run.returncode != 0:
        tail = "\n".join(run.stdout.splitlines()[-15:])
        raise StackError(f"`apt-get {' '.join(arguments)}` failed:\n{tail}")


def _redis_pids() -> set[int]:
    """The servers that run as the package's own user, so none of anybody's stack."""
    try:
        owner = pwd.getpwnam("redis").pw_uid
    except KeyError:
        return set()
    pids = set()
    for name in Path("/proc").glob("[0-9]*/comm"):
        with suppress(FileNotFoundError, ProcessLookupError):  # it ended while we looked
            if name.read_text().strip() == "redis-server" and name.stat().st_uid == owner:
                pids.add(int(name.parent.name))
    return pids


def _stop_redis_service() -> None:
    """Stop it now and, where something would start it at the next boot, then too."""
    systemd = Path("/run/systemd/system").exists()
    stop = ["systemctl", "disable", "--now"] if systemd else ["service"]
    arguments = ["redis-server"] if systemd else ["redis-server", "stop"]
    subprocess.run([*stop, *arguments], capture_output=True, check=False)
