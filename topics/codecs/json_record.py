"""JSON records: decoded into structs, and what is wrong with one said so that it can be mended."""

import json
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import msgspec

from topics.limits import PARSED_BYTES

# How deep the search for a NaN goes into a document that is not JSON.
_DIAGNOSED_DEPTH = 16

_PATH = re.compile(r" - at `\$\.?(?P<path>.*)`$", re.DOTALL)
_UNKNOWN = re.compile(r"^Object contains unknown field `(?P<name>.*)`$", re.DOTALL)
_MISSING = re.compile(r"^Object missing required field `(?P<name>.*)`$", re.DOTALL)


class BadRecord(ValueError):
    """A record that breaks its topic's contract: `field` is where, the text is why."""

    def __init__(self, field: str, problem: str) -> None:
        self.field = _shortened(field)
        super().__init__(f"{self.field}: {_shortened(problem)}")


def _shortened(text: str, most: int = 300) -> str:
    """The names in a record are its author's; they may be as long as the record."""
    return text if len(text) <= most else f"{text[:most]}…"


def refuse_oversized(
    key: bytes | None,
    value: bytes | None,
    headers: Sequence[tuple[str, bytes | None]] = (),
) -> None:
    size = len(key or b"") + len(value or b"")
    if size > PARSED_BYTES:
        raise BadRecord(
            "value", f"got {size} bytes, expected at most {PARSED_BYTES} for key and value"
        )
    of_headers = sum(len(name) + len(given or b"") for name, given in headers)
    if of_headers > PARSED_BYTES:
        raise BadRecord("headers", f"got {of_headers} bytes, expected at most {PARSED_BYTES}")


def decode(decoder: msgspec.json.Decoder, value: bytes | None, expected: str) -> Any:
    """Decode a JSON value, or raise `BadRecord` naming the field and what was expected."""
    if value is None:
        raise BadRecord("value", f"got null, expected {expected}")
    try:
        return decoder.decode(value)
    except msgspec.ValidationError as error:
        _raise_for_wrong_shape(str(error))
    except msgspec.DecodeError as error:
        _raise_for_malformed(value, str(error), expected)
    except UnicodeDecodeError as error:
        raise BadRecord(
            "value", f"got text that is not UTF-8 ({error}), expected {expected}"
        ) from None
    except RecursionError:
        raise BadRecord("value", f"got a document nested too deeply, expected {expected}") from None


def _raise_for_wrong_shape(text: str) -> NoReturn:
    at = _PATH.search(text)
    path = at["path"] if at else ""
    problem = text[: at.start()] if at else text
    for pattern, verdict in (
        (_UNKNOWN, "got a field that the contract does not know; remove it"),
        (_MISSING, "is missing, expected a value"),
    ):
        if named := pattern.match(problem):
            raise BadRecord(f"{path}.{named['name']}".lstrip("."), verdict) from None
    if problem == "Number out of range":
        problem = "got a number beyond the range of a float64, expected a finite number"
    problem = problem[:1].lower() + problem[1:].replace("`", "")
    if "got" not in problem:
        problem = f"got something else, {problem}"
    raise BadRecord(path or "value", problem) from None


def _raise_for_malformed(value: bytes, text: str, expected: str) -> NoReturn:
    """Name the field when the only fault is a NaN or Infinity, which JSON does not have."""
    try:
        document = json.loads(value)
    except (ValueError, RecursionError):
        raise BadRecord(
            "value", f"got bytes that are not JSON ({text}), expected {expected}"
        ) from None
    for path, number in _numbers(document, "", _DIAGNOSED_DEPTH):
        if not math.isfinite(number):
            raise BadRecord(path or "value", f"got {number}, expected a finite number") from None
    raise BadRecord("value", f"{text}, expected {expected}") from None


def _numbers(node: Any, path: str, depth: int) -> Iterator[tuple[str, float]]:
    if isinstance(node, float):
        yield path, node
    elif isinstance(node, dict) and depth:
        for name, child in node.items():
            yield from _numbers(child, f"{path}.{name}".lstrip("."), depth - 1)
    elif isinstance(node, list) and depth:
        for i, child in enumerate(node):
            yield from _numbers(child, f"{path}[{i}]", depth - 1)


def struct_of(
    title: str, attributes: Sequence[str], type_of_field: Any, absent: Any, **options: Any
) -> type[msgspec.Struct]:
    """A struct with a field for each attribute, in their order; `absent` where one is not given.

    An attribute may have any name, so the fields have names of their own.
    """
    fields = [f"a{i}" for i in range(len(attributes))]
    return msgspec.defstruct(
        title,
        [(field, type_of_field, absent) for field in fields],
        rename=dict(zip(fields, attributes, strict=True)),
        **options,
    )
