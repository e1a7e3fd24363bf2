"""The workers of a collection on a local stack: a router, matchers, a merger."""

import http.client
import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from podium.stack.run import ports
from podium.stack.run.stack import Stack

# With cold caches every worker compiles its kernels first, all of them on the same few cores.
READY_TIMEOUT_S = 180.0
# The consumer groups of each role, by the last part of their names.
GROUPS = {"router": ("router",), "matcher": ("matcher", "feed"), "merger": ("merger",)}


class Served(NamedTuple):
    """A collection to serve: its name, and what the workers find its file by (a name or a path)."""

    name: str
    reference: str


class Planned(NamedTuple):
    name: str
    argv: list[str]
    port: int
    labels: dict[str, str]


def plan(stack: Stack, collections: Sequence[Served], matchers: int, prefix: str) -> list[Planned]:
    roles = ["router", *["matcher"] * matchers, "merger"]
    free = iter(ports.choose(len(collections) * len(roles)))
    planned = []
    for collection in collections:
        for number, role in enumerate(roles):
            port = next(free)
            suffix = f"-{number}" if role == "matcher" and matchers > 1 else ""
            arguments = ["worker", role, "--collection", collection.reference]
            arguments += ["--config", str(stack.settings_path), "--http-port", str(port)]
            labels = {"role": role, "collection": collection.name, "prefix": prefix}
            labels["reference"] = collection.reference
            argv = [sys.executable, "-m", "podium", *arguments]
            planned.append(Planned(f"{collection.name}-{role}{suffix}", argv, port, labels))
    return planned


def start(stack: Stack, planned: Sequence[Planned], say: Callable[[str], None]) -> None:
    """Start them all and return when every one answers 200 at /readyz."""
    for worker in planned:
        stack.start_worker(worker.name, worker.argv, port=worker.port, labels=worker.labels)
    for done, worker in enumerate(planned):
        say(f"waiting for {worker.name} ({done} of {len(planned)} workers are ready)")
        stack.wait_worker(worker.name, partial(is_ready, worker.port), READY_TIMEOUT_S)


class Readiness(NamedTuple):
    ready: bool
    degraded: dict[str, str]  # what it does without, and why


def readiness(port: int) -> Readiness:
    """What a worker says at /readyz; not ready while nobody answers there."""
    connection = http.client.HTTPConnection(ports.HOST, port, timeout=2)
    try:
        connection.request("GET", "/readyz")
        reply = connection.getresponse()
        return Readiness(reply.status == 200, degraded_of(reply.read()))
    except (OSError, http.client.HTTPException):
        return Readiness(False, {})
    finally:
        connection.close()


def degraded_of(body: bytes) -> dict[str, str]:
    """What the body of a /readyz says is degraded; nothing if it is not such a body.

    >>> degraded_of(b'{"ready": true, "reasons": {}, "degraded": {"redis": "no answer"}}')
    {'redis': 'no answer'}
    >>> degraded_of(b"")
    {}
    """
    try:
        said = json.loads(body)
    except ValueError:
        return {}
    return said.get("degraded", {}) if isinstance(said, dict) else {}


def is_ready(port: int) -> bool:
    return readiness(port).ready


def group_names(labels: dict[str, str]) -> list[str]:
    """The consumer groups of a worker with these labels."""
    return [f"{labels['prefix']}.{labels['collection']}.{part}" for part in GROUPS[labels["role"]]]
