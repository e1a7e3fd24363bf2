"""What the demo found, for people and for programs."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from podium.demo.coupons.scan import metres
from podium.demo.report import Burst, Registered, Streamed, as_of_text, hits_text
from podium.demo.scan import Hit
from podium.demo.table import milliseconds
from podium.terminal import counted

SHOWN = 3


class Match(NamedTuple):
    id: str
    score: float
    document: dict[str, Any]


class Example(NamedTuple):
    """A message and its best coupons, as delivered."""

    key: str
    city: str  # the nearest
    event: dict[str, Any]
    matches: list[Match]


class Wrong(NamedTuple):
    event: str
    value: str
    as_of: dict[int, int]
    expected: list[Hit]
    got: list[Hit]


@dataclass(frozen=True)
class Report:
    seed: int
    registered: Registered
    streamed: Streamed
    burst: Burst
    messages: int
    answered: int  # with a record, which each has, if only an empty one
    matched: int  # with at least one coupon
    checked: int
    agreed: int
    states: int  # different `podium-as-of` among the checked
    first_wrong: Wrong | None
    examples: list[Example]
    seconds: dict[str, float]

    @property
    def fine(self) -> bool:
        return self.checked == self.agreed > 0 and self.answered == self.messages

    def as_json(self) -> dict[str, Any]:
        told = asdict(self)
        latency = self.streamed.latency
        return told | {
            "ok": self.fine,
            "streamed": told["streamed"] | {"latency": latency and latency._asdict()},
            "first_wrong": self.first_wrong and self.first_wrong._asdict(),
            "examples": [{"message": one.key, "lines": _example(one)} for one in self.examples],
        }

    def lines(self) -> list[str]:
        lines = [line for one in self.examples for line in (*_example(one), "")]
        return [*lines, *self._step_lines(), "", *self._verdict_lines()]

    def _step_lines(self) -> list[str]:
        stream, burst = self.streamed, self.burst
        slowed = f" ({stream.wanted_per_s:,} were too many here)" if stream.slowed else ""
        p50_ms, p99_ms = stream.latency or (None, None)
        return [
            f"register  {counted(self.registered.ads, 'coupon')},"
            f" {self.registered.per_s:,.0f} a second from the first sent to the last indexed",
            f"stream    {counted(stream.visitors, 'message')}, {stream.per_s:,.0f} a second"
            f"{slowed}, after {stream.warm_up} to warm up",
            f"          p50 {milliseconds(p50_ms)}, p99 {milliseconds(p99_ms)}"
            " from the message's timestamp to its match record's,",
            f"          while {counted(stream.new_ads, 'coupon')} came, {stream.new_bids:,} changed"
            f" their score and {stream.unsubscribed:,} left",
            f"burst     {counted(burst.visitors, 'message')}, {burst.per_s:,.0f} a second"
            " from the first sent to the last match record",
        ]

    def _verdict_lines(self) -> list[str]:
        lines = [
            f"{counted(self.messages, 'message')}, {self.answered:,} with a record,"
            f" {self.matched:,} with at least one coupon",
            f"checked: {counted(self.checked, 'answer')}, as of {self.states:,} states of the"
            " coupons",
            f"{self.agreed:,} of {self.checked:,} answers agree with a full scan",
        ]
        if (wrong := self.first_wrong) is not None:
            lines += [
                f"the first that does not is {wrong.event}",
                f"  message   {wrong.value}",
                f"  as of     {as_of_text(wrong.as_of)}",
                f"  expected  {hits_text(wrong.expected)}",
                f"  got       {hits_text(wrong.got)}",
            ]
        return lines


def _example(one: Example) -> list[str]:
    age = f", {one.event['age']} years old" if "age" in one.event else ""
    lines = [f"{one.key} near {one.city}{age}: “{one.event['text']}”"]
    for rank, match in enumerate(one.matches[:SHOWN], 1):
        where = place_text(match.document, one.event["point"])
        lines.append(
            f"  {rank}. {match.id}  {match.score:.2f}  {words_text(match.document)}; {where}"
        )
    return lines


def words_text(document: Mapping[str, Any]) -> str:
    """
    >>> words_text({"tokens": ["pizza"], "none": ["frozen"], "where": {"age": [18, None]}})
    'pizza, but not frozen, age from 18'
    """
    said = list(document["tokens"])
    if "phrase" in document:
        said.append(f"“{document['phrase']}”")
    if "any" in document:
        said.append("and " + " or ".join(document["any"]))
    if "none" in document:
        said.append("but not " + " or ".join(document["none"]))
    for name, (low, high) in document.get("where", {}).items():
        said.append(f"{name} from {low}" if high is None else f"{name} to {high}")
    return ", ".join(said)


def place_text(document: Mapping[str, Any], point: tuple[float, float]) -> str:
    """
    >>> place_text({"area": {"circle": [13.4, 52.5, 1500]}}, (13.4, 52.51))
    'within 1,500 m of a shop 1,112 m away'
    """
    if "box" in document:
        return "in a box"
    if "circle" not in document["area"]:
        return "in a polygon"
    x, y, radius = document["area"]["circle"]
    far = metres(x, y, *point)
    fades = ", the nearer the better" if "decay" in document else ""
    return f"within {radius:,} m of a shop {far:,.0f} m away{fades}"
