"""The story that the demo tells: ads are registered, visitors come, the answers are checked."""

import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np

from configs.settings import load_settings
from podium.demo.check import State
from podium.demo.data import NEW_AD, NEW_BID, UNSUBSCRIBED, Record, Script
from podium.demo.monitor import Monitor, Workers
from podium.demo.publish import Publisher
from podium.demo.rebuild import Rebuild
from podium.demo.recovery import Recovery, subscription_ends
from podium.demo.report import Burst, Killed, Rebuilt, Registered, Report, Streamed
from podium.demo.scene import Scene
from podium.demo.table import Board, milliseconds
from podium.demo.topics_read import behind, end_offsets
from podium.demo.verdict import judge
from podium.demo.watch import Percentiles, Watcher, percentiles
from podium.terminal import Failure
from podium.topics_setup import declared_topics
from workers.kinds import roles_of

LOOK_EVERY_S = 0.05
STALLED_AFTER_S = 120.0  # Spark takes a minute to start where much else runs
WARM_UP = 40  # visitors before latency is measured: connections are made, caches filled
STREAM_S = 12.0
KEEPS_UP_S = 2.0
SLOWER = (1, 2, 4, 8)


@dataclass(frozen=True)
class Options:
    ads: int
    visitors: int
    check: int
    seed: int
    rate: int  # visitors a second while latency is measured
    matchers: int


class Story:
    """One run on a running fleet, step by step."""

    noun = "ads"  # what its subscriptions are called

    def __init__(self, options: Options, board: Board, script: Script, on: Scene) -> None:
        self._options, self._board, self._script, self._on = options, board, script, on
        partitions, visitors = on.collection.partitions, len(script.visitors)
        self._measured_from, self._measured_to = 1, visitors // 2  # for latency
        self._publisher = Publisher(
            on.clients, on.topic("subscriptions"), on.topic("events"), visitors, on.check
        )
        self._watcher = Watcher(on.clients, on.topic("matches"), partitions.matches, visitors)
        self._monitor = Monitor(
            Workers(on.worker_ports),
            on.collection.shards,
            lambda: (self._publisher.ads, self._publisher.visitors),
            lambda: len(self._watcher.records),
            self._latency,
        )
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        for thread in (self._watcher, self._monitor):
            self._opened.callback(thread.stop)
            thread.start()
        self._board.figures = lambda: self._monitor.figures
        return self

    def __exit__(self, *failure: object) -> None:
        self._board.figures = None
        self._opened.close()

    def told(self) -> Report:
        registered = self._register()
        before = self._newest_state()
        streamed = self._stream()
        rebuilt = self._rebase()
        killed = self._kill()
        burst = self._burst()
        self._board.figures = None
        self._board.begin("check", "")
        verdict = judge(
            self._on,
            self._watcher.records,
            before,
            {"kill": killed.around, "swap": rebuilt.around},
            self._options.check,
            self._options.seed,
            lambda text: self._board.say("check", text),
        )
        agreement = verdict.agreement
        self._board.end(
            "check",
            f"{agreement.checked:,} answers, as of {agreement.states:,} states of the ads",
            "done" if agreement.agreed == agreement.checked else "failed",
        )
        return Report(
            self._options.seed,
            self._on.collection.attributes,
            self._on.topic("events"),
            registered,
            streamed,
            rebuilt,
            killed,
            burst,
            *verdict,
            self._board.seconds(),
        )

    def _register(self) -> Registered:
        ads = self._script.first_ads
        self._board.begin(
            "register",
            lambda: f"{self._monitor.counters.indexed:,} of {len(ads):,} {self.noun} indexed",
        )
        began = time.monotonic()
        self._publisher.send_ads(ads)
        self._wait(f"indexing {self.noun}", lambda: self._monitor.counters.indexed >= len(ads))
        result = Registered(len(ads), len(ads) / (time.monotonic() - began))
        self._board.end("register", f"{result.ads:,} {self.noun} at {result.per_s:,.0f}/s")
        return result

    def _newest_state(self) -> State:
        return {shard: end - 1 for shard, end in enumerate(subscription_ends(self._on))}

    def _stream(self) -> Streamed:
        """At the wanted rate or, if the fleet does not keep up with that, at a lower one."""
        wanted, half, changed = self._options.rate, len(self._script.visitors) // 2, 0
        self._warm_up()
        for rate in (wanted / slower for slower in SLOWER):
            self._board.say("stream", partial(self._stream_progress, rate, half))
            changed += self._stream_at(rate, half, changed)
            kept_up = self._keeps_up()
            self._settle()
            if kept_up or self._publisher.last_visitor == half:
                break
        self._measured_to = self._publisher.last_visitor
        kinds = Counter(self._script.kinds[:changed])
        result = Streamed(
            warm_up=WARM_UP,
            visitors=self._measured_to - self._measured_from + 1,
            per_s=self._publisher.rate(self._measured_from),
            wanted_per_s=wanted,
            slowed=rate < wanted,
            new_ads=kinds[NEW_AD],
            new_bids=kinds[NEW_BID],
            unsubscribed=kinds[UNSUBSCRIBED],
            latency=self._latency(),
        )
        p50, p99 = map(milliseconds, result.latency or (None, None))
        rate_text = f"{result.visitors:,} visitors at {result.per_s:,.0f}/s"
        self._board.end("stream", f"{rate_text}: p50 {p50}, p99 {p99}")
        self._publisher.send_ads(self._script.changes[changed:])
        return result

    def _warm_up(self) -> None:
        self._board.begin("stream", f"{WARM_UP} visitors to warm up")
        self._publisher.send_visitors(self._script.visitors[:WARM_UP])
        self._publisher.flush()
        self._settle()

    def _stream_at(self, rate: float, half: int, changed: int) -> int:
        """How many more changes were sent."""
        first = self._publisher.last_visitor
        self._measured_from = first + 1
        return self._publisher.stream(
            self._script.visitors[first:half],
            self._script.changes[changed:],
            rate,
            STREAM_S,
            self._keeps_up,
        )

    def _stream_progress(self, rate: float, half: int) -> str:
        counters = self._monitor.counters
        changed = max(0, counters.indexed - len(self._script.first_ads))
        visitors = f"{counters.visitors:,} of {half:,} visitors at {rate:,.0f}/s"
        return f"{visitors}, {changed:,} changes of {self.noun}"

    def _keeps_up(self) -> bool:
        """Whether the visitors after the newest answered one have not been waiting for long."""
        waiting = max(self._watcher.newest + 1, self._measured_from)
        if waiting > self._publisher.last_visitor:
            return True
        return time.time() - self._publisher.sent_ms[waiting] / 1000 < KEEPS_UP_S

    def _rebase(self) -> Rebuilt:
        everything = len(self._script.first_ads) + len(self._script.changes)
        self._board.begin("rebase", "waiting for the last changes")
        self._wait("indexing ads", lambda: self._monitor.counters.indexed >= everything)
        rebuild = Rebuild(self._on, self._publisher, self._wait)
        rebuilt = rebuild.run(self._next_visitors(), lambda text: self._board.say("rebase", text))
        self._settle()
        before, after = 100 * rebuilt.delta_before, 100 * rebuilt.delta_after
        took = f"{rebuilt.built_s + rebuilt.swapped_s:.1f} s"
        self._board.end(
            "rebase", f"in {took}; delta share {before:.1f} % before, {after:.1f} % after"
        )
        return rebuilt

    def _next_visitors(self) -> list[Record]:
        """A tenth of them; what is left at the end comes in the burst."""
        first = self._publisher.last_visitor
        return self._script.visitors[first : first + len(self._script.visitors) // 10]

    def _kill(self) -> Killed:
        self._board.begin("kill", "waiting for snapshots of all shards")
        recovery = Recovery(self._on, self._publisher, self._wait)
        recovery.wait_for_snapshots()
        victim = recovery.victim.name
        self._board.say("kill", f"{victim} is dead; visitors keep coming")
        killed = recovery.kill(self._next_visitors())
        self._settle()
        counts = f"{killed.from_snapshots} of {killed.shards} shards from snapshots"
        self._board.end("kill", f"{victim} back in {killed.back_s:.1f} s, {counts}")
        return killed

    def _burst(self) -> Burst:
        first = self._publisher.last_visitor
        visitors = self._script.visitors[first:]
        self._board.begin("burst", f"{len(visitors):,} visitors at full speed")
        self._publisher.send_visitors(visitors)
        self._publisher.flush()
        self._settle()
        last_ms = np.max(self._watcher.arrived_ms[first + 1 :])
        took_s = (last_ms - self._publisher.sent_ms[first + 1]) / 1000
        result = Burst(len(visitors), len(visitors) / took_s if took_s > 0 else 0.0)
        self._board.end("burst", f"{len(visitors):,} visitors at {result.per_s:,.0f}/s")
        return result

    def _latency(self) -> Percentiles | None:
        """Of the steady stream alone: in a burst most of the time is spent in the queue."""
        watcher, sent_ms = self._watcher, self._publisher.sent_ms
        return percentiles(watcher.latencies_ms(sent_ms, self._measured_from, self._measured_to))

    def _settle(self) -> None:
        """Wait until every event is answered and every match record is read."""
        on, collection = self._on, self._on.collection
        specs = declared_topics(load_settings(on.stack.settings_path), collection)
        partitions = {spec.name: spec.partitions for spec in specs}
        for role in roles_of(collection):
            lag = partial(behind, on, role.name, role.reads, partitions[on.topic(role.reads)])
            self._wait(f"the {role.name}", partial(_is_zero, lag))
        ends = end_offsets(on.admin, on.topic("matches"), collection.partitions.matches)
        self._wait("reading the matches", partial(self._watcher.has_read, ends))

    def _wait(self, what: str, done: Callable[[], bool]) -> None:
        """Until `done`; a `Failure` when something has died or nothing moves any more."""
        moved_at, seen = time.monotonic(), self._monitor.counters
        while not done():
            self._on.check()
            self._watcher.check()
            if self._monitor.counters != seen:
                moved_at, seen = time.monotonic(), self._monitor.counters
            elif time.monotonic() - moved_at > STALLED_AFTER_S:
                counts = ", ".join(f"{name} {n:,}" for name, n in seen._asdict().items())
                raise Failure(f"{what}: nothing has moved for {STALLED_AFTER_S:g} s", counts)
            time.sleep(LOOK_EVERY_S)


def _is_zero(count: Callable[[], int]) -> bool:
    return count() == 0
