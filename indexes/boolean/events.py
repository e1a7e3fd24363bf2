"""Events as flat arrays: encoded once, then matched by one compiled call a batch."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from indexes.boolean.predicates import as_number, as_weight
from indexes.boolean.vocabulary import UNKNOWN, Vocabulary

__all__ = ["EncodedEvents", "encode_events"]

Event = Mapping[str, Any]
UNSTAMPED = 0  # whoever numbers columns without a vocabulary answers for them


class EncodedEvents(NamedTuple):
    """Event i has the entries starts[i] to starts[i + 1]; attributes nobody asks for are left out.

    They are encoded for one index as it is: after new attributes or strings, encode again.
    """

    starts: np.ndarray  # i8[m + 1]
    columns: np.ndarray  # i4[entries]
    values: np.ndarray  # f8[entries]  a number, or the code of a string
    weights: np.ndarray  # f8[entries]
    size: tuple[int, int]  # of the vocabulary
    stamp: int = UNSTAMPED  # of the vocabulary


def encode_events(events: Sequence[Event], vocabulary: Vocabulary) -> EncodedEvents:
    columns: list[int] = []
    values: list[float] = []
    weights: list[float] = []
    starts = [0]
    numbers, texts = vocabulary.numbers, vocabulary.texts
    for event in events:
        if not isinstance(event, Mapping):
            raise ValueError(f"event: got {event!r} when a mapping of attributes was expected")
        for name, given in event.items():
            value, weight = given, 1.0
            if isinstance(given, tuple | list):
                value, weight = _weighted(name, given)
            if isinstance(value, str):
                column = texts.get(name, -1)
                if column >= 0:
                    number = float(vocabulary.codes[column].get(value, UNKNOWN))  # type: ignore[union-attr]
            else:
                number = as_number(value, f"event[{name!r}]")
                column = numbers.get(name, -1)
            if column >= 0:
                columns.append(column)
                values.append(number)
                weights.append(weight)
        starts.append(len(columns))
    return EncodedEvents(
        np.array(starts, np.int64),
        np.array(columns, np.int32),
        np.array(values, np.float64),
        np.array(weights, np.float64),
        vocabulary.size,
        vocabulary.stamp,
    )


def _weighted(name: str, given: Sequence[Any]) -> tuple[Any, float]:
    if len(given) != 2:
        raise ValueError(f"event[{name!r}]: got {given!r} when (value, weight) was expected")
    return given[0], as_weight(given[1], f"event[{name!r}]: weight")
