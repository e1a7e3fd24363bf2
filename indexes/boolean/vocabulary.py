"""Names as numbers: a column for each attribute and type, a code for each string of a column.

An attribute that is compared with numbers and with strings has two columns, and an event fills
the one of its value's type.  So a number predicate on a string is a predicate on what the event
lacks: false, whatever the operator.
"""

import itertools
import sys
from collections.abc import Iterable
from typing import Any

UNKNOWN = -1.0  # the code of a string that no subscription names; equal to none of them
_STAMPS = itertools.count(1)


class Vocabulary:
    def __init__(self) -> None:
        self.stamp = next(_STAMPS)  # tells it from every other of this process
        self.numbers: dict[str, int] = {}  # attribute -> column
        self.texts: dict[str, int] = {}
        self.names: list[str] = []  # column -> attribute
        self.codes: list[dict[str, int] | None] = []  # column -> its strings; None for numbers

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A copy goes its own way, and so does one that comes from another process."""
        self.__dict__.update(state, stamp=next(_STAMPS))

    def __len__(self) -> int:
        return len(self.names)

    @property
    def size(self) -> tuple[int, int]:
        """Grows whenever something is learnt: how many columns, and how many strings."""
        return len(self.names), sum(len(codes) for codes in self.codes if codes)

    @property
    def nbytes(self) -> int:
        parts: list[object] = [self.numbers, self.texts, self.names, self.codes, *self.names]
        for codes in self.codes:
            parts += [codes, *codes] if codes is not None else []
        return sum(sys.getsizeof(part) for part in parts)

    def column(self, attribute: str, is_text: bool) -> int:
        columns = self.texts if is_text else self.numbers
        column = columns.get(attribute)
        if column is None:
            column = columns[attribute] = len(self.names)
            self.names.append(attribute)
            self.codes.append({} if is_text else None)
        return column

    def new_columns(self, wanted: Iterable[tuple[str, bool]]) -> int:
        """How many columns would have to be added."""
        return sum(
            attribute not in (self.texts if is_text else self.numbers)
            for attribute, is_text in set(wanted)
        )

    def code(self, column: int, string: str) -> int:
        codes = self.codes[column]
        assert codes is not None
        return codes.setdefault(string, len(codes))

    def strings(self, column: int) -> list[str] | None:
        """The strings of a column in the order of their codes; None for a column of numbers."""
        codes = self.codes[column]
        return None if codes is None else list(codes)
