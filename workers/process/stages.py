"""Where the time of an event goes: histograms of seconds, which count events.

A frame of a thousand events that waits for a second is a thousand events that do, so every stage
says how many events it speaks of, and a percentile is one of events.  All seconds of a frame are
counted in one call.
"""

import threading
from bisect import bisect_left
from collections.abc import Iterable

import numpy as np
from prometheus_client import REGISTRY, CollectorRegistry
from prometheus_client.core import HistogramMetricFamily
from prometheus_client.registry import Collector

EVENT_WAITING = "event_waiting"
FRAMING = "framing"
FRAME_WAITING = "frame_waiting"
ANSWERING = "answering"
SENDING = "sending"
MERGING = "merging"
WRITING = "writing"

# In the order of the flow.
STAGES = {
    EVENT_WAITING: "from an event's timestamp until a worker takes it up",
    FRAMING: "decoding events and packing them into frames",
    FRAME_WAITING: "from a frame's timestamp until its shard takes it up",
    ANSWERING: "finding the best subscriptions",
    SENDING: "from an answer until the broker has it",
    MERGING: "from the first shard's answer until the last one's is there",
    WRITING: "making match records of the answers",
}

# From 1 ms to 30 s, closest where targets of latency lie.
BOUNDS = (
    0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2,
    0.3, 0.5, 0.75, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 30.0,
)  # fmt: skip

_EDGES = np.array(BOUNDS)
_MOST_SAMPLES = 64


class EventSeconds(Collector):
    """A histogram that takes the seconds of many events at once."""

    def __init__(
        self,
        name: str,
        documentation: str,
        labels: tuple[str, ...],
        registry: CollectorRegistry = REGISTRY,
    ) -> None:
        self._name, self._documentation, self._labels = name, documentation, labels
        self._counts: dict[tuple[str, ...], np.ndarray] = {}  # of the buckets, the last +Inf
        self._sums: dict[tuple[str, ...], float] = {}
        self._changing = threading.Lock()
        registry.register(self)

    def observe(
        self, *labels: str, seconds: np.ndarray | float, events: float | np.ndarray = 1
    ) -> None:
        """`events` have taken so long, or each of `seconds` was taken by so many.

        A clock that is behind that of whoever wrote the timestamp counts as no time at all.
        """
        if isinstance(seconds, np.ndarray):
            taken = np.maximum(seconds, 0.0)
            weights = np.broadcast_to(np.asarray(events, np.float64), taken.shape)
            counts = np.bincount(np.searchsorted(_EDGES, taken), weights, len(BOUNDS) + 1)
            with self._changing:
                self._of(labels)[:] += counts
                self._sums[labels] += float(taken @ weights)
            return
        bucket = bisect_left(BOUNDS, seconds)
        with self._changing:
            self._of(labels)[bucket] += events
            self._sums[labels] += max(0.0, seconds) * float(events)

    def _of(self, labels: tuple[str, ...]) -> np.ndarray:
        if labels not in self._counts:
            self._counts[labels], self._sums[labels] = np.zeros(len(BOUNDS) + 1), 0.0
        return self._counts[labels]

    def collect(self) -> Iterable[HistogramMetricFamily]:
        (family,) = self.describe()
        with self._changing:
            known = [
                (labels, np.cumsum(c), self._sums[labels]) for labels, c in self._counts.items()
            ]
        for labels, below, total in known:
            bounds = [*map(str, BOUNDS), "+Inf"]
            family.add_metric(labels, list(zip(bounds, below.tolist(), strict=True)), total)
        yield family

    def describe(self) -> Iterable[HistogramMetricFamily]:
        return [HistogramMetricFamily(self._name, self._documentation, labels=self._labels)]


def sampled(count: int) -> tuple[slice, float]:
    """A few of so many events, evenly, and how many each of them stands for.

    >>> sampled(10), sampled(1000)
    ((slice(None, None, 1), 1.0), (slice(None, None, 16), 15.873015873015873))
    """
    step = 1 + count // _MOST_SAMPLES
    return slice(None, None, step), count / -(-count // step)


def percentile(below: dict[float, float], share: float) -> float | None:
    """Of a histogram's cumulative counts by upper bound, `inf` included; None of nothing.

    Between two bounds as if all were evenly spread; beyond the last one that bound.

    >>> percentile({0.01: 50.0, 0.02: 100.0, float("inf"): 100.0}, 0.75)
    0.015
    """
    bounds = sorted(below)
    total = below[bounds[-1]] if bounds else 0.0
    if total <= 0:
        return None
    wanted, low, counted = share * total, 0.0, 0.0
    for bound in bounds:
        if below[bound] >= wanted:
            if bound == float("inf"):
                return low
            inside = below[bound] - counted
            return low + (bound - low) * ((wanted - counted) / inside if inside else 1.0)
        low, counted = bound, below[bound]
    return low
