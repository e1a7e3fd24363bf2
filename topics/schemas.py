"""JSON Schemas of what other people write to and read from the topics."""

from typing import Any

import msgspec

from topics.bases import Base
from topics.events.contract import AttributeValue
from topics.events.mixed import MixedValue
from topics.matches import MatchRecord
from topics.subscriptions import BooleanSubscription, RankedSubscription, RelaxedSubscription

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def all_schemas() -> dict[str, dict[str, Any]]:
    """Schema by file name, as `podium schemas` writes them."""
    return {
        "subscriptions.ranked.json": _schema(RankedSubscription, "A subscription of kind ranked"),
        "subscriptions.relaxed.json": _schema(
            RelaxedSubscription, "A subscription of kind relaxed"
        ),
        "subscriptions.boolean.json": _schema(
            BooleanSubscription, "A subscription of kind boolean"
        ),
        "events.json": _event_schema(),
        "matches.json": _schema(MatchRecord, "The best subscriptions of one event"),
        "bases.json": _schema(Base, "The newest base of one shard"),
        "dead_letter_headers.json": _dead_letter_schema(),
    }


def _schema(contract: Any, title: str) -> dict[str, Any]:
    return {"$schema": _DIALECT, "title": title, **msgspec.json.schema(contract)}


def _event_schema() -> dict[str, Any]:
    """Attributes are numbers, in kind `boolean` also strings; the collection names them."""
    (value, mixed), definitions = msgspec.json.schema_components([AttributeValue, MixedValue])
    return {
        "$schema": _DIALECT,
        "title": "An event: a flat object of attributes",
        "description": "Fields that the collection does not name may hold anything.",
        "type": "object",
        "examples": [{"age": 28, "credit_score": {"value": 441, "weight": 0.3}}],
        "$defs": {
            "attribute": value,
            "boolean_attribute": mixed,
            **dict(definitions.items()),
        },
    }


def _dead_letter_schema() -> dict[str, Any]:
    headers = {
        "podium-error": "what was got and what was expected",
        "podium-error-field": "path of the field at fault; `key` or `value` for the whole",
        "podium-topic": "topic that the record was read from",
        "podium-partition": "its partition, decimal",
        "podium-offset": "its offset, decimal",
        "podium-version": "version of this set of headers, decimal",
    }
    cut = "only if the record was too large to be kept whole: the sizes that key and value had"
    return {
        "$schema": _DIALECT,
        "title": "Headers of a dead letter; key, value and other headers are the original's",
        "type": "object",
        "properties": {
            name: {"type": "string", "description": text}
            for name, text in (headers | {"podium-cut": cut}).items()
        },
        "required": list(headers),
    }
