"""Intervals in the JSON of a subscription, and as closed float64 ends."""

import math
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from topics.codecs.json_record import BadRecord, struct_of


class Bounds(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An interval by its ends, all of which hold."""

    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None


Interval = (
    Annotated[
        tuple[float | None, float | None],
        Meta(description="[low, high], both included; null is no end"),
    ]
    | Bounds
)


def by_attribute(title: str, type_of_field: Any, attributes: Sequence[str]) -> type[Struct]:
    """A struct with an optional field for each attribute, in their order, and no other."""
    optional = type_of_field | UnsetType
    return struct_of(title, attributes, optional, UNSET, forbid_unknown_fields=True)


def ends_of(attributes: Sequence[str], intervals: Sequence[Any]) -> tuple[list[float], list[float]]:
    """Closed ends, attribute by attribute; NaN where one is not constrained.

    An open end moves to the next float64 inside, a missing one to infinity.
    """
    lows: list[float] = []
    highs: list[float] = []
    for interval in intervals:
        if type(interval) is tuple:  # the usual case, without a call: a replay reads millions
            low = -math.inf if interval[0] is None else interval[0]
            high = math.inf if interval[1] is None else interval[1]
        elif interval is UNSET:
            low = high = math.nan
        else:
            low, high = _closed(interval)
        if low > high:
            got = msgspec.json.encode(interval).decode()
            raise BadRecord(f"where.{attributes[len(lows)]}", f"got {got}, expected low <= high")
        lows.append(low)
        highs.append(high)
    return lows, highs


def _closed(bounds: Bounds) -> tuple[float, float]:
    low = -math.inf if bounds.ge is None else bounds.ge
    high = math.inf if bounds.le is None else bounds.le
    if bounds.gt is not None:
        low = max(low, math.nextafter(bounds.gt, math.inf))
    if bounds.lt is not None:
        high = min(high, math.nextafter(bounds.lt, -math.inf))
    return low, high
