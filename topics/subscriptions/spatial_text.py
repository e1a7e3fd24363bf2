"""Subscriptions of kind `spatial_text`: a place, words, and what they are worth there.

{"box": [13.1, 52.3, 13.8, 52.7], "tokens": ["pizza", "vegan"], "score": 2.5}
{"area": {"circle": [13.4, 52.5, 1500]}, "phrase": "happy hour", "none": ["karaoke"],
 "decay": {"metres": 500}}

Words are compared as the collection's analyser has them, on both sides.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import msgspec
import numpy as np
from msgspec import UNSET, Meta, Struct, UnsetType

from topics.areas import (
    CIRCLE,
    SPACES,
    Area,
    areas_from_arrays,
    areas_to_arrays,
    box_area,
    parse_area,
)
from topics.codecs.json_record import BadRecord, decode
from topics.subscriptions.bounds import Interval, by_attribute, ends_of
from topics.words import Analyser

EXPECTED = 'an object such as {"box": [13.1, 52.3, 13.8, 52.7], "tokens": ["pizza"]}'
MOST_TOKENS = 1000  # in one of a subscription's lists
_WORDS_REMEMBERED = 100_000

_POSITIONS = {
    "type": "array",
    "minItems": 4,
    "items": {"type": "array", "minItems": 2, "maxItems": 3, "items": {"type": "number"}},
}
_POLYGON = {"type": "array", "minItems": 1, "items": _POSITIONS}


def _geometry(name: str, coordinates: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"type": {"enum": [name]}, "coordinates": coordinates},
        "required": ["type", "coordinates"],
        "additionalProperties": False,
    }


_CIRCLE = {
    "type": "object",
    "properties": {
        "circle": {
            "description": "[longitude, latitude, metres]",
            "type": "array",
            "minItems": 3,
            "maxItems": 3,
            "prefixItems": [{"type": "number"}] * 2 + [{"type": "number", "minimum": 0}],
            "items": False,
        }
    },
    "required": ["circle"],
    "additionalProperties": False,
}
_MULTIPOLYGON = {"type": "array", "minItems": 1, "items": _POLYGON}
_AREAS = [_CIRCLE, _geometry("Polygon", _POLYGON), _geometry("MultiPolygon", _MULTIPOLYGON)]

Box = Annotated[
    tuple[float, float, float, float],
    Meta(description="[west, south, east, north]; west > east crosses the antimeridian"),
]
Point = Annotated[tuple[float, float], Meta(description="[longitude, latitude]")]
AreaValue = Annotated[
    Any,
    Meta(
        description="a circle, or a Polygon or MultiPolygon of GeoJSON, with holes",
        extra_json_schema={"anyOf": _AREAS},
    ),
]
Tokens = Annotated[tuple[str, ...], Meta(min_length=1, max_length=MOST_TOKENS)]


class Decay(Struct, frozen=True, forbid_unknown_fields=True):
    """The score is halved with every so many metres beyond the offset."""

    metres: Annotated[float, Meta(gt=0)]
    offset: Annotated[float, Meta(ge=0)] = 0.0
    at: (
        Annotated[
            tuple[float, float],
            Meta(description="[longitude, latitude] to measure from; a circle has its centre"),
        ]
        | UnsetType
    ) = UNSET


class SpatialTextSubscription(Struct, frozen=True, forbid_unknown_fields=True):
    """Matches an event that shares a point with its area and has its words.

    Exactly one of box and area is there; tokens may be left out where there is a phrase.
    """

    box: Box | UnsetType = UNSET
    area: AreaValue | UnsetType = UNSET
    tokens: Annotated[Tokens, Meta(description="words, all of which it has")] | UnsetType = UNSET
    any: Annotated[Tokens, Meta(description="words, one of which it has")] | UnsetType = UNSET
    none: Annotated[Tokens, Meta(description="words, none of which it has")] | UnsetType = UNSET
    phrase: Annotated[str, Meta(description="words that it has in a row")] | UnsetType = UNSET
    score: float = 1.0
    decay: Decay | UnsetType = UNSET
    where: Annotated[dict[str, Interval], Meta(description="interval by attribute")] | UnsetType = (
        UNSET
    )


class Words(NamedTuple):
    """What an event's words must be, as the analyser has them, each list without repeats."""

    all: tuple[str, ...]  # those of the phrase among them
    any: tuple[str, ...]
    none: tuple[str, ...]
    phrase: tuple[str, ...]


class SpatialTextColumns(NamedTuple):
    areas: np.ndarray  # object[n]  of `Area`
    words: np.ndarray  # object[n]  of `Words`
    scores: np.ndarray  # f8[n]
    decays: np.ndarray  # f8[n, 4]  metres, offset and the place it is measured from; or NaN
    lows: np.ndarray  # f8[n, d]  NaN ends mean that an attribute is not constrained
    highs: np.ndarray  # f8[n, d]


class Row(NamedTuple):
    area: Area
    words: Words
    score: float
    decay: tuple[float, float, float, float]
    lows: list[float]
    highs: list[float]


_NO_DECAY = (np.nan, np.nan, np.nan, np.nan)


class SpatialTextContract:
    """Parses subscriptions of one collection in its space, with the words of its stemmer."""

    def __init__(
        self, attributes: Sequence[str], space: str = "sphere", stemmer: str | None = None
    ) -> None:
        self.attributes = tuple(attributes)
        self._space, self._analyser = SPACES[space], Analyser(stemmer)
        self._remembered: dict[str, str] = {}
        where = by_attribute("Where", Interval, self.attributes)
        record = msgspec.defstruct(
            "SpatialTextSubscription",
            [("where", where | UnsetType, UNSET)],
            bases=(SpatialTextSubscription,),
            frozen=True,
            forbid_unknown_fields=True,
        )
        self._decoder = msgspec.json.Decoder(record)
        self._anywhere = [np.nan] * len(self.attributes)

    def parse(self, value: bytes) -> Row:
        """One record's area, words, score, decay and intervals, or `BadRecord`."""
        record = decode(self._decoder, value, EXPECTED)
        area = self._area(record)
        words = self._words(record)
        decay = _NO_DECAY if record.decay is UNSET else self._decay(record, area)
        lows = highs = self._anywhere
        if record.where is not UNSET:
            lows, highs = ends_of(self.attributes, msgspec.structs.astuple(record.where))
        return Row(area, words, record.score, decay, lows, highs)

    def _area(self, record: SpatialTextSubscription) -> Area:
        if (record.box is UNSET) == (record.area is UNSET):
            got = "neither" if record.box is UNSET else "both"
            raise BadRecord("box", f"got {got} of box and area, expected one of them")
        if record.box is not UNSET:
            return box_area(self._space, record.box, "box")
        return parse_area(self._space, record.area, "area")

    def _words(self, record: SpatialTextSubscription) -> Words:
        all, any, none = (
            () if tokens is UNSET else self._normalised(tokens, field)
            for field, tokens in (
                ("tokens", record.tokens),
                ("any", record.any),
                ("none", record.none),
            )
        )
        if record.phrase is UNSET:
            if record.tokens is UNSET:
                raise BadRecord("tokens", "got none, and no phrase, expected at least one word")
            return Words(all, any, none, ())
        phrase = tuple(self._analyser.phrase(record.phrase, "phrase"))
        if len(phrase) > MOST_TOKENS:
            raise BadRecord("phrase", f"got {len(phrase)} words, expected at most {MOST_TOKENS}")
        return Words(tuple(dict.fromkeys(all + phrase)), any, none, phrase)

    def _normalised(self, tokens: tuple[str, ...], field: str) -> tuple[str, ...]:
        """As the analyser has them; a replay reads the same few words again and again."""
        known = self._remembered
        if len(known) > _WORDS_REMEMBERED:
            known.clear()
        words: dict[str, None] = {}
        for i, token in enumerate(tokens):
            word = known.get(token)
            if word is None:
                word = known[token] = self._analyser.one_word(token, f"{field}[{i}]")
            words[word] = None
        return tuple(words)

    def _decay(
        self, record: SpatialTextSubscription, area: Area
    ) -> tuple[float, float, float, float]:
        decay = record.decay
        assert isinstance(decay, Decay)
        if record.score < 0:
            raise BadRecord("score", f"got {record.score} with decay, expected 0 or more")
        if area.shape == CIRCLE:
            if decay.at is not UNSET:
                raise BadRecord("decay.at", "got a place for a circle, which has its centre")
            return decay.metres, decay.offset, area.place[0], area.place[1]
        if decay.at is UNSET:
            problem = "is missing, expected [longitude, latitude], as the area is no circle"
            raise BadRecord("decay.at", problem)
        return decay.metres, decay.offset, *self._space.point(decay.at, "decay.at")

    def columns_at_once(self, values: Sequence[bytes]) -> None:
        return None

    def columns(self, rows: Sequence[Row]) -> SpatialTextColumns:
        n, d = len(rows), len(self.attributes)
        return SpatialTextColumns(
            np.fromiter((row.area for row in rows), object, n),
            np.fromiter((row.words for row in rows), object, n),
            np.array([row.score for row in rows], np.float64),
            np.array([row.decay for row in rows], np.float64).reshape(n, 4),
            np.array([row.lows for row in rows], np.float64).reshape(n, d),
            np.array([row.highs for row in rows], np.float64).reshape(n, d),
        )

    def to_arrays(self, columns: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
        """Areas in columns; words in lines of JSON."""
        known = SpatialTextColumns(*columns)
        lines = msgspec.json.Encoder().encode_lines(known.words.tolist())
        areas = areas_to_arrays(known.areas.tolist())
        return {
            **{f"area_{name}": array for name, array in areas.items()},
            "words": np.frombuffer(lines, np.uint8),
            "scores": known.scores,
            "decays": known.decays,
            "lows": known.lows,
            "highs": known.highs,
        }

    def from_arrays(self, arrays: Mapping[str, np.ndarray]) -> SpatialTextColumns:
        prefix = "area_"
        of_areas = {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}
        areas, words = areas_from_arrays(of_areas), _STORED.decode_lines(arrays["words"].data)
        return SpatialTextColumns(
            np.fromiter(areas, object, len(areas)),
            np.fromiter(words, object, len(words)),
            *(arrays[name] for name in ("scores", "decays", "lows", "highs")),
        )


def reading(space: str = "sphere", stemmer: str | None = None) -> tuple[str, ...]:
    """What reads the places and words of records: another one, or version, reads other columns."""
    analyser = Analyser(stemmer)
    return (
        f"space {SPACES[space].name} {SPACES[space].version}",
        f"words {analyser.name} {analyser.version}",
    )


_STORED = msgspec.json.Decoder(Words)
