"""The same ads and visitors through a replicated node, for its rate and latency beside the fleet's.

The node has a collection of its own, with topics of its own, and the machine to itself: the other
workers have been stopped.
"""

import time
from collections.abc import Callable
from functools import partial

import numpy as np
import yaml

from configs.settings import load_settings
from podium.demo.data import Script
from podium.demo.publish import Publisher
from podium.demo.report import Replicated
from podium.demo.scene import Scene
from podium.demo.topics_read import behind, end_offsets
from podium.demo.watch import Watcher, percentiles
from podium.stack.run import fleet
from podium.terminal import Failure
from podium.topics_setup import ensure_topics
from workers.kinds import roles_of

STREAM_S = 6.0
_WARM_UP = 40  # visitors
_LOOK_EVERY_S = 0.05
_WITHIN_S = 120.0


def answered_by_a_node(
    on: Scene, script: Script, rate: int, say: Callable[[str], None]
) -> Replicated:
    collection = on.collection.model_copy(
        update={"name": f"{on.collection.name}-replicated", "layout": "replicated"}
    )
    file = on.stack.settings_path.with_name(f"{collection.name}.yaml")
    file.write_text(yaml.safe_dump(collection.model_dump(mode="json")))
    _stop_workers(on)
    settings = load_settings(on.stack.settings_path)
    ensure_topics(settings, collection)
    planned = fleet.plan(on.stack, [fleet.Served(collection, str(file))], 1, on.prefix)
    here = on._replace(
        collection=collection, worker_ports={planned[0].labels["role"]: [planned[0].port]}
    )
    visitors = len(script.visitors)
    publisher = Publisher(
        on.clients, here.topic("subscriptions"), here.topic("events"), visitors, here.check
    )
    watcher = Watcher(on.clients, here.topic("matches"), collection.partitions.matches, visitors)
    try:
        say("registering the same ads")
        publisher.send_ads([*script.first_ads, *script.changes])
        publisher.flush()
        fleet.start(on.stack, planned, say)
        here.worker_pids.update(process.pid for process in on.stack.processes())
        watcher.start()
        return _measured(here, script, publisher, watcher, rate, say)
    finally:
        watcher.stop()


def _stop_workers(on: Scene) -> None:
    for process in on.stack.processes():
        if process.kind == "worker":
            on.stack.stop_worker(process.name)


def _measured(
    on: Scene,
    script: Script,
    publisher: Publisher,
    watcher: Watcher,
    rate: int,
    say: Callable[[str], None],
) -> Replicated:
    settle = partial(_settle, on, watcher)
    publisher.send_visitors(script.visitors[:_WARM_UP])
    publisher.flush()
    settle()
    half = len(script.visitors) // 2
    say(f"visitors at {rate:,}/s")
    publisher.stream(script.visitors[_WARM_UP:half], [], rate, STREAM_S, lambda: True)
    settle()
    streamed = publisher.last_visitor
    latencies = watcher.latencies_ms(publisher.sent_ms, _WARM_UP + 1, streamed)
    per_s = publisher.rate(_WARM_UP + 1)
    rest = script.visitors[streamed:]
    say(f"{len(rest):,} visitors at full speed")
    publisher.send_visitors(rest)
    publisher.flush()
    settle()
    took_ms = np.max(watcher.arrived_ms[streamed + 1 :]) - publisher.sent_ms[streamed + 1]
    return Replicated(
        visitors=streamed - _WARM_UP,
        per_s=per_s,
        latency=percentiles(latencies),
        burst_visitors=len(rest),
        burst_per_s=len(rest) * 1000 / max(float(took_ms), 1.0),
    )


def _settle(on: Scene, watcher: Watcher) -> None:
    """Wait until every event is answered and every match record is read."""
    (role,) = roles_of(on.collection)
    partitions, began = on.collection.partitions, time.monotonic()
    while behind(on, role.name, role.reads, partitions.events) or not watcher.has_read(
        end_offsets(on.admin, on.topic("matches"), partitions.matches)
    ):
        on.check()
        watcher.check()
        if time.monotonic() - began > _WITHIN_S:
            raise Failure(f"the node has not answered all visitors within {_WITHIN_S:g} s")
        time.sleep(_LOOK_EVERY_S)
