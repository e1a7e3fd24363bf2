"""What `podium explain` says in the end: one verdict, the sentence for it, and what it rests on."""

import enum
from dataclasses import asdict, dataclass, field
from typing import Any

from podium.terminal import printable
from topics.judgement import Check


class Verdict(enum.StrEnum):
    IN_ANSWER = "in_answer"
    FAILED = "failed"
    BEATEN = "beaten"
    NOT_IN_YET = "not_in_yet"
    LEFT_OUT_BY_ROUTES = "left_out_by_routes"
    EVENT_REFUSED = "event_in_dead_letters"
    SUBSCRIPTION_REFUSED = "subscription_in_dead_letters"
    UNSUBSCRIBED = "unsubscribed"
    UNKNOWN_SUBSCRIPTION = "unknown_subscription"
    NOT_ANSWERED_YET = "not_answered_yet"
    REMOVED = "object_removed"
    CONTRADICTION = "contradiction"


@dataclass(frozen=True)
class Explanation:
    event: str  # topic[partition]@offset
    subscription: str
    verdict: Verdict
    sentence: str
    subscription_record: str | None = None  # that counts, or would
    as_of: dict[int, int] | None = None  # of the answer, by shard
    checks: list[Check] = field(default_factory=list)
    score: float | None = None
    k: int | None = None
    rank: int | None = None
    kth: float | None = None  # the score, or the y, of the last that is in
    matching: int | None = None  # subscriptions that hold, or objects in the range
    scanned: int | None = None  # records that were read to know the rank
    notes: list[str] = field(default_factory=list)

    @property
    def in_answer(self) -> bool:
        return self.verdict is Verdict.IN_ANSWER

    def as_json(self) -> dict[str, Any]:
        checks = [check._asdict() for check in self.checks]
        return asdict(self) | {"in_answer": self.in_answer, "checks": checks}

    def lines(self) -> list[str]:
        """For people: the sentence, the conditions below it, then what else is known."""
        named = len({check.alternative for check in self.checks}) > 1
        return [
            printable(line)
            for line in (
                self.sentence,
                *(_line(check, named) for check in self.checks),
                *self.notes,
            )
        ]


def _line(check: Check, named: bool) -> str:
    held = "holds" if check.held else "fails"
    got = "the event has none" if check.got is None else f"the event has {check.got!r}"
    adds = "" if check.adds is None or not check.held else f", adds {check.adds:g}"
    alternative = f"alternative {check.alternative + 1}: " if named else ""
    return f"  {held}  {alternative}{check.attribute} {check.condition}: {got}{adds}"
