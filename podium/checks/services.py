"""Checks of what Podium talks to: Kafka, Redis, the topics, the workers of a local stack."""

import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import redis
from confluent_kafka import KafkaException

from configs import ConfigError, Settings, kafka_client_config, load_collection
from configs.collection import collection_names
from podium.checks import Check
from podium.clients import KafkaClients
from podium.stack.errors import StackError
from podium.stack.run import fleet
from podium.stack.run.folder import ProcessRecord, StackFolder
from podium.stack.status.zones import newest_progress
from podium.terminal import Failure, counted
from podium.topics_setup import plan_topics
from storage.redis_client import open_redis
from topics.kinds import KINDS

ANSWER_S = 5.0
CLOCK_S = 1.0  # retention and end-to-end times are read off timestamps of both sides
OLDEST_REDIS = (6, 2)


def check_broker(settings: Settings) -> Check:
    clients = KafkaClients(settings.kafka)
    try:
        admin = clients.admin()
        with clients.reaching(admin):
            cluster = admin.list_topics(timeout=ANSWER_S)
    except Failure as failure:
        return Check("broker", "failed", str(failure), failure.remedy)
    brokers = counted(len(cluster.brokers), "broker")
    return Check("broker", "ok", f"{clients.brokers}, cluster {cluster.cluster_id}, {brokers}")


def check_redis(settings: Settings, now: Callable[[], float] = time.time) -> list[Check]:
    """Redis, and this machine's clock against that of Redis."""
    timeout_s = min(settings.redis.timeout_s, ANSWER_S)
    try:
        with open_redis(settings.redis.url.get_secret_value(), timeout_s) as client:
            version = str(client.info("server")["redis_version"])
            before = now()
            seconds, microseconds = client.time()
            after = now()
    except redis.RedisError as error:
        remedy = "start a local stack with `podium up`, or set redis.url"
        if isinstance(error, redis.AuthenticationError):
            remedy = "give the right user and password in redis.url"
        detail = (
            f"{settings.redis.url}: {str(error).splitlines()[0] if str(error) else 'no answer'}"
        )
        unknown = Check("clock", "skipped", "Redis, to compare with, does not answer")
        return [Check("redis", "failed", detail, remedy), unknown]
    ahead_s = (before + after) / 2 - (seconds + microseconds / 1e6)
    return [_redis_version(settings, version), clock(ahead_s)]


def _redis_version(settings: Settings, version: str) -> Check:
    detail = f"{settings.redis.url}, version {version}"
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_REDIS:
        return Check("redis", "warning", f"{detail}; tested with 7", "upgrade to Redis 7")
    return Check("redis", "ok", detail)


def clock(ahead_s: float) -> Check:
    direction = "ahead of" if ahead_s > 0 else "behind"
    detail = f"{abs(ahead_s):.3f} s {direction} that of Redis"
    if abs(ahead_s) > CLOCK_S:
        return Check("clock", "warning", detail, "synchronise both with NTP")
    return Check("clock", "ok", detail)


def check_collections(settings: Settings, only: str | None = None) -> list[Check]:
    """The topics of one collection, or of every one that can be found by name."""
    names = [only] if only else collection_names(settings.collections)
    topics = [_check_topics(settings, name, required=only is not None) for name in names]
    good = [name for name, check in zip(names, topics, strict=True) if check.state == "ok"]
    return [*topics, *(zones for name in good if (zones := _check_zones(settings, name)))]


def _check_topics(settings: Settings, name: str, required: bool) -> Check:
    title = f"topics of {name}"
    try:
        planned = plan_topics(settings, load_collection(name, settings.collections))
    except ConfigError as error:
        return Check(title, "failed", "; ".join(map(str, error.problems)), "mend the file")
    except Failure as failure:
        return Check(title, "failed", str(failure), failure.remedy)
    create = f"podium topics create --collection {name}"
    if planned.different:
        first = planned.different[0]
        rest = len(planned.different) - 1
        more = f", and {counted(rest, 'more difference')}" if rest else ""
        detail = f"{first.topic}: {first.what}: got {first.got}, wanted {first.wanted}{more}"
        return Check(title, "failed", detail, first.remedy)
    if planned.create and not planned.same:
        # Nobody is obliged to use every collection that comes with Podium.
        return Check(title, "failed" if required else "warning", "not created", create)
    if planned.create:
        missing = ", ".join(spec.name for spec in planned.create)
        return Check(title, "failed", f"missing: {missing}", create)
    return Check(title, "ok", f"{counted(len(planned.same), 'topic')} as declared")


def _check_zones(settings: Settings, name: str) -> Check | None:
    """Of a collection of lists whose zones have said something: whether they still do."""
    collection = load_collection(name, settings.collections)
    if "progress" not in KINDS[collection.kind].topics:
        return None
    title = f"zones of {name}"
    try:
        brokers = kafka_client_config(settings.kafka)
        rows = newest_progress(brokers, settings.prefix, collection.name)
    except KafkaException as error:
        return Check(title, "failed", error.args[0].str(), "look at the broker")
    if not rows:
        return Check(title, "skipped", "none has said anything yet")
    behind = max(row.behind for row in rows)
    silent = [row for row in rows if row.stalled]
    if silent:
        said = ", ".join(f"{row.zone} for {row.age_s:,.0f} s" for row in silent)
        remedy = f"podium worker zone --collection {name}"
        return Check(title, "warning", f"silent: {said}; {behind:,} records behind", remedy)
    if lost := [str(row.zone) for row in rows if row.lost]:
        remedy = f"podium worker painter --collection {name}"
        return Check(title, "warning", f"waiting for their lists: {', '.join(lost)}", remedy)
    return Check(title, "ok", f"{counted(len(rows), 'zone')}, at most {behind:,} records behind")


def check_workers(folder: Path) -> list[Check]:
    """The workers of the local stack in `folder`, if one runs there."""
    try:
        record = StackFolder(folder).read()
    except StackError as error:
        return [Check("workers", "failed", str(error), f"remove {folder} if no stack runs there")]
    if record is None or not record.running():
        return [Check("workers", "skipped", f"no local stack runs in {folder}")]
    workers = [process for process in record.processes if process.kind == "worker"]
    if not workers:
        return [Check("workers", "skipped", f"the local stack in {folder} runs none")]
    return [_check_worker(process) for process in workers]


def _check_worker(process: ProcessRecord) -> Check:
    title = f"worker {process.name}"
    remedy = f"read {process.log}"
    if not process.alive():
        return Check(title, "failed", f"not running, {process.restarts} restarts so far", remedy)
    if process.port is None:
        return Check(title, "ok", f"pid {process.pid}")
    try:
        with urllib.request.urlopen(
            f"http://127.0.0.1:{process.port}/readyz", timeout=ANSWER_S
        ) as answer:
            degraded = fleet.degraded_of(answer.read())
            if degraded:
                without = "; ".join(f"{part}: {reason}" for part, reason in degraded.items())
                return Check(title, "warning", f"ready, but degraded: {without}", remedy)
            return Check(title, "ok", f"ready, pid {process.pid}")
    except urllib.error.HTTPError as error:
        body = error.read(500).decode(errors="replace").strip()
        return Check(title, "failed", f"not ready: {body or error.reason}", remedy)
    except OSError as error:
        return Check(title, "failed", f"port {process.port} does not answer: {error}", remedy)
