"""Collections of every kind the slow way, from records: what a right answer is.

Nothing of ours is imported here.  Every answer is a filter over everything that is live and a sort.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from tests.oracles.boolean import boolean_score, boolean_subscription, mixed_values
from tests.oracles.intervals import INF, all_hold, event_values, interval, relaxed_score
from tests.oracles.json_values import json_of, number
from tests.oracles.spatial_text import message_of, score_of, subscription_of

Record = tuple[int, bytes | None, bytes | None]  # offset, key, value


class Refusal(NamedTuple):
    shard: int
    offset: int
    reason: str


class Collection:
    """A collection of any kind, from the records of its `subscriptions` topic.

    `records[shard]` are one partition's records in offset order. A bad record changes
    nothing and is listed in `refused`. `settings` are those that the kind has beside attributes.

    >>> collection = Collection("ranked", ["age"], [[
    ...     (0, b"a", b'{"where": {"age": [20, null]}, "score": 2}'),
    ...     (1, b"b", b'{"where": {"age": {"gt": 20}}, "score": 2}'),
    ...     (2, b"c", b'{"where": {}, "score": 1}'),
    ...     (3, b"a", b'{"where": {"age": [9, 1]}, "score": 5}'),
    ...     (4, b"b", None)]])
    >>> collection.top_k({"age": 20}, 10, as_of=[4])
    [('a', 2.0), ('c', 1.0)]
    >>> collection.top_k({"age": {"value": 21, "weight": 0.3}}, 2, as_of=[3])
    [('a', 2.0), ('b', 2.0)]
    >>> collection.top_k({"age": None}, 10, as_of=[1])
    []
    >>> collection.agrees([("a", 2.0), ("c", 1.0)], {"age": 20}, 10, as_of=[4])
    True
    >>> collection.agrees([("c", 1.0)], {"age": 20}, 1, as_of=[4])
    False
    >>> collection.refused
    [Refusal(shard=0, offset=3, reason='where.age: 9.0 > 1.0')]
    """

    def __init__(
        self,
        kind: str,
        attributes: Sequence[str],
        records: Sequence[Sequence[Record]],
        **settings: Any,
    ) -> None:
        parse, self._score, values = KINDS[kind]
        self._parse, self._values = partial(parse, **settings), partial(values, **settings)
        self.attributes = attributes
        self.refused: list[Refusal] = []
        self._shards = [History() for _ in records]
        for shard, partition in enumerate(records):
            self.read(shard, partition)

    def read(self, shard: int, records: Sequence[Record]) -> None:
        """What has come in one partition since."""
        for offset, key, value in records:
            try:
                name = subscription_id(key, shard, len(self._shards))
                parsed = None if value is None else self._parse(value, self.attributes)
            except ValueError as bad:
                self.refused.append(Refusal(shard, offset, str(bad)))
            else:
                self._shards[shard].changes.append((offset, name, parsed))

    def top_k(
        self, event: Mapping[str, Any], k: int, as_of: Sequence[int]
    ) -> list[tuple[str, float]]:
        """`as_of[shard]` is the last offset that counts there, -1 for none of them.

        Cheapest for one `as_of` after the other in the order of the offsets.
        """
        return [(name, -negated) for negated, _, _, name in self._ranked(event, as_of)[:k]]

    def agrees(
        self,
        hits: Sequence[tuple[str, float]],
        event: Mapping[str, Any],
        k: int,
        as_of: Sequence[int],
    ) -> bool:
        """Whether `hits` are the top k, where scores are known to a billionth.

        Scores that fall with a distance are rounded by each formula in its own way, so that those
        which are nearly equal may be in either order.
        """
        ranked = {name: (-score, *age) for score, *age, name in self._ranked(event, as_of)}
        if len(hits) != min(k, len(ranked)) or len(dict(hits)) != len(hits):
            return False
        least = hits[-1][1] if hits else math.inf
        in_order = [(-score, *ranked.get(name, ())[1:]) for name, score in hits]
        left_out = (ranked[name][0] for name in ranked.keys() - dict(hits).keys())
        return (
            all(name in ranked and near(score, ranked[name][0]) for name, score in hits)
            and in_order == sorted(in_order)
            and all(score <= least or near(score, least) for score in left_out)
        )

    def _ranked(
        self, event: Mapping[str, Any], as_of: Sequence[int]
    ) -> list[tuple[float, int, int, str]]:
        """Of all that match: the score negated, offset, shard, id; the best first."""
        assert len(as_of) == len(self._shards), f"{as_of} does not name every shard"
        values = self._values(event, self.attributes)
        found = []
        for shard, last in enumerate(as_of):
            for name, (offset, parsed) in self._shards[shard].live(last).items():
                score = self._score(parsed, values, self.attributes)
                if score is not None:
                    found.append((-score, offset, shard, name))
        return sorted(found)


def near(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-300)


class History:
    """The changes of one shard in offset order, and what is live after a part of them.

    >>> history = History()
    >>> history.changes += [(0, "a", "first"), (3, "b", "second"), (4, "a", None)]
    >>> history.live(3)
    {'a': (0, 'first'), 'b': (3, 'second')}
    >>> history.live(9)
    {'b': (3, 'second')}
    >>> history.live(2)
    {'a': (0, 'first')}
    """

    def __init__(self) -> None:
        self.changes: list[tuple[int, str, Any]] = []  # None for an unsubscription
        self._begin()

    def _begin(self) -> None:
        self._read = 0  # changes, all of them in `_live`
        self._live: dict[str, tuple[int, Any]] = {}

    def live(self, last: int) -> dict[str, tuple[int, Any]]:
        """By id, the latest change up to the offset `last`; it holds until the next call."""
        if self._read and self.changes[self._read - 1][0] > last:
            self._begin()
        while self._read < len(self.changes) and self.changes[self._read][0] <= last:
            offset, name, parsed = self.changes[self._read]
            self._live.pop(name, None)
            if parsed is not None:
                self._live[name] = (offset, parsed)
            self._read += 1
        return self._live


def subscription_id(key: bytes | None, shard: int, shards: int) -> str:
    if not key:
        raise ValueError("key: empty")
    if (murmur2(key) & 0x7FFFFFFF) % shards != shard:
        raise ValueError(f"key: {key!r} does not belong on partition {shard} of {shards}")
    return key.decode()


def ranked_subscription(value: bytes, attributes: Sequence[str]) -> tuple[dict[str, Any], float]:
    document, intervals = document_of(value, "score", attributes)
    return intervals, number(document["score"], "score")


def relaxed_subscription(
    value: bytes, attributes: Sequence[str]
) -> tuple[dict[str, Any], dict[str, float]]:
    document, intervals = document_of(value, "weights", attributes)
    weights = document["weights"]
    if not isinstance(weights, dict) or weights.keys() != intervals.keys() or not weights:
        raise ValueError("weights: expected one for each interval, of which there is at least one")
    weights = {name: number(given, f"weights.{name}") for name, given in weights.items()}
    if min(weights.values()) <= 0 or sum(weights.values()) == INF:
        raise ValueError(f"weights: {weights} are not all above zero with a finite sum")
    return intervals, weights


def document_of(
    value: bytes, field: str, attributes: Sequence[str]
) -> tuple[dict[str, Any], dict[str, tuple[float, float]]]:
    document = json_of(value)
    if not isinstance(document, dict) or document.keys() != {"where", field}:
        raise ValueError(f"expected an object with the fields where and {field}, and no other")
    where = document["where"]
    if not isinstance(where, dict) or not where.keys() <= set(attributes):
        raise ValueError(f"where: expected an object with attributes among {list(attributes)}")
    return document, {name: interval(given, f"where.{name}") for name, given in where.items()}


def ranked_score(
    parsed: tuple[dict[str, Any], float], values: Mapping[str, float], attributes: Sequence[str]
) -> float | None:
    intervals, score = parsed
    return score if all_hold(intervals, values) else None


class Kind(NamedTuple):
    parse: Callable[..., Any]  # of the value, the attributes and the settings
    score: Callable[[Any, Any, Sequence[str]], float | None]
    values: Callable[..., Any]  # of the event, the attributes and the settings


KINDS = {
    "ranked": Kind(ranked_subscription, ranked_score, event_values),
    "relaxed": Kind(relaxed_subscription, relaxed_score, event_values),
    "boolean": Kind(boolean_subscription, boolean_score, mixed_values),
    "spatial_text": Kind(subscription_of, score_of, message_of),
}


def murmur2(key: bytes) -> int:
    """Kafka's partitioner hash (its Java client's `Utils.murmur2`), as an unsigned number.

    >>> [murmur2(key) - 2**32 for key in (b"21", b"foobar", b"a-little-bit-long-string")]
    [-973932308, -790332482, -985981536]
    >>> murmur2(b"abc")
    479470107
    """
    m, mask = 0x5BD1E995, 0xFFFFFFFF
    h = 0x9747B28C ^ len(key)
    whole = len(key) - len(key) % 4
    for at in range(0, whole, 4):
        word = int.from_bytes(key[at : at + 4], "little") * m & mask
        h = (h * m & mask) ^ ((word ^ word >> 24) * m & mask)
    if rest := key[whole:]:
        h = (h ^ int.from_bytes(rest, "little")) * m & mask
    h = (h ^ h >> 13) * m & mask
    return h ^ h >> 15
