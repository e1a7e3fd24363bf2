"""Kafka records as text: one line for people, one JSON object for programs."""

import base64
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from podium.terminal import printable
from topics.headers import AFTER, AS_OF, ERROR, OFFSET, PARTITION, TOPIC, K

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
    if record.topic.endswith(".matches") and (line := _match(record)):
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
        return "unsubscribe" if record.topic.endswith(".subscriptions") else "(null)"
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
