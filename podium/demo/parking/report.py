"""What the demo found, for people and for programs."""

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from podium.demo.parking.check import Agreement, Record
from podium.demo.table import milliseconds
from podium.demo.watch import Percentiles
from podium.rendering import changes_in_words
from podium.terminal import counted
from topics.lists import ListRecord


class Example(NamedTuple):
    """A subscriber, the last record, and what a plain reader makes of it."""

    low: float
    high: float
    record: ListRecord


@dataclass(frozen=True)
class Streamed:
    updates: int
    per_s: float
    wanted_per_s: int
    slowed: bool  # the machine did not keep up with what was wanted
    latency: Percentiles | None  # None: no list has changed


@dataclass(frozen=True)
class Report:
    seed: int
    places: int
    subscribers: int
    registered_per_s: float
    listed: int  # subscribers who have a list
    streamed: Streamed
    burst: int  # updates all at once
    burst_per_s: float  # until all zones have applied the last one
    messages: int  # to the zones, for all updates
    lists: int  # records that the updates have led to
    agreement: Agreement
    examples: list[Example]
    seconds: dict[str, float]

    @property
    def updates(self) -> int:
        return self.streamed.updates + self.burst

    @property
    def fine(self) -> bool:
        agreed = self.agreement.checked == self.agreement.agreed > 0
        return agreed and self.listed == self.subscribers

    def as_json(self) -> dict[str, Any]:
        agreement = self.agreement
        told = asdict(self)
        del told["examples"], told["agreement"]
        return told | {
            "ok": self.fine,
            "updates": self.updates,
            "streamed": told["streamed"]
            | {"latency": self.streamed.latency and self.streamed.latency._asdict()},
            "checked": agreement.checked,
            "agreed": agreement.agreed,
            "records_checked": agreement.records,
            "states": agreement.as_of,
            "first_mistake": agreement.first and agreement.first._asdict(),
            "examples": [
                {"subscription": one.record.subscription, "lines": _example(one)}
                for one in self.examples
            ],
        }

    def lines(self) -> list[str]:
        lines = [line for one in self.examples for line in (*_example(one), "")]
        return lines + self._step_lines() + self._verdict_lines()

    def _step_lines(self) -> list[str]:
        stream = self.streamed
        slowed = f" ({stream.wanted_per_s:,} were too many here)" if stream.slowed else ""
        p50_ms, p99_ms = stream.latency or (None, None)
        each = max(1, self.updates)
        return [
            f"register  {counted(self.subscribers, 'subscriber')},"
            f" {self.registered_per_s:,.0f} a second to their first lists",
            f"stream    {counted(stream.updates, 'update')}, {stream.per_s:,.0f} a second{slowed}:",
            f"          p50 {milliseconds(p50_ms)}, p99 {milliseconds(p99_ms)}"
            " from an object's record to those of the lists that it changes",
            f"burst     {counted(self.burst, 'update')}, {self.burst_per_s:,.0f} a second"
            " from the first sent to the last applied",
            f"updates   {self.messages / each:.1f} messages and {self.lists / each:.1f} changed"
            " lists each",
        ]

    def _verdict_lines(self) -> list[str]:
        agreement = self.agreement
        lines = [
            f"{counted(self.subscribers, 'subscriber')}, {self.listed:,} with a list",
            f"checked: {counted(agreement.records, 'record')} of {agreement.checked:,} lists,"
            f" as of {agreement.as_of:,} object records",
            f"{agreement.agreed:,} of {agreement.checked:,} lists agree with a full scan",
        ]
        if agreement.first is not None:
            id, what, record = agreement.first
            lines += [f"the first that does not is that of {id}", f"  record  {_said(record)}"]
            lines.append(f"  {what}")
        return lines


def _said(record: Record | None) -> str:
    return "none" if record is None else str(record)


def _example(one: Example) -> list[str]:
    record = one.record
    cheapest = counted(record.k, "cheapest place", "cheapest places")
    lines = [f"{record.subscription}  the {cheapest} from {one.low:,.0f} to {one.high:,.0f} m"]
    assert isinstance(record.list, list)
    lines += [
        f"  {place}. {item.id:12} {item.y:.2f} an hour  at {item.x:,.0f} m"
        for place, item in enumerate(record.list, 1)
    ]
    said = "first list" if record.first else f"record {record.seq}: {changes_in_words(record)}"
    return [*lines, f"  {said}"]
