"""Events of numbers and strings with weights, in columns: what kind `boolean` is matched with.

Packed, behind the header that `topics.codecs.columns` describes:

    PODE | version | events u64, entries u64, names u64, strings u64, name bytes u64, text bytes u64
    starts i64[m + 1] | values f64[e] | weights f64[e] | columns i32[e] | name lengths i32[n]
    string columns i32[s] | string lengths i32[s] | of strings u8[n] | names | strings
"""

import struct
from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta, Struct

from topics.codecs.attribute_struct import struct_of
from topics.codecs.byte_strings import Keys
from topics.codecs.columns import PREAMBLE, columns_at, join, open_header
from topics.codecs.json_record import BadRecord, decode
from topics.subscriptions.boolean import MAX_NAME_CHARACTERS, MAX_WEIGHT

MAGIC, VERSION = b"PODE", 1
EXPECTED = 'an object of attributes such as {"state": "NY", "pay": 28}'
_HEADER = struct.Struct("<QQQQQQ")
# Of a value and its weight, of its attribute's name and of its string, if these are nowhere else.
_ENTRY_BYTES = 20
_NAME_BYTES = 5
_STRING_BYTES = 8


class WeightedValue(Struct, frozen=True, forbid_unknown_fields=True):
    """A number or a string with the weight that multiplies what its predicates add to a score."""

    value: float | str
    weight: Annotated[float, Meta(ge=0, le=MAX_WEIGHT)] = 1.0


MixedValue = float | str | WeightedValue | None
"""A number, a string, either with a weight, or null, which is the same as absent."""

Row = list[tuple[str, float | str, float]]
"""Attribute, value and weight, for what the event has."""


class MixedColumns(NamedTuple):
    """Event i has the entries starts[i] to starts[i + 1]."""

    starts: np.ndarray  # i8[m + 1]
    values: np.ndarray  # f8[e]  a number, or the position of a string in `strings`
    weights: np.ndarray  # f8[e]
    columns: np.ndarray  # i4[e]  a position in `names`
    names: list[tuple[str, bool]]  # an attribute, and whether these values of it are strings
    strings: list[tuple[int, str]]  # a position in `names`, and one of its strings

    def __len__(self) -> int:  # events, as of a matrix of numbers
        return len(self.starts) - 1

    @classmethod
    def of(cls, rows: Sequence[Row]) -> "MixedColumns":
        names: dict[tuple[str, bool], int] = {}
        strings: dict[tuple[int, str], int] = {}
        columns: list[int] = []
        values: list[float] = []
        weights: list[float] = []
        starts = [0]
        for row in rows:
            for name, value, weight in row:
                is_text = type(value) is str
                column = names.setdefault((name, is_text), len(names))
                if is_text:
                    value = strings.setdefault((column, value), len(strings))  # type: ignore[arg-type]
                columns.append(column)
                values.append(value)  # type: ignore[arg-type]
                weights.append(weight)
            starts.append(len(columns))
        return cls(
            np.array(starts, np.int64),
            np.array(values, np.float64),
            np.array(weights, np.float64),
            np.array(columns, np.int32),
            list(names),
            list(strings),
        )


class MixedRows:
    """Decodes the events of one collection; without attributes every field counts."""

    def __init__(self, attributes: Sequence[str]) -> None:
        self.attributes = tuple(attributes)
        event: Any = dict[str, Any]
        if self.attributes:
            event = struct_of("Event", self.attributes, MixedValue, None)
        self._decoder = msgspec.json.Decoder(event)

    def row(self, value: bytes | None) -> Row:
        event = decode(self._decoder, value, EXPECTED)
        if not self.attributes:
            return [
                (name, *known) for name, given in event.items() if (known := _known(name, given))
            ]
        given = zip(self.attributes, msgspec.structs.astuple(event), strict=True)
        return [
            (name, value.value, value.weight)
            if isinstance(value, WeightedValue)
            else (name, value, 1.0)
            for name, value in given
            if value is not None
        ]

    def columns(self, rows: Sequence[Row]) -> MixedColumns:
        return MixedColumns.of(rows)

    def numbers(self, columns: MixedColumns) -> np.ndarray:
        """f8[m, d] of the attributes in order, NaN where an event has a string or nothing."""
        place_of = {name: place for place, name in enumerate(self.attributes)}
        places = [-1 if text else place_of.get(name, -1) for name, text in columns.names]
        numbers = np.full((len(columns), len(self.attributes)), np.nan)
        place = np.array(places, np.int64)[columns.columns] if places else columns.columns
        event = np.repeat(np.arange(len(columns)), np.diff(columns.starts))
        known = place >= 0
        numbers[event[known], place[known]] = columns.values[known]
        return numbers

    def packed_bytes(self, row: Row) -> int:
        """How much room an event takes in a frame, at most."""
        strings = [value for _, value, _ in row if type(value) is str]
        size = (_ENTRY_BYTES + _NAME_BYTES) * len(row) + _STRING_BYTES * len(strings)
        if not self.attributes:  # otherwise there are few of them, in all events together
            size += len("".join(name for name, _, _ in row).encode())
        return size + len("".join(strings).encode())


def _known(name: str, given: Any) -> tuple[float | str, float] | None:
    """Value and weight of a field that nobody has named; None if it is of no use here."""
    if len(name) > MAX_NAME_CHARACTERS:  # no subscription can ask for it
        return None
    if type(given) is str:
        return given, 1.0
    try:
        if type(given) is dict:
            weighted = msgspec.convert(given, WeightedValue)
            return weighted.value, weighted.weight
        if type(given) is int or type(given) is float:
            return float(given), 1.0
    except OverflowError:
        raise BadRecord(name, "got a number beyond the range of a float64") from None
    except msgspec.ValidationError:
        return None
    return None


def encode(events: MixedColumns) -> bytes:
    names = Keys.pack([name.encode() for name, _ in events.names])
    strings = Keys.pack([string.encode() for _, string in events.strings])
    header = _HEADER.pack(
        len(events),
        len(events.values),
        len(events.names),
        len(events.strings),
        names.data.size,
        strings.data.size,
    )
    columns = [
        events.starts,
        events.values,
        events.weights,
        events.columns,
        names.lengths,
        np.array([column for column, _ in events.strings], np.int32),
        strings.lengths,
        np.array([is_text for _, is_text in events.names], np.uint8),
        names.data,
        strings.data,
    ]
    return join(MAGIC, VERSION, header, columns)


def decode_columns(data: bytes | memoryview) -> MixedColumns:
    events, entries, names, strings, name_bytes, text_bytes = open_header(
        data, MAGIC, VERSION, _HEADER
    )
    starts, values, weights, columns, name_lengths, owners, lengths, of_strings, named, texts = (
        columns_at(
            data,
            PREAMBLE.size + _HEADER.size,
            [
                ("<i8", events + 1),
                ("<f8", entries),
                ("<f8", entries),
                ("<i4", entries),
                ("<i4", names),
                ("<i4", strings),
                ("<i4", strings),
                ("u1", names),
                ("u1", name_bytes),
                ("u1", text_bytes),
            ],
        )
    )
    return MixedColumns(
        starts,
        values,
        weights,
        columns,
        list(zip(_texts(name_lengths, named), of_strings.astype(bool).tolist(), strict=True)),
        list(zip(owners.tolist(), _texts(lengths, texts), strict=True)),
    )


def _texts(lengths: np.ndarray, data: np.ndarray) -> list[str]:
    return [text.decode() for text in Keys(lengths, data).unpack() if text is not None]
