"""JSON lines of a file as records: which topic, which key, which value.

{"id": "ad-7", "where": {…}, "score": 7.5}    a subscription: the id is the key, the rest the value
{"id": "ad-7"}                                an unsubscription: null value
{"age": 28, "visits": 5}                      an event, as it is

Where a collection has objects instead of events:

{"id": "watch-7", "range": [10, 50]}          a subscription
{"id": "p-12", "x": 31, "y": 0.4}             an object: the id is the key, the rest the value
{"id": "p-12"}                                either's end, so `to` has to say which
"""

import gzip
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec

from podium.terminal import Exit, Failure
from topics.limits import RECORD_BYTES

LONGEST_LINE = RECORD_BYTES
SKIPPED_AT_ONCE = 64 * 1024

_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])


class BadLine(ValueError):
    """A line that cannot be sent; the message says why."""


class Line(NamedTuple):
    number: int  # from 1
    text: bytes | None  # None: longer than `LONGEST_LINE`


class Record(NamedTuple):
    topic: str
    key: bytes | None
    value: bytes | None


class Source(NamedTuple):
    stream: BinaryIO
    raw: BinaryIO  # what `stream` reads from, to know how far it is
    size: int | None


@contextmanager
def open_source(name: str) -> Iterator[Source]:
    """The lines of the file `name`, unpacked if it ends in .gz; `-` is stdin."""
    if name == "-":
        yield Source(sys.stdin.buffer, sys.stdin.buffer, None)
        return
    path = Path(name)
    try:
        raw = path.open("rb")
    except OSError as error:
        raise Failure(f"{name}: {error.strerror}", "", Exit.USAGE) from error
    with raw:
        size = path.stat().st_size if path.is_file() else None
        if path.suffix == ".gz":
            with gzip.GzipFile(fileobj=raw) as unpacked:
                yield Source(unpacked, raw, size)  # type: ignore[arg-type]
        else:
            yield Source(raw, raw, size)


def read_lines(stream: BinaryIO) -> Iterator[Line]:
    """The lines that are not blank, in constant memory also where a line never ends."""
    number = 0
    while text := stream.readline(LONGEST_LINE + 1):
        number += 1
        if len(text) > LONGEST_LINE and not text.endswith(b"\n"):
            while (rest := stream.readline(SKIPPED_AT_ONCE)) and not rest.endswith(b"\n"):
                pass
            yield Line(number, None)
            continue
        text = text.removeprefix(b"\xef\xbb\xbf").strip() if number == 1 else text.strip()
        if text:
            yield Line(number, text)


def record_of(
    text: bytes | None, to: str = "auto", key_field: str | None = None, input: str = "events"
) -> Record:
    """The record that a line stands for; `BadLine` if it stands for none.

    `to` is `auto`, for the rules above, or the topic of all lines alike; `input` is the topic that
    the collection has beside `subscriptions`.
    """
    if text is None:
        raise BadLine(f"got a line of more than {LONGEST_LINE:,} bytes, expected less")
    fields = _decoded(text)
    if to in ("subscriptions", "objects") and "id" not in fields:
        raise BadLine(f"got no `id`, expected one, because of --to {to}")
    if to == "auto":
        to = _object_or_subscription(fields) if input == "objects" else _event_or_not(fields)
    if to == "events":
        return Record("events", _event_key(fields, key_field), text)
    key = _id_key(fields.pop("id"))
    return Record(to, key, msgspec.json.encode(fields) if fields else None)


def _event_or_not(fields: dict[str, msgspec.Raw]) -> str:
    return "subscriptions" if "id" in fields else "events"


def _object_or_subscription(fields: dict[str, msgspec.Raw]) -> str:
    if "id" not in fields:
        raise BadLine("got no `id`, expected one: the key of an object or of a subscription")
    is_object, is_subscription = bool({"x", "y"} & fields.keys()), "range" in fields
    if is_object == is_subscription:
        got = "both" if is_object else "neither"
        choose = "say --to objects or --to subscriptions"
        raise BadLine(f"got {got} of a `range` and of `x` and `y`, expected one: {choose}")
    return "objects" if is_object else "subscriptions"


def _decoded(text: bytes) -> dict[str, msgspec.Raw]:
    try:
        text.decode()
        return _fields.decode(text)
    except UnicodeDecodeError as error:
        raise BadLine(f"byte {error.start + 1} is not UTF-8") from None
    except msgspec.ValidationError as error:
        raise BadLine(f"{str(error).lower()}") from None
    except msgspec.DecodeError as error:
        raise BadLine(f"not JSON: {error}") from None
    except RecursionError:
        raise BadLine("nested too deeply") from None


def _id_key(raw: msgspec.Raw) -> bytes:
    key = _text(raw)
    if not key:
        raise BadLine(f"got id {bytes(raw).decode()[:60]}, expected text or a whole number")
    return key


def _event_key(fields: dict[str, msgspec.Raw], key_field: str | None) -> bytes | None:
    if key_field is None:
        return None
    if key_field not in fields:
        raise BadLine(f"got no `{key_field}`, expected one, because of --key {key_field}")
    key = _text(fields[key_field])
    if not key:
        got = bytes(fields[key_field]).decode()[:60]
        raise BadLine(f"got {key_field} {got} as key, expected text or a whole number")
    return key


def _text(raw: msgspec.Raw) -> bytes | None:
    """A JSON string's text, or a whole number's digits; `None` for anything else."""
    try:
        return str(msgspec.json.decode(raw, type=str | int, strict=True)).encode()
    except msgspec.DecodeError:
        return None
