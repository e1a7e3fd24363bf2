"""Events of places and words, in columns: what kind `spatial_text` is matched with.

{"point": [13.4, 52.5], "text": "Happy hour: vegan pizza for two", "price": 9}

Packed, behind the header that `topics.codecs.columns` describes:

    PODW | version | events u64, attributes u64, words u64, vocabulary u64, text bytes u64
    starts i64[m + 1] | boxes f64[m, 4] | values f64[m, d] | sequence i32[w]
    word lengths i32[v] | texts
"""

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import msgspec
import numpy as np
from msgspec import UNSET, Meta, UnsetType

from topics.areas import SPACES
from topics.codecs.byte_strings import ByteStrings
from topics.codecs.columns import CodecError, RecordLayout, check_lengths
from topics.codecs.json_record import BadRecord, decode
from topics.events.numbers import AttributeValue, Weighted
from topics.words import MOST_WORDS, Analyser

EXPECTED = 'an object such as {"point": [13.4, 52.5], "text": "vegan pizza"}'
FIELDS = ("point", "box", "tokens", "text")  # which no attribute is called

_LAYOUT = RecordLayout(
    b"PODW",
    1,
    [
        ("events", "Q"),
        ("attributes", "Q"),
        ("words", "Q"),
        ("vocabulary", "Q"),
        ("text_bytes", "Q"),
    ],
    [
        ("starts", "<i8", lambda header: header.events + 1),
        ("boxes", "<f8", lambda header: 4 * header.events),
        ("values", "<f8", lambda header: header.attributes * header.events),
        ("sequence", "<i4", "words"),
        ("word_lengths", "<i4", "vocabulary"),
        ("texts", "u1", "text_bytes"),
    ],
)
_EVENT_BYTES, _WORD_BYTES = 40, 8  # of an event, and of a word that is nowhere else

Box = Annotated[
    tuple[float, float, float, float],
    Meta(description="[west, south, east, north]; west > east crosses the antimeridian"),
]


class PlaceAndWords(msgspec.Struct, frozen=True):
    """Where something is and what is said of it, beside the attributes of the collection.

    Exactly one of point and box is there, and exactly one of tokens and text.
    """

    point: Annotated[tuple[float, float], Meta(description="[longitude, latitude]")] | UnsetType = (
        UNSET
    )
    box: Box | UnsetType = UNSET
    tokens: Annotated[tuple[str, ...], Meta(max_length=MOST_WORDS)] | UnsetType = UNSET
    text: Annotated[str, Meta(description="at most 10,000 words, 1 MB")] | UnsetType = UNSET


class Row(NamedTuple):
    box: tuple[float, float, float, float]  # west, south, east, north
    words: list[str]  # in order, as the analyser has them
    values: tuple[float, ...]  # of the attributes, NaN or None where absent


class PlacedColumns(NamedTuple):
    """The words of event i, in order, are those of sequence[starts[i] : starts[i + 1]]."""

    starts: np.ndarray  # i8[m + 1]
    boxes: np.ndarray  # f8[m, 4]  on the sphere west > east crosses the antimeridian
    values: np.ndarray  # f8[m, d]
    sequence: np.ndarray  # i4[w]  positions in `vocabulary`
    vocabulary: list[str]  # each word once

    def __len__(self) -> int:  # events, as of a matrix of numbers
        return len(self.boxes)


class PlacedEvents:
    """Decodes the events of one collection."""

    def __init__(
        self, attributes: Sequence[str], space: str = "sphere", stemmer: str | None = None
    ) -> None:
        self.attributes = tuple(attributes)
        self._space, self._analyser = SPACES[space], Analyser(stemmer)
        names = [f"a{i}" for i in range(len(self.attributes))]
        event = msgspec.defstruct(
            "Event",
            [(name, AttributeValue, np.nan) for name in names],
            bases=(PlaceAndWords,),
            frozen=True,
            rename=dict(zip(names, self.attributes, strict=True)),
        )
        self._decoder = msgspec.json.Decoder(event)

    def row(self, value: bytes | None) -> Row:
        event = decode(self._decoder, value, EXPECTED)
        given = msgspec.structs.astuple(event)[len(FIELDS) :]
        values = tuple(v.value if isinstance(v, Weighted) else v for v in given)
        return Row(self._box(event), self._words(event), values)

    def _box(self, event: PlaceAndWords) -> tuple[float, float, float, float]:
        if (event.point is UNSET) == (event.box is UNSET):
            got = "neither" if event.point is UNSET else "both"
            raise BadRecord("point", f"got {got} of point and box, expected one of them")
        if event.box is not UNSET:
            return self._space.box(event.box, "box")
        x, y = self._space.point(event.point, "point")
        return x, y, x, y

    def _words(self, event: PlaceAndWords) -> list[str]:
        if (event.text is UNSET) == (event.tokens is UNSET):
            got = "neither" if event.text is UNSET else "both"
            raise BadRecord("text", f"got {got} of tokens and text, expected one of them")
        if event.tokens is not UNSET:
            return self._analyser.words_of_tokens(event.tokens, "tokens")
        assert event.text is not UNSET
        return self._analyser.words_of_text(event.text, "text")

    def columns(self, rows: Sequence[Row]) -> PlacedColumns:
        places: dict[str, int] = {}
        sequence = [places.setdefault(word, len(places)) for row in rows for word in row.words]
        starts = np.zeros(len(rows) + 1, np.int64)
        np.cumsum([len(row.words) for row in rows], out=starts[1:])
        return PlacedColumns(
            starts,
            np.array([row.box for row in rows], np.float64).reshape(len(rows), 4),
            np.array([row.values for row in rows], np.float64).reshape(
                len(rows), len(self.attributes)
            ),
            np.array(sequence, np.int32),
            list(places),
        )

    def chosen(
        self, columns: PlacedColumns, rows: Sequence[Row], wanted: np.ndarray
    ) -> PlacedColumns:
        # Anew, without the words of the others.
        return self.columns([rows[row] for row in wanted.tolist()])

    def numbers(self, columns: PlacedColumns) -> np.ndarray:
        """f8[m, 4 + d]: west, east, south, north, then the attributes.

        On the sphere a box that touches the antimeridian or a pole, where one place has several
        longitudes, counts as a band around the world.
        """
        west, south, east, north = columns.boxes.T.copy()
        if self._space.is_sphere:
            band = (west > east) | (west == -180.0) | (east == 180.0)
            band |= (south == -90.0) | (north == 90.0)
            west[band], east[band] = -180.0, 180.0
        return np.column_stack((west, east, south, north, columns.values))

    def packed_bytes(self, row: Row) -> int:
        """How much room an event takes in a frame, at most."""
        distinct = set(row.words)
        size = _EVENT_BYTES + 8 * len(row.values) + 4 * len(row.words) + _WORD_BYTES * len(distinct)
        return size + len("".join(distinct).encode())

    def pack(self, columns: PlacedColumns) -> np.ndarray:
        return np.frombuffer(encode(columns), np.uint8)

    def unpack(self, payload: np.ndarray) -> PlacedColumns:
        return decode_columns(payload.data)


def encode(events: PlacedColumns) -> bytes:
    texts = ByteStrings.pack([word.encode() for word in events.vocabulary])
    return _LAYOUT.write(
        events=len(events),
        attributes=events.values.shape[1],
        words=len(events.sequence),
        vocabulary=len(events.vocabulary),
        text_bytes=texts.data.size,
        starts=events.starts,
        boxes=events.boxes,
        values=events.values,
        sequence=events.sequence,
        word_lengths=texts.lengths,
        texts=texts.data,
    )


def decode_columns(data: bytes | memoryview) -> PlacedColumns:
    """`CodecError` also for what compiled code would follow beyond the ends of a column."""
    read = _LAYOUT.read(data)
    check_lengths("words", read.word_lengths, read.text_bytes)
    starts, sequence = read.starts, read.sequence
    if starts[0] != 0 or starts[-1] != read.words or (np.diff(starts) < 0).any():
        raise CodecError(f"got words of events that are not those of {read.words} in order")
    if read.words and not (sequence.min() >= 0 and sequence.max() < read.vocabulary):
        raise CodecError(f"got a word beyond the vocabulary of {read.vocabulary}")
    try:
        texts = ByteStrings(read.word_lengths, read.texts).unpack()
        vocabulary = [(text or b"").decode() for text in texts]
    except UnicodeDecodeError as error:
        raise CodecError(f"got a word that is not UTF-8 ({error})") from None
    shape = (read.events, read.attributes)
    return PlacedColumns(
        starts, read.boxes.reshape(-1, 4), read.values.reshape(shape), sequence, vocabulary
    )
