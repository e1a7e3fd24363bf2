"""JSON Schemas of what other people write to and read from the topics."""

from typing import Any

import msgspec

from topics import headers
from topics.bases import Base
from topics.kinds import KINDS
from topics.lists import ListRecord
from topics.matches import MatchRecord
from topics.objects import ObjectRecord
from topics.progress import Progress

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def all_schemas() -> dict[str, dict[str, Any]]:
    """Schema by file name, as `podium schemas` writes them."""
    return {
        **{
            f"subscriptions.{name}.json": _schema(
                kind.subscription, f"A subscription of kind {name}"
            )
            for name, kind in KINDS.items()
        },
        "events.json": _event_schema(),
        "matches.json": _schema(MatchRecord, "The best subscriptions of one event"),
        "objects.json": _schema(ObjectRecord, "An object of kind range_topk"),
        "matches.range_topk.json": _schema(ListRecord, "The best objects of one subscription"),
        "progress.json": _schema(Progress, "How far one zone is"),
        "bases.json": _schema(Base, "The newest base of one shard"),
        "dead_letter_headers.json": _dead_letter_schema(),
    }


def _schema(contract: Any, title: str) -> dict[str, Any]:
    return {"$schema": _DIALECT, "title": title, **msgspec.json.schema(contract)}


def _event_schema() -> dict[str, Any]:
    """Which form an attribute has is a matter of the kind; the collection names them."""
    values = dict(kind.event_value for kind in KINDS.values() if kind.event_value)
    schemas, definitions = msgspec.json.schema_components(list(values.values()))
    return {
        "$schema": _DIALECT,
        "title": "An event: a flat object of attributes",
        "description": "Fields that the collection does not name may hold anything.",
        "type": "object",
        "examples": [{"age": 28, "credit_score": {"value": 441, "weight": 0.3}}],
        "$defs": {
            **dict(zip(values, schemas, strict=True)),
            **dict(definitions.items()),
        },
    }


def _dead_letter_schema() -> dict[str, Any]:
    said = {
        headers.ERROR: "what was got and what was expected",
        headers.ERROR_FIELD: "path of the field at fault; `key` or `value` for the whole",
        headers.TOPIC: "topic that the record was read from",
        headers.PARTITION: "its partition, decimal",
        headers.OFFSET: "its offset, decimal",
        headers.VERSION: "version of this set of headers, decimal",
    }
    cut = "only if the record was too large to be kept whole: the sizes that key and value had"
    return {
        "$schema": _DIALECT,
        "title": "Headers of a dead letter; key, value and other headers are the original's",
        "type": "object",
        "properties": {
            name: {"type": "string", "description": text}
            for name, text in (said | {headers.CUT: cut}).items()
        },
        "required": list(said),
    }
