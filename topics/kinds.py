"""What each kind of collection brings to the topics.

One table per layer has the kinds: `configs.kinds` what their files may say, this one what their
records are, `indexes.kinds` what answers, `workers.kinds` who works.  Their keys are the same.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from topics.events.contract import EventContract, EventForm
from topics.events.mixed import MixedEvents, MixedValue
from topics.events.numbers import AttributeValue, NumberEvents
from topics.events.spatial_text import PlaceAndWords, PlacedEvents
from topics.frames import fingerprint
from topics.judgement import Judge, judge_boolean, judge_ranked, judge_relaxed
from topics.subscriptions import (
    BooleanContract,
    BooleanSubscription,
    RangeContract,
    RangeSubscription,
    RankedContract,
    RankedSubscription,
    RelaxedContract,
    RelaxedSubscription,
    SpatialTextContract,
    SpatialTextSubscription,
    SubscriptionContract,
    spatial_text,
)

MATCHING_TOPICS = (
    "subscriptions",
    "events",
    "frames",
    "partials",
    "matches",
    "bases",
    "routes",
    "subscriptions.dlq",
    "events.dlq",
)


# Of them, what only shards that are apart need.
BETWEEN_SHARDS = ("frames", "partials", "routes")

LIST_TOPICS = (
    "objects",
    "subscriptions",
    "messages",
    "matches",
    "progress",
    "subscriptions.dlq",
    "objects.dlq",
)


Dialect = Mapping[str, Any]
"""Settings of a collection that say how its records are read; most kinds have none."""

NO_DIALECT: Dialect = {}


class Kind(NamedTuple):
    """A contract and a form are made of a collection's attributes and, by name, of its dialect."""

    contract: Callable[..., SubscriptionContract]
    subscription: Any  # the type that its JSON Schema is made of
    events: Callable[..., EventForm] | None  # None: objects instead of events
    # The type of an attribute's value in an event, or of what an event has beside attributes, by
    # its name in the JSON Schema of events.
    event_value: tuple[str, Any] | None
    topics: tuple[str, ...]  # of `topics.catalogue.TOPICS`
    has_bases: bool  # whether the Spark job builds bases of its collections
    # What reads the records of a dialect, with versions: two that differ in it give other columns.
    reading: Callable[..., tuple[str, ...]] = lambda: ()
    judge: Judge | None = None  # says why an event and a subscription match; None: it has lists

    @property
    def input(self) -> str:
        """The topic of what subscriptions are about."""
        return "objects" if self.events is None else "events"


KINDS: dict[str, Kind] = {
    "ranked": Kind(
        contract=RankedContract,
        subscription=RankedSubscription,
        events=NumberEvents,
        event_value=("attribute", AttributeValue),
        topics=MATCHING_TOPICS,
        has_bases=True,
        judge=judge_ranked,
    ),
    "relaxed": Kind(
        contract=RelaxedContract,
        subscription=RelaxedSubscription,
        events=NumberEvents,
        event_value=("attribute", AttributeValue),
        topics=MATCHING_TOPICS,
        has_bases=True,
        judge=judge_relaxed,
    ),
    "boolean": Kind(
        contract=BooleanContract,
        subscription=BooleanSubscription,
        events=MixedEvents,
        event_value=("boolean_attribute", MixedValue),
        topics=MATCHING_TOPICS,
        has_bases=False,
        judge=judge_boolean,
    ),
    "spatial_text": Kind(
        contract=SpatialTextContract,
        subscription=SpatialTextSubscription,
        events=PlacedEvents,
        event_value=("place_and_words", PlaceAndWords),
        topics=MATCHING_TOPICS,
        has_bases=False,
        reading=spatial_text.reading,
    ),
    "range_topk": Kind(
        contract=RangeContract,
        subscription=RangeSubscription,
        events=None,
        event_value=None,
        topics=LIST_TOPICS,
        has_bases=False,
    ),
}


def contract_for(
    kind: str, attributes: Sequence[str], dialect: Dialect = NO_DIALECT
) -> SubscriptionContract:
    return KINDS[kind].contract(attributes, **dialect)


def reading_of(kind: str, dialect: Dialect) -> tuple[str, ...]:
    return KINDS[kind].reading(**dialect)


def event_form(kind: str, attributes: Sequence[str], dialect: Dialect = NO_DIALECT) -> EventForm:
    """`KeyError` for a kind that has no events."""
    form = KINDS[kind].events
    if form is None:
        raise KeyError(f"kind {kind} has objects, no events")
    return form(attributes, **dialect)


def event_contract(
    kind: str,
    attributes: Sequence[str],
    k: int,
    max_k: int,
    shards: int,
    dialect: Dialect = NO_DIALECT,
) -> EventContract:
    form = event_form(kind, attributes, dialect)
    read_as = fingerprint(kind, attributes, reading_of(kind, dialect))
    return EventContract(form, read_as, k, max_k, shards)
