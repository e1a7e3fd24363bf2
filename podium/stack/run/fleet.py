"""The workers of collections on a local stack: those that `workers.kinds` has for them."""

import http.client
import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from configs.collection import Collection
from podium.stack.run import ports
from podium.stack.run.stack import Stack
from topics.catalogue import group_name
from workers.kinds import roles, roles_of

# With cold caches every worker compiles its kernels first, all of them on the same few cores.
READY_TIMEOUT_S = 180.0


class Served(NamedTuple):
    """A collection to serve, and what the workers find its file by (a name or a path)."""

    collection: Collection
    reference: str


class Planned(NamedTuple):
    name: str
    argv: list[str]
    port: int
    labels: dict[str, str]


def plan(stack: Stack, collections: Sequence[Served], matchers: int, prefix: str) -> list[Planned]:
    """`matchers` are processes for each role that holds shards; the others have one each."""
    wanted = [
        (served, role, f"-{number}" if role.holds_shards and matchers > 1 else "")
        for served in collections
        for role in roles_of(served.collection)
        for number in range(1, 1 + (matchers if role.holds_shards else 1))
    ]
    planned = []
    for (served, role, suffix), port in zip(wanted, ports.choose(len(wanted)), strict=True):
        name = served.collection.name
        arguments = ["worker", role.name, "--collection", served.reference]
        arguments += ["--config", str(stack.settings_path), "--http-port", str(port)]
        labels = {"role": role.name, "collection": name, "prefix": prefix}
        labels["reference"] = served.reference
        argv = [sys.executable, "-m", "podium", *arguments]
        planned.append(Planned(f"{name}-{role.name}{suffix}", argv, port, labels))
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
    groups = roles()[labels["role"]].groups
    return [group_name(labels["prefix"], labels["collection"], group) for group in groups]
