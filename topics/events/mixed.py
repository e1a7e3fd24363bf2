"""Events of numbers and strings with weights, in columns: what kind `boolean` is matched with.

Packed, behind the header that `topics.codecs.columns` describes:

    PODE | version | events u64, entries u64, names u64, strings u64, name bytes u64, text bytes u64
    starts i64[m + 1] | values f64[e] | weights f64[e] | columns i32[e] | name lengths i32[n]
    string columns i32[s] | string lengths i32[s] | of strings u8[n] | names | strings
"""

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta, Struct

from topics.codecs.byte_strings import ByteStrings
from topics.codecs.columns import CodecError, RecordLayout
from topics.codecs.json_record import BadRecord, decode, struct_of
from topics.subscriptions.boolean import MAX_NAME_CHARACTERS, MAX_WEIGHT

EXPECTED = 'an object of attributes such as {"state": "NY", "pay": 28}'
_LAYOUT = RecordLayout(
    b"PODE",
    1,
    [
        ("events", "Q"),
        ("entries", "Q"),
        ("names", "Q"),
        ("strings", "Q"),
        ("name_bytes", "Q"),
        ("text_bytes", "Q"),
    ],
    [
        ("starts", "<i8", lambda header: header.events + 1),
        ("values", "<f8", "entries"),
        ("weights", "<f8", "entries"),
        ("columns", "<i4", "entries"),
        ("name_lengths", "<i4", "names"),
        ("string_columns", "<i4", "strings"),
        ("string_lengths", "<i4", "strings"),
        ("are_strings", "u1", "names"),
        ("name_texts", "u1", "name_bytes"),
        ("string_texts", "u1", "text_bytes"),
    ],
)
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


class MixedEvents:
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

    def chosen(
        self, columns: MixedColumns, rows: Sequence[Row], wanted: np.ndarray
    ) -> MixedColumns:
        # Anew, without the names and strings of the others.
        return MixedColumns.of([rows[row] for row in wanted.tolist()])

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

    def pack(self, columns: MixedColumns) -> np.ndarray:
        return np.frombuffer(encode(columns), np.uint8)

    def unpack(self, payload: np.ndarray) -> MixedColumns:
        return decode_columns(payload.data)


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
    names = ByteStrings.pack([name.encode() for name, _ in events.names])
    strings = ByteStrings.pack([string.encode() for _, string in events.strings])
    return _LAYOUT.write(
        events=len(events),
        entries=len(events.values),
        names=len(events.names),
        strings=len(events.strings),
        name_bytes=names.data.size,
        text_bytes=strings.data.size,
        starts=events.starts,
        values=events.values,
        weights=events.weights,
        columns=events.columns,
        name_lengths=names.lengths,
        string_columns=np.array([column for column, _ in events.strings], np.int32),
        string_lengths=strings.lengths,
        are_strings=np.array([is_text for _, is_text in events.names], np.uint8),
        name_texts=names.data,
        string_texts=strings.data,
    )


def decode_columns(data: bytes | memoryview) -> MixedColumns:
    read = _LAYOUT.read(data)
    names = _texts(read.name_lengths, read.name_texts)
    strings = _texts(read.string_lengths, read.string_texts)
    return MixedColumns(
        read.starts,
        read.values,
        read.weights,
        read.columns,
        list(zip(names, read.are_strings.astype(bool).tolist(), strict=True)),
        list(zip(read.string_columns.tolist(), strings, strict=True)),
    )


def _texts(lengths: np.ndarray, data: np.ndarray) -> list[str]:
    try:
        return [text.decode() for text in ByteStrings(lengths, data).unpack() if text is not None]
    except UnicodeDecodeError as error:
        raise CodecError(f"got a name or a string that is not UTF-8 ({error})") from None
