"""Free ports on the loopback address."""

import fcntl
import os
import random
import socket
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import cycle
from pathlib import Path

HOST = "127.0.0.1"
# Below the range that Linux hands out to outgoing connections, so that none of those can take a
# port between our look and the server's bind.
LOWEST, HIGHEST = 20_000, 32_767
# Ports that one process hands out in turn: a server may take seconds to bind its own.
_BLOCK = 256


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        # A port in TIME_WAIT counts as free: Kafka and Redis bind with this option too.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


def choose(count: int, wanted: Sequence[int] = ()) -> list[int]:
    """`count` distinct free ports: those wanted where they are free, our own for the rest."""
    chosen = [port for port in wanted[:count] if is_free(port)]
    if len(chosen) < min(count, len(wanted)):
        chosen = []  # An address is only worth keeping whole.
    while len(chosen) < count:
        port = next(_own_ports())
        if port not in chosen and is_free(port):
            chosen.append(port)
    return chosen


def answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex((HOST, port)) == 0


@cache
def _own_ports() -> Iterator[int]:
    """Ports that no other process hands out for as long as this one lives, over and over."""
    firsts = list(range(LOWEST, HIGHEST + 1 - _BLOCK, _BLOCK))
    random.shuffle(firsts)
    first = next(filter(_is_ours, firsts), firsts[0])  # all are locked: any is as good
    return cycle(range(first, first + _BLOCK))


def _is_ours(first: int) -> bool:
    """Whether the block was nobody's; it is ours by a lock that ends with the process."""
    try:
        path = Path(tempfile.gettempdir()) / f"podium-ports-{first}.lock"
        file = os.open(path, os.O_CREAT | os.O_RDWR, 0o666)
    except OSError:  # another user's
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        return False
    return True
