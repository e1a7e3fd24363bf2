"""The guard: a process that outlives its supervisor by a few seconds and leaves nothing running.

Protocol, one line each on stdin: `+PID` a process to look after, `-PID` it has been stopped.
A child writes its own `+PID` before it becomes the real program (see `child.py`), so there is no
moment at which it runs unknown to the guard. The pipe is held by the supervisor only: end of file
means that it is gone, however it died, and the guard stops what is left.

Standard library only and run by path with `-I -S`: it must start in milliseconds and must not share
a fate with the packages of the supervisor.
"""

import os
import signal
import subprocess
import sys
import time

GRACE_S = 10.0
POLL_S = 0.05


def birth(pid: int) -> str | None:
    """A token of when `pid` started, or None when there is no such process or it is a zombie.

    A number is reused after its process ends; number and birth together name one process. On Linux
    the token is the start in clock ticks since boot, which no change of the clock moves.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:  # noqa: PTH123 (no pathlib: start-up time)
            fields = stat.read().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None if os.path.isdir("/proc/self") else _birth_from_ps(pid)  # noqa: PTH112
    state, start_ticks = fields[0], fields[19]
    return None if state in b"ZX" else start_ticks.decode()


def _birth_from_ps(pid: int) -> str | None:
    listed = subprocess.run(
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    ).stdout.split()
    return "_".join(listed[1:]) if listed and not listed[0].startswith("Z") else None


def alive(pid: int, born: str) -> bool:
    return birth(pid) == born


def send_signal(pid: int, born: str, number: int) -> bool:
    """Signal the process if it is still the one meant; False when it is gone."""
    if not alive(pid, born):
        return False
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def kill_group(pid: int, born: str) -> None:
    """Kill what is left of the session that `pid` led.

    The kernel gives out a number again only when no process uses it as a group either, so a group
    whose leader is the one meant, or has no living leader, is still that group.
    """
    if birth(pid) not in (born, None):
        return
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def stop_all(charges: dict[int, str], grace_s: float) -> None:
    """TERM the newest first, wait, then KILL whatever is left of each session."""
    for pid, born in reversed(charges.items()):
        send_signal(pid, born, signal.SIGTERM)
    deadline = time.monotonic() + grace_s
    while time.monotonic() < deadline and any(alive(*charge) for charge in charges.items()):
        time.sleep(POLL_S)
    for pid, born in charges.items():
        kill_group(pid, born)


def main() -> None:
    # The terminal's signals are the supervisor's to answer; the guard leaves by end of file.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    charges: dict[int, str] = {}
    for line in sys.stdin:
        sign, pid = line[0], int(line[1:])
        born = birth(pid)
        if sign == "+" and born is not None:
            charges[pid] = born
        elif sign == "-":
            charges.pop(pid, None)
    stop_all(charges, GRACE_S)


if __name__ == "__main__":
    main()
