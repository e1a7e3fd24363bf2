"""What the fleet says of itself, a few times a second: rates, and how far each stage is behind."""

import http.client
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from podium.demo.watch import Percentiles
from podium.stack.run import ports
from podium.stack.status.metrics import samples_at
from podium.terminal import counted

EVERY_S = 0.25
WINDOW_S = 2.0

Sample = tuple[str, float]  # name, value


class Counters(NamedTuple):
    """Totals since the start, from the first stage to the last."""

    ads: int = 0  # records that the broker has
    indexed: int = 0  # of them, applied by the matchers
    visitors: int = 0  # events that the broker has
    routed: int = 0
    frames: int = 0  # sent by the router, one a shard
    answered: int = 0  # of them, by the matchers
    merged: int = 0  # frames, all shards together
    matches: int = 0  # match records read


class Lag(NamedTuple):
    indexing: int  # records of ads
    router: int  # events
    matcher: int  # frames
    merger: int  # frames

    def texts(self) -> list[str]:
        units = ("ad", "event", "frame", "frame")
        return [counted(records, unit) for records, unit in zip(self, units, strict=True)]


class Figures(NamedTuple):
    ads_per_s: float = 0.0
    visitors_per_s: float = 0.0
    matches_per_s: float = 0.0
    latency: Percentiles | None = None
    lag: Lag = Lag(0, 0, 0, 0)


def lag_of(counters: Counters, shards: int) -> Lag:
    """The counters are not read at one moment, so a later stage may seem to be ahead."""
    behind = (
        counters.ads - counters.indexed,
        counters.visitors - counters.routed,
        counters.frames - counters.answered,
        counters.answered - counters.merged * shards,
    )
    return Lag(*(max(0, records) for records in behind))


class Rates:
    """How fast counters have risen lately."""

    def __init__(self, window_s: float = WINDOW_S) -> None:
        self._window_s = window_s
        self._seen: deque[tuple[float, Counters]] = deque()

    def add(self, now: float, counters: Counters) -> None:
        self._seen.append((now, counters))
        while len(self._seen) > 2 and now - self._seen[1][0] >= self._window_s:
            self._seen.popleft()

    def per_s(self, name: str) -> float:
        if len(self._seen) < 2:
            return 0.0
        (then, before), (now, after) = self._seen[0], self._seen[-1]
        return (getattr(after, name) - getattr(before, name)) / max(now - then, 1e-9)


class Workers:
    """Sums of the workers' metrics, role by role; what a worker counted before it died counts."""

    def __init__(self, ports_by_role: dict[str, list[int]]) -> None:
        self._ports = ports_by_role
        self._last: dict[tuple[int, str], float] = {}
        self._counted_before: dict[tuple[int, str], float] = {}

    def read(self) -> dict[str, float]:
        """By `role.metric`; the roles are asked in the order of the flow."""
        totals: dict[str, float] = {}
        for role, role_ports in self._ports.items():
            for port in role_ports:
                for name, value in self._read_one(port).items():
                    totals[f"{role}.{name}"] = totals.get(f"{role}.{name}", 0.0) + value
        return totals

    def _read_one(self, port: int) -> dict[str, float]:
        sums: dict[str, float] = {}
        for name, value in scrape(port):
            sums[name] = sums.get(name, 0.0) + value
        for name in filter(_is_counter, sums):
            place = port, name
            if sums[name] < self._last.get(place, 0.0):  # it has begun anew
                before = self._counted_before.get(place, 0.0)
                self._counted_before[place] = before + self._last[place]
            self._last[place] = sums[name]
            sums[name] += self._counted_before.get(place, 0.0)
        return sums


def _is_counter(name: str) -> bool:
    return name.endswith(("_total", "_count", "_sum"))


def scrape(port: int) -> Iterable[Sample]:
    return [
        (sample.name, sample.value)
        for sample in _samples(port)
        if not sample.name.endswith(("_bucket", "_created"))
    ]


def sum_of(port: int, metric: str, **labels: str) -> float:
    """Of one worker's metric, over the samples that have these labels."""
    return sum(
        sample.value
        for sample in _samples(port)
        if sample.name == metric and labels.items() <= sample.labels.items()
    )


def _samples(port: int) -> list[Any]:
    samples = samples_at(f"{ports.HOST}:{port}", "podium_")
    if samples is None:
        raise ConnectionError(f"no answer from {ports.HOST}:{port}")
    return samples


class Monitor(threading.Thread):
    """Keeps `counters` and `figures` fresh. A worker that does not answer leaves them as they are.

    `published` tells the records of ads and visitors that the broker has, `received` the match
    records that were read, `latency` how long they took.
    """

    def __init__(
        self,
        workers: Workers,
        shards: int,
        published: Callable[[], tuple[int, int]],
        received: Callable[[], int],
        latency: Callable[[], Percentiles | None],
    ) -> None:
        super().__init__(name="monitor", daemon=True)
        self.counters, self.figures = Counters(), Figures()
        self._workers, self._shards = workers, shards
        self._published, self._received, self._latency = published, received, latency
        self._rates = Rates()
        self._stopping = threading.Event()

    def run(self) -> None:
        while not self._stopping.wait(EVERY_S):
            try:
                totals = self._workers.read()
            except (OSError, http.client.HTTPException):
                continue  # it has died, and the story finds that out from the stack
            self._take(totals)

    def _take(self, totals: dict[str, float]) -> None:
        def total(name: str) -> int:
            return int(totals.get(name, 0))

        ads, visitors = self._published()
        self.counters = Counters(
            ads=ads,
            indexed=total("matcher.podium_subscription_changes_total"),
            visitors=visitors,
            routed=total("router.podium_events_total"),
            frames=total("router.podium_frames_total"),
            answered=total("matcher.podium_frames_total"),
            merged=total("merger.podium_frames_total"),
            matches=self._received(),
        )
        self._rates.add(time.monotonic(), self.counters)
        self.figures = Figures(
            self._rates.per_s("indexed"),
            self._rates.per_s("routed"),
            self._rates.per_s("matches"),
            self._latency(),
            lag_of(self.counters, self._shards),
        )

    def stop(self) -> None:
        self._stopping.set()
        if self.is_alive():
            self.join(5.0)
