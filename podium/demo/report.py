"""What the demo found, for people and for programs."""

import json
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from podium.demo.check import Agreement, Delivery, Disagreement, Place, Stretch
from podium.demo.readable import Ends, ad_text, bid_text, visitor_text
from podium.demo.scan import Hit
from podium.demo.table import milliseconds
from podium.demo.watch import Percentiles
from podium.terminal import counted

SHOWN_ADS = 3
SHOWN_HITS = 10


class Ad(NamedTuple):
    id: str
    bid: float
    where: dict[str, Ends]


class Example(NamedTuple):
    """A visitor and the best ads, as delivered."""

    visitor: str
    event: dict[str, float]
    ads: list[Ad]


@dataclass(frozen=True)
class Registered:
    ads: int
    per_s: float


@dataclass(frozen=True)
class Streamed:
    warm_up: int  # visitors before the measured ones
    visitors: int
    per_s: float  # published
    wanted_per_s: int
    slowed: bool  # the machine did not keep up with what was wanted
    new_ads: int
    new_bids: int
    unsubscribed: int
    latency: Percentiles | None  # None: nobody had a match


@dataclass(frozen=True)
class Rebuilt:
    shards: int
    built_s: float  # by Spark, its own start included
    swapped_s: float
    delta_before: float  # the share of the index that is outside its base
    delta_after: float
    visitors: int  # who came meanwhile
    around: Stretch  # of them, those who came around the swap


@dataclass(frozen=True)
class Killed:
    worker: str
    back_s: float  # from its death to its next `ready`
    shards: int  # that were taken over
    from_snapshots: int  # of them, without a replay from the beginning
    visitors: int  # who came meanwhile
    around: Stretch  # the same


@dataclass(frozen=True)
class Burst:
    visitors: int
    per_s: float


@dataclass(frozen=True)
class Report:
    seed: int
    attributes: tuple[str, ...]
    topic: str  # of the events
    registered: Registered
    streamed: Streamed
    rebuilt: Rebuilt
    killed: Killed
    burst: Burst
    delivery: Delivery
    agreement: Agreement
    checked_around: dict[str, int]  # of the checked answers, those around the kill and the swap
    examples: list[Example]
    seconds: dict[str, float]  # by step

    @property
    def fine(self) -> bool:
        agreement = self.agreement
        right = 0 < agreement.checked == agreement.agreed and all(self.checked_around.values())
        swapped = self.rebuilt.delta_after < self.rebuilt.delta_before
        back = self.killed.from_snapshots == self.killed.shards
        return self.delivery.fine and right and swapped and back

    def as_json(self) -> dict[str, Any]:
        delivery, agreement = self.delivery, self.agreement
        latency = self.streamed.latency
        return {
            "ok": self.fine,
            "seed": self.seed,
            "registered": asdict(self.registered),
            "streamed": asdict(self.streamed) | {"latency": latency and latency._asdict()},
            "rebuilt": asdict(self.rebuilt),
            "killed": asdict(self.killed),
            "burst": asdict(self.burst),
            "visitors": delivery.events,
            "with_a_match": delivery.answered,
            "repeated": [self._place(place) for place in delivery.repeated],
            "unknown": [self._place(place) for place in delivery.unknown],
            "missing": [self._place(place) for place in delivery.missing],
            "checked": agreement.checked,
            "checked_around": self.checked_around,
            "agreed": agreement.agreed,
            "states": agreement.states,
            "first_disagreement": agreement.first and self._disagreement_json(agreement.first),
            "examples": [
                example._asdict() | {"ads": [ad._asdict() for ad in example.ads]}
                for example in self.examples
            ],
            "seconds": self.seconds,
        }

    def _disagreement_json(self, first: Disagreement) -> dict[str, Any]:
        return {
            "event": self._place(first.event.place),
            "key": first.event.key.decode(),
            "value": json.loads(first.event.value),
            "as_of": as_of_text(first.as_of),
            "expected": first.expected,
            "got": first.got,
        }

    def lines(self) -> list[str]:
        """The verdict on the answers comes last; only a wrong answer is shown after it."""
        agreement = self.agreement
        lines = [*self._example_lines(), *self._measured_lines(), "", *self._delivery_lines()]
        if agreement.checked:
            among = ", ".join(f"{n} around the {what}" for what, n in self.checked_around.items())
            lines.append(f"checked: {agreement.checked} answers, among them {among}")
            lines.append(
                f"{agreement.agreed} of {agreement.checked} answers agree with a full scan"
            )
        else:
            lines.append("no answer came, so none could be checked")
        return [*lines, *(self._disagreement_lines(agreement.first) if agreement.first else [])]

    def _example_lines(self) -> list[str]:
        lines = []
        for example in self.examples:
            lines.append(f"{example.visitor}  {visitor_text(example.event, self.attributes)}")
            for rank, ad in enumerate(example.ads[:SHOWN_ADS], 1):
                wants = ad_text(ad.where, self.attributes)
                lines.append(f"  {rank}. {ad.id}  {bid_text(ad.bid)}  {wants}")
            lines.append("")
        return lines

    def _measured_lines(self) -> list[str]:
        first, stream, burst = self.registered, self.streamed, self.burst
        rebuilt, killed = self.rebuilt, self.killed
        slowed = f" ({stream.wanted_per_s:,} were too many here)" if stream.slowed else ""
        p50_ms, p99_ms = stream.latency or (None, None)
        return [
            f"register  {counted(first.ads, 'ad')}, {first.per_s:,.0f} a second"
            " from the first sent to the last indexed",
            f"stream    {counted(stream.visitors, 'visitor')}, {stream.per_s:,.0f} a second"
            f"{slowed}, after {stream.warm_up} to warm up",
            f"          p50 {milliseconds(p50_ms)}, p99 {milliseconds(p99_ms)}"
            " from the event's timestamp to its match record's,",
            f"          while {counted(stream.new_ads, 'ad')} came, {stream.new_bids:,} changed"
            f" their bid and {stream.unsubscribed:,} left",
            f"rebase    {counted(rebuilt.shards, 'base')} built by Spark in {rebuilt.built_s:.1f} s"
            f" and swapped in within {rebuilt.swapped_s:.1f} s:",
            f"          the delta share went from {100 * rebuilt.delta_before:.1f} to"
            f" {100 * rebuilt.delta_after:.1f} %,",
            f"          while {counted(rebuilt.visitors, 'visitor')} came",
            f"kill      {killed.worker} killed with SIGKILL and back in {killed.back_s:.1f} s,"
            f" {killed.from_snapshots} of {counted(killed.shards, 'shard')} from snapshots,",
            f"          while {counted(killed.visitors, 'visitor')} came",
            f"burst     {counted(burst.visitors, 'visitor')}, {burst.per_s:,.0f} a second"
            " from the first sent to the last match record",
        ]

    def _delivery_lines(self) -> list[str]:
        delivery = self.delivery
        lines = [
            f"{counted(delivery.events, 'visitor')}, {delivery.answered:,} with at least one match"
        ]
        for places, what in (
            (delivery.repeated, "more than one match record, as after a crash"),
            (delivery.unknown, "a match record with another key, or of no event"),
            (delivery.missing, "no match record but a match"),
        ):
            if places:
                lines.append(f"{what}: {self._place(places[0])} ({len(places):,} in all)")
        return lines

    def _disagreement_lines(self, first: Disagreement) -> list[str]:
        return [
            f"the first that does not is {self._place(first.event.place)}",
            f"  event     {first.event.key.decode()} {first.event.value.decode()}",
            f"  as of     {as_of_text(first.as_of)}",
            f"  expected  {hits_text(first.expected)}",
            f"  got       {hits_text(first.got)}",
        ]

    def _place(self, place: Place) -> str:
        return f"{self.topic}[{place[0]}]@{place[1]}"


def as_of_text(as_of: dict[int, int]) -> str:
    return ",".join(f"{shard}@{offset}" for shard, offset in sorted(as_of.items()))


def hits_text(hits: list[Hit]) -> str:
    """
    >>> hits_text([("ad-7", 9.1), ("ad-3", 8.25)])
    'ad-7 9.1, ad-3 8.25'
    """
    return ", ".join(f"{id} {score:g}" for id, score in hits[:SHOWN_HITS]) or "nothing"
