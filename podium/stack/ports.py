"""Free ports on the loopback address."""

import random
import socket
from collections.abc import Sequence

HOST = "127.0.0.1"
# Below the range that Linux hands out to outgoing connections, so that none of those can take a
# port between our look and the server's bind.
LOWEST, HIGHEST = 20_000, 32_767


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
    """`count` distinct free ports: those wanted where they are free, random ones for the rest."""
    chosen = [port for port in wanted[:count] if is_free(port)]
    if len(chosen) < min(count, len(wanted)):
        chosen = []  # An address is only worth keeping whole.
    while len(chosen) < count:
        port = random.randint(LOWEST, HIGHEST)
        if port not in chosen and is_free(port):
            chosen.append(port)
    return chosen


def answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex((HOST, port)) == 0
