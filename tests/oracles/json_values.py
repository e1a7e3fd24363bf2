"""JSON as records may have it: finite numbers, nothing that the standard does not know."""

import json
from typing import Any, NoReturn


def json_of(value: bytes) -> Any:
    try:
        return json.loads(value.decode(), parse_constant=refuse_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def number(value: Any, field: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{field}: got {value!r} when a number was expected")
    if not abs(value) <= 1.7976931348623157e308:
        raise ValueError(f"{field}: got {value!r} when a finite float64 was expected")
    return float(value)


def refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
