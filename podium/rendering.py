"""Kafka records as text: one line for people, one JSON object for programs."""

import base64
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from podium.terminal import printable
from topics import lists, progress
from topics.headers import AFTER, AS_OF, ERROR, OFFSET, PARTITION, TOPIC, K
from topics.lists import Enter, Leave, ListRecord, Move, Update

SHOWN_MATCHES = 10
SHOWN_VALUE = 160

_json = msgspec.json.Decoder(msgspec.Raw)


class Received(NamedTuple):
    topic: str
    partition: int
    offset: int
    timestamp_ms: int | None
    key: bytes | None
    value: bytes | None
    headers: Mapping[str, bytes | None]

    @property
    def place(self) -> str:
        return f"{self.topic}[{self.partition}]@{self.offset}"


def as_json(record: Received) -> bytes:
    """One line.  A value that is JSON stays as it was written; other bytes become base64.

    `value_encoding` is `json`, `text`, `base64` or, for null, absent.
    """
    value, encoding = _value(record.value)
    shown: dict[str, Any] = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp_ms,
        "key": _text(record.key),
        "headers": {name: _text(content) for name, content in record.headers.items()},
        "value": value,
    }
    if encoding:
        shown["value_encoding"] = encoding
    return msgspec.json.encode(shown)


def as_line(record: Received) -> str:
    if record.topic.endswith(".dlq"):
        return _dead_letter(record)
    last = record.topic.rpartition(".")[2]
    for shown in _SHOWN.get(last, ()):
        if line := shown(record):
            return line
    return f"{record.place}  {_key(record)}  {_shown_value(record)}{_options(record)}"


def _match(record: Received) -> str | None:
    """`event  ad-7 9.1 · ad-3 8.2  as of 0@41,1@40`; `None` for a value that is no match."""
    try:
        value = msgspec.json.decode(record.value or b"")
        hits = [f"{hit['id']} {hit['score']:g}" for hit in value["matches"]]
        event = value["event"]
    except (msgspec.DecodeError, KeyError, TypeError, ValueError, RecursionError):
        return None
    shown = " · ".join(hits[:SHOWN_MATCHES]) or "no match"
    more = f" … {len(hits) - SHOWN_MATCHES} more" if len(hits) > SHOWN_MATCHES else ""
    as_of = f"  as of {_text(record.headers[AS_OF])}" if AS_OF in record.headers else ""
    return printable(f"{event}  {shown}{more}{as_of}")


def _list(record: Received) -> str | None:
    """`watch-7  seq 2 since [1]@88  1. o-12 (31, 0.4)  o-12 enters at 1  as of objects @1041`.

    Places count from 1 here.
    """
    try:
        read = lists.decode(record.value or b"")
    except (msgspec.MsgspecError, RecursionError):
        return None
    parts = [read.subscription, f"seq {read.seq} since {read.since[read.since.rindex('[') :]}"]
    if read.list is not UNSET:
        listed = [f"{i}. {o.id} ({o.x:g}, {o.y:g})" for i, o in enumerate(read.list, 1)]
        more = f" … {len(listed) - SHOWN_MATCHES} more" if len(listed) > SHOWN_MATCHES else ""
        parts.append((" · ".join(listed[:SHOWN_MATCHES]) or "nothing in its range") + more)
    parts.append("first list" if read.first else changes_in_words(read))
    objects = "before any" if read.objects is None else read.objects[read.objects.rindex("@") :]
    parts.append(f"as of objects {objects}")
    if read.approximate is not UNSET:
        parts.append(f"approximate {read.approximate:g}")
    return printable("  ".join(part for part in parts if part))


def changes_in_words(record: ListRecord) -> str:
    return "" if record.changes is UNSET else " · ".join(map(_in_words, record.changes))


def _in_words(change: Leave | Enter | Move | Update) -> str:
    if isinstance(change, Leave):
        why = {"displaced": "displaced", "removed": "removed", "left": "left the range"}
        return f"{change.id} leaves {change.old + 1}, {why[change.why]}"
    if isinstance(change, Enter):
        return f"{change.id} enters at {change.to + 1}"
    if isinstance(change, Move):
        return f"{change.id} moves from {change.old + 1} to {change.to + 1}"
    return f"{change.id} is now ({change.x:g}, {change.y:g})"


def _progress(record: Received) -> str | None:
    """`zone 0  objects up to @1041  at 2025-11-18T02:13:20Z`"""
    try:
        read = progress.decode(record.value or b"")
        at = datetime.fromtimestamp(read.at // 1000, UTC)
    except (msgspec.MsgspecError, RecursionError, ValueError, OverflowError, OSError):
        return None
    objects = "no objects yet" if read.objects is None else f"objects up to @{read.objects}"
    lost = "  waits for its lists" if read.lost else ""
    return f"zone {_key(record)}  {objects}  at {at:%Y-%m-%dT%H:%M:%SZ}{lost}"


# By the last part of a topic's name, what may show its records.
_SHOWN: dict[str, tuple[Callable[[Received], str | None], ...]] = {
    "matches": (_match, _list),
    "progress": (_progress,),
}
# ... and what a null says there.
_NULLS = {"subscriptions": "unsubscribe", "objects": "removed", "matches": "unsubscribed"}


def _dead_letter(record: Received) -> str:
    def header(name: str) -> str:
        return _text(record.headers.get(name)) or "?"

    origin = f"{header(TOPIC)}[{header(PARTITION)}]@{header(OFFSET)}"
    line = printable(f"{record.place}  from {origin}  {header(ERROR)}")
    return f"{line}  {_key(record)}  {_shown_value(record)}"


def _options(record: Received) -> str:
    names = [name for name in (K, AFTER) if name in record.headers]
    return "".join(f"  {name}={printable(_text(record.headers[name]) or '')}" for name in names)


def _key(record: Received) -> str:
    return "(no key)" if record.key is None else printable(_text(record.key) or "''", SHOWN_VALUE)


def _shown_value(record: Received) -> str:
    if record.value is None:
        return _NULLS.get(record.topic.rpartition(".")[2], "(null)")
    return printable(record.value[: 4 * SHOWN_VALUE].decode(errors="replace"), SHOWN_VALUE)


def _text(content: bytes | None) -> str | None:
    return None if content is None else content.decode(errors="backslashreplace")


def _value(value: bytes | None) -> tuple[Any, str | None]:
    if value is None:
        return None, None
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return base64.b64encode(value).decode(), "base64"
    try:
        # Pretty-printed values would break the rule of one record a line.
        return msgspec.Raw(msgspec.json.format(_json.decode(value), indent=-1)), "json"
    except (msgspec.DecodeError, RecursionError):
        return text, "text"
