"""Places and words the slow way: the definition that the suites compare with.

Nothing of ours is imported here.  Boxes and polygons are compared in exact fractions; distances on
the sphere are haversines; words are what `uniseg` finds.  Every answer is a filter over everything
that is live and a sort; a hit is the pair `(id, score)`.  `Placed` is for the indexes, whose
subscriptions are a box and tokens; records say more, and `subscription_of`, `message_of` and
`score_of` read them.
"""

import functools
import itertools
import math
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import shapely
import Stemmer
from uniseg.wordbreak import words as uax29_segments

from tests.oracles.intervals import all_hold, best_first, event_values, interval
from tests.oracles.json_values import json_of, number

SPHERE_RADIUS_M = 6_371_008.8
TURN = Fraction(360)

FloatBox = tuple[float, float, float, float]
Position = tuple[Fraction, Fraction]
Ring = list[Position]


class Placed:
    """Boxes and tokens; a message matches where the boxes meet and it has all the tokens.

    >>> placed = Placed()
    >>> placed.insert(4, (20, 10, 28, 18), ["b", "c", "d"])
    >>> placed.insert(3, (20, 32, 35, 35), ["b", "c", "d"], 2.0)
    >>> placed.insert(1, (25, 0, 30, 20), ["a", "b", "c"])
    >>> placed.match((26, 14, 26, 14), ["b", "c", "d", "e", "f"])
    [4]
    >>> placed.top_k((0, 18, 40, 32), ["d", "c", "b", "b"], 5)
    [(3, 2.0), (4, 1.0)]
    """

    def __init__(self) -> None:
        self.live: dict[int, tuple[FloatBox, frozenset[str], float]] = {}

    def insert(self, id: int, box: FloatBox, tokens: Iterable[str], score: float = 1.0) -> None:
        self.live[id] = (box, frozenset(tokens), score)

    def delete(self, id: int) -> None:
        del self.live[id]

    def match(self, box: FloatBox, tokens: Iterable[str]) -> list[int]:
        given = frozenset(tokens)
        return sorted(
            id for id, (own, wanted, _) in self.live.items() if wanted <= given and touch(own, box)
        )

    def top_k(self, box: FloatBox, tokens: Iterable[str], k: int) -> list[tuple[int, float]]:
        return best_first([(id, self.live[id][2]) for id in self.match(box, tokens)])[:k]


def touch(one: FloatBox, other: FloatBox) -> bool:
    """Closed boxes meet unless one ends before the other begins, on either axis."""
    return one[0] <= other[2] and other[0] <= one[2] and one[1] <= other[3] and other[1] <= one[3]


class Box(NamedTuple):
    """On the sphere `west` may be as far as `east` + 360: then it is the longer way around."""

    west: Fraction
    south: Fraction
    east: Fraction
    north: Fraction

    def turned(self, degrees: Fraction) -> "Box":
        return self._replace(west=self.west + degrees, east=self.east + degrees)


class Circle(NamedTuple):
    x: Fraction
    y: Fraction
    radius: float


class Polygon(NamedTuple):
    rings: list[Ring]  # the outline and its holes, each with its first corner again at the end


class Decay(NamedTuple):
    x: Fraction
    y: Fraction
    half: float  # so far beyond the offset, the score is half of what it was
    offset: float


class Subscription(NamedTuple):
    shapes: list[Box | Circle | Polygon]
    all: frozenset[str]
    any: frozenset[str] | None
    none: frozenset[str]
    phrase: tuple[str, ...]
    score: float
    decay: Decay | None
    where: dict[str, tuple[float, float]]
    space: str


class Message(NamedTuple):
    box: Box
    words: list[str]
    values: dict[str, float]


# Places


def meets(shape: Box | Circle | Polygon, box: Box, space: str) -> bool:
    """Whether they share a point; edges belong to everything that has any."""
    if isinstance(shape, Circle):
        if space == "plane":
            dx, dy = beyond(shape.x, box.west, box.east), beyond(shape.y, box.south, box.north)
            return dx * dx + dy * dy <= Fraction(shape.radius) ** 2
        return metres_to_box(shape.x, shape.y, box) <= shape.radius
    one_meets = box_meets_box if isinstance(shape, Box) else polygon_meets_box
    turns = range(-2, 3) if space == "sphere" else range(1)
    return any(one_meets(shape, box.turned(turn * TURN)) for turn in turns)  # type: ignore[arg-type]


def box_meets_box(one: Box, other: Box) -> bool:
    return (
        one.west <= other.east
        and other.west <= one.east
        and one.south <= other.north
        and other.south <= one.north
    )


def polygon_meets_box(polygon: Polygon, box: Box) -> bool:
    """An edge enters the box, or the box lies between the edges: inside or outside, all of it."""
    if any(segment_meets_box(*edge, box) for ring in polygon.rings for edge in edges(ring)):
        return True
    x, y = box.west, box.south
    crossed = 0
    for ring in polygon.rings:
        for (x1, y1), (x2, y2) in edges(ring):
            if (y1 > y) != (y2 > y):
                crossed += x1 + (y - y1) * (x2 - x1) / (y2 - y1) > x
    return crossed % 2 == 1


def edges(ring: Ring) -> Iterator[tuple[Position, Position]]:
    return itertools.pairwise(ring)


def segment_meets_box(start: Position, end: Position, box: Box) -> bool:
    """What is left of the segment, from 0 to 1, when each side of the box has cut its part off."""
    first, last = Fraction(0), Fraction(1)
    for axis, low, high in ((0, box.west, box.east), (1, box.south, box.north)):
        step = end[axis] - start[axis]
        if step == 0:
            if not low <= start[axis] <= high:
                return False
            continue
        ends = sorted(((low - start[axis]) / step, (high - start[axis]) / step))
        first, last = max(first, ends[0]), min(last, ends[1])
    return first <= last


def beyond(value: Fraction, low: Fraction, high: Fraction) -> Fraction:
    """How far a value is from a closed interval."""
    return max(low - value, Fraction(0), value - high)


def metres(x1: Fraction, y1: Fraction, x2: Fraction, y2: Fraction) -> float:
    """Along the great circle, by haversines.

    >>> round(metres(Fraction(180), Fraction(0), Fraction(-179), Fraction(0)))
    111195
    """
    south, north = math.radians(y1), math.radians(y2)
    across = math.radians(abs((x2 - x1 + 180) % 360 - 180))
    h = math.sin((north - south) / 2) ** 2
    h += math.cos(south) * math.cos(north) * math.sin(across / 2) ** 2
    return 2 * SPHERE_RADIUS_M * math.asin(min(1.0, math.sqrt(h)))


def metres_to_box(x: Fraction, y: Fraction, box: Box) -> float:
    """To the nearest point of a box whose east is not below its west.

    Inside its longitudes that is straight north or south; elsewhere it lies on the meridian of
    one of its sides, at an end or where that meridian is nearest.
    """
    if (x - box.west) % 360 <= box.east - box.west:
        return metres(x, y, x, min(max(y, box.south), box.north))
    return min(metres_to_meridian(x, y, side, box) for side in (box.west, box.east))


def metres_to_meridian(x: Fraction, y: Fraction, side: Fraction, box: Box) -> float:
    across = math.radians(abs((side - x + 180) % 360 - 180))
    latitudes = [box.south, box.north]
    if across < math.pi / 2:  # the great circle through the place, at a right angle
        foot = math.degrees(math.atan2(math.tan(math.radians(y)), math.cos(across)))
        if box.south <= foot <= box.north:
            latitudes.append(Fraction(foot))
    return min(metres(x, y, side, latitude) for latitude in latitudes)


def distance(x: Fraction, y: Fraction, box: Box, space: str) -> float:
    """To the middle of a box."""
    middle = (box.west + box.east) / 2, (box.south + box.north) / 2
    if space == "plane":
        return math.hypot(middle[0] - x, middle[1] - y)
    return metres(x, y, *middle)


# Words


@functools.cache
def stem(stemmer: str | None, word: str) -> str:
    return word if stemmer is None else Stemmer.Stemmer(stemmer).stemWord(word)


def words_of(text: str, stemmer: str | None = None) -> list[str]:
    """
    >>> words_of("Straßen-Café: don't pay 3.50 EUR…")
    ['strassen', 'café', "don't", 'pay', '3.50', 'eur']
    >>> words_of("The ponies were running", "english")
    ['the', 'poni', 'were', 'run']
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    parts = uax29_segments(unicodedata.normalize("NFKC", folded))  # folding may take letters apart
    return [stem(stemmer, part) for part in parts if has_letter_or_digit(part)]


def has_letter_or_digit(part: str) -> bool:
    return any(unicodedata.category(letter)[0] in "LN" for letter in part)


def in_a_row(phrase: Sequence[str], words: Sequence[str]) -> bool:
    starts = range(len(words) - len(phrase) + 1)
    return any(list(words[at : at + len(phrase)]) == list(phrase) for at in starts)


# Records


def score_of(own: Subscription, message: Message, attributes: Sequence[str] = ()) -> float | None:
    """None where something does not hold."""
    words = set(message.words)
    if not (
        own.all | set(own.phrase) <= words
        and (own.any is None or own.any & words)
        and not own.none & words
        and in_a_row(own.phrase, message.words)
        and any(meets(shape, message.box, own.space) for shape in own.shapes)
        and all_hold(own.where, message.values)
    ):
        return None
    if own.decay is None:
        return own.score
    far = distance(own.decay.x, own.decay.y, message.box, own.space) - own.decay.offset
    return float(own.score * 2.0 ** (-max(0.0, far) / own.decay.half))


def message_of(
    event: Mapping[str, Any],
    attributes: Sequence[str],
    space: str = "sphere",
    stemmer: str | None = None,
) -> Message:
    if ("point" in event) == ("box" in event):
        raise ValueError("expected exactly one of the fields point and box")
    if ("tokens" in event) == ("text" in event):
        raise ValueError("expected exactly one of the fields tokens and text")
    if "box" in event:
        box = box_of(event["box"], "box", space)
    else:
        if not isinstance(event["point"], list) or len(event["point"]) != 2:
            raise ValueError("point: expected two numbers")
        x, y = position(event["point"], "point", space)
        box = Box(x, y, x, y)
    if "text" in event:
        if not isinstance(event["text"], str):
            raise ValueError("text: expected a string")
        if len(event["text"].encode("utf-8", "surrogatepass")) > 1_000_000:
            raise ValueError("text: expected at most 1 MB")
        words = words_of(event["text"], stemmer)
    else:
        words = [
            word
            for token in strings(event["tokens"], "tokens", 10_000, least=0)
            for word in words_of(token, stemmer)
        ]
    if len(words) > 10_000:
        raise ValueError("expected at most 10,000 words")
    return Message(box, words, event_values(event, attributes))


def subscription_of(
    value: bytes,
    attributes: Sequence[str],
    space: str = "sphere",
    stemmer: str | None = None,
) -> Subscription:
    document = json_of(value)
    known = {"box", "area", "tokens", "any", "none", "phrase", "score", "decay", "where"}
    if not isinstance(document, dict) or not document.keys() <= known:
        raise ValueError(f"expected an object with fields among {sorted(known)}")
    if ("box" in document) == ("area" in document):
        raise ValueError("expected exactly one of the fields box and area")
    if "tokens" not in document and "phrase" not in document:
        raise ValueError("expected the field tokens, or phrase")
    if "box" in document:
        shapes: list[Any] = [box_of(document["box"], "box", space)]
    else:
        shapes = shapes_of(document["area"], space)
    lists = {
        field: frozenset(one_word(token, field, stemmer) for token in strings(given, field, 1_000))
        for field, given in document.items()
        if field in ("tokens", "any", "none")
    }
    phrase: tuple[str, ...] = ()
    if "phrase" in document:
        if not isinstance(document["phrase"], str):
            raise ValueError("phrase: expected a string")
        phrase = tuple(words_of(document["phrase"], stemmer))
        if not 1 <= len(phrase) <= 1_000:
            raise ValueError("phrase: expected 1 to 1,000 words")
    score = number(document.get("score", 1.0), "score")
    decay = None
    if "decay" in document:
        decay = decay_of(document["decay"], shapes[0], space)
        if score < 0:
            raise ValueError("score: below zero, with decay")
    where = document.get("where", {})
    if not isinstance(where, dict) or not where.keys() <= set(attributes):
        raise ValueError(f"where: expected an object with attributes among {list(attributes)}")
    return Subscription(
        shapes,
        lists.get("tokens", frozenset()),
        lists.get("any"),
        lists.get("none", frozenset()),
        phrase,
        score,
        decay,
        {name: interval(given, f"where.{name}") for name, given in where.items()},
        space,
    )


def decay_of(given: Any, shape: Box | Circle | Polygon, space: str) -> Decay:
    if not isinstance(given, dict) or not {"metres"} <= given.keys() <= {"metres", "offset", "at"}:
        raise ValueError("decay: expected metres and perhaps offset and at")
    half, offset = number(given["metres"], "metres"), number(given.get("offset", 0.0), "offset")
    if half <= 0 or offset < 0:
        raise ValueError("decay: expected metres > 0 and offset >= 0")
    if isinstance(shape, Circle):
        if "at" in given:
            raise ValueError("decay.at: a circle has a centre")
        return Decay(shape.x, shape.y, half, offset)
    if "at" not in given:
        raise ValueError("decay.at: expected where the area is no circle")
    return Decay(*position(given["at"], "decay.at", space), half, offset)


def one_word(token: str, field: str, stemmer: str | None) -> str:
    words = words_of(token, stemmer)
    if len(words) != 1:
        raise ValueError(f"{field}: {token!r} has {len(words)} words, and one was expected")
    return words[0]


def strings(given: Any, field: str, most: int, least: int = 1) -> list[str]:
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
        raise ValueError(f"{field}: expected a list of strings")
    if not least <= len(given) <= most:
        raise ValueError(f"{field}: expected {least} to {most} strings")
    return given


def position(given: Any, field: str, space: str) -> Position:
    if not isinstance(given, list) or len(given) not in (2, 3):
        raise ValueError(f"{field}: expected two numbers, and perhaps a height")
    x, y = (Fraction(number(one, field)) for one in given[:2])
    if space == "sphere" and (abs(x) > 180 or abs(y) > 90):
        raise ValueError(f"{field}: {given} is not on the sphere")
    return x, y


def box_of(given: Any, field: str, space: str) -> Box:
    if not isinstance(given, list) or len(given) != 4:
        raise ValueError(f"{field}: expected four numbers")
    (west, south), (east, north) = (position(end, field, space) for end in (given[:2], given[2:]))
    if south > north or (space == "plane" and west > east):
        raise ValueError(f"{field}: {given} is inverted")
    return Box(west, south, east + TURN if west > east else east, north)


def shapes_of(area: Any, space: str) -> list[Circle] | list[Polygon]:
    if isinstance(area, dict) and area.keys() == {"circle"}:
        given = area["circle"]
        if not isinstance(given, list) or len(given) != 3:
            raise ValueError("area.circle: expected three numbers")
        radius = number(given[2], "area.circle")
        if radius < 0:
            raise ValueError("area.circle: a negative radius")
        return [Circle(*position(given[:2], "area.circle", space), radius)]
    if not isinstance(area, dict) or area.keys() != {"type", "coordinates"}:
        raise ValueError("area: expected a circle, a Polygon or a MultiPolygon")
    given = area["coordinates"]
    if not isinstance(given, list) or not given:
        raise ValueError("area.coordinates: expected a list, not empty")
    if area["type"] == "Polygon":
        return [polygon_of(given, space)]
    if area["type"] == "MultiPolygon":
        return [polygon_of(each, space) for each in given]
    raise ValueError(f"area.type: {area['type']!r}")


def polygon_of(given: Any, space: str) -> Polygon:
    if not isinstance(given, list) or not given:
        raise ValueError("area.coordinates: expected rings")
    rings = [ring_of(ring, space) for ring in given]
    if space == "sphere":  # a hole is where its outline is, however often around
        west, east = (end(x for x, _ in rings[0]) for end in (min, max))
        if east - west > 180:
            raise ValueError("area.coordinates: wider than 180 degrees")
        for at, ring in enumerate(rings[1:], 1):
            while min(x for x, _ in ring) < west:
                ring = [(x + TURN, y) for x, y in ring]
            while max(x for x, _ in ring) > east:
                ring = [(x - TURN, y) for x, y in ring]
            rings[at] = ring
    if sum(map(len, rings)) > 10_000:
        raise ValueError("area.coordinates: more than 10,000 corners")
    if not shapely.Polygon(rings[0], rings[1:]).is_valid:
        raise ValueError("area.coordinates: crosses itself")
    return Polygon(rings)


def ring_of(given: Any, space: str) -> Ring:
    """Each step goes the shorter way around the world."""
    if not isinstance(given, list) or len(given) < 4:
        raise ValueError("area.coordinates: expected at least four positions")
    ring = [position(each, "area.coordinates", space) for each in given]
    if ring[0] != ring[-1]:
        raise ValueError("area.coordinates: not closed")
    if space == "sphere":
        for at in range(1, len(ring)):
            x, y = ring[at]
            while x - ring[at - 1][0] > 180:
                x -= TURN
            while x - ring[at - 1][0] < -180:
                x += TURN
            if abs(x - ring[at - 1][0]) == 180:
                raise ValueError("area.coordinates: an edge half around the world")
            ring[at] = (x, y)
        if ring[0] != ring[-1]:
            raise ValueError("area.coordinates: around a pole")
    return ring
