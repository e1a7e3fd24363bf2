"""Slow, obviously correct answers: the definition that the suites compare with.

Nothing of ours is imported here. Every answer is a filter over everything that is
live and a sort; a hit is the pair `(id, score)`.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

INF = math.inf


class Intervals:
    """Scored closed intervals of one attribute.

    >>> intervals = Intervals()
    >>> intervals.insert(7, 0.0, 5.0, 1.0)
    >>> intervals.insert(3, 5.0, INF, 1.0)
    >>> intervals.insert(9, 5.0, 5.0, 2.0)
    >>> intervals.top_k(5.0, 2)
    [(9, 2.0), (3, 1.0)]
    >>> intervals.top_k_between(-INF, 4.0, 10)
    [(7, 1.0)]
    """

    def __init__(self) -> None:
        self.live: dict[int, tuple[float, float, float]] = {}

    def insert(self, id: int, low: float, high: float, score: float) -> None:
        self.live[id] = (low, high, score)

    def delete(self, id: int) -> None:
        del self.live[id]

    def update_score(self, id: int, score: float) -> None:
        low, high, _ = self.live[id]
        self.live[id] = (low, high, score)

    def scan(self, value: float) -> list[tuple[int, float]]:
        return self.top_k_between(value, value, len(self.live))

    def top_k(self, value: float, k: int) -> list[tuple[int, float]]:
        return self.scan(value)[:k]

    def top_k_between(self, low: float, high: float, k: int) -> list[tuple[int, float]]:
        """Closed intervals meet unless one ends before the other begins."""
        met = [(id, s) for id, (lo, hi, s) in self.live.items() if lo <= high and low <= hi]
        return best_first(met)[:k]


class ExactMatches:
    """Subscriptions over several attributes; all their intervals must hold.

    >>> matches = ExactMatches()
    >>> matches.insert(1, {"age": (20, 35), "visits": (3, INF)}, 7.5)
    >>> matches.insert(2, {}, 1.0)
    >>> matches.top_k({"age": 35, "visits": 3}, 5)
    [(1, 7.5), (2, 1.0)]
    >>> matches.top_k({"age": 35}, 5)
    [(2, 1.0)]
    """

    def __init__(self) -> None:
        self.live: dict[int, tuple[dict[str, tuple[float, float]], float]] = {}

    def insert(self, id: int, intervals: Mapping[str, tuple[float, float]], score: float) -> None:
        self.live[id] = (dict(intervals), score)

    def delete(self, id: int) -> None:
        del self.live[id]

    def top_k(self, event: Mapping[str, float], k: int) -> list[tuple[int, float]]:
        met = [(id, s) for id, (intervals, s) in self.live.items() if all_hold(intervals, event)]
        return best_first(met)[:k]


def best_first(hits: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    return sorted(hits, key=lambda hit: (-hit[1], hit[0]))


def all_hold(intervals: Mapping[str, tuple[float, float]], event: Mapping[str, float]) -> bool:
    """An event without a constrained attribute does not match."""
    return all(a in event and low <= event[a] <= high for a, (low, high) in intervals.items())


Record = tuple[int, bytes | None, bytes | None]  # offset, key, value


class Refusal(NamedTuple):
    shard: int
    offset: int
    reason: str


class Collection:
    """A collection of kind `ranked` or `relaxed`, from the records of its `subscriptions` topic.

    `records[shard]` are one partition's records in offset order. A bad record changes
    nothing and is listed in `refused`.

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
    >>> collection.refused
    [Refusal(shard=0, offset=3, reason='where.age: 9.0 > 1.0')]
    """

    def __init__(
        self, kind: str, attributes: Sequence[str], records: Sequence[Sequence[Record]]
    ) -> None:
        self._parse, self._score, self._values = KINDS[kind]
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
        assert len(as_of) == len(self._shards), f"{as_of} does not name every shard"
        values = self._values(event, self.attributes)
        found = []
        for shard, last in enumerate(as_of):
            for name, (offset, parsed) in self._shards[shard].live(last).items():
                score = self._score(parsed, values, self.attributes)
                if score is not None:
                    found.append((-score, offset, shard, name))
        return [(name, -negated) for negated, _, _, name in sorted(found)[:k]]


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


def json_of(value: bytes) -> Any:
    try:
        return json.loads(value.decode(), parse_constant=refuse_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None


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


def relaxed_score(
    parsed: tuple[dict[str, Any], dict[str, float]],
    values: Mapping[str, float],
    attributes: Sequence[str],
) -> float | None:
    """The weights of the intervals that hold, added in the order of the attributes."""
    intervals, weights = parsed
    score = None
    for name in attributes:
        if name in intervals and all_hold({name: intervals[name]}, values):
            score = (score or 0.0) + weights[name]  # one by one: `sum` is more exact than that
    return score


def boolean_subscription(value: bytes, attributes: Sequence[str]) -> list[list[dict[str, Any]]]:
    """Alternatives, each a list of predicates as they were written."""
    document = json_of(value)
    if not isinstance(document, dict) or document.keys() not in ({"all"}, {"any"}):
        raise ValueError("expected an object with the field all or the field any")
    alternatives = document.get("any", [document])
    if not isinstance(alternatives, list) or not alternatives:
        raise ValueError("any: expected a list, not empty")
    for alternative in alternatives:
        if not isinstance(alternative, dict) or alternative.keys() != {"all"}:
            raise ValueError("any: expected objects with the field all")
        if not isinstance(alternative["all"], list) or not 1 <= len(alternative["all"]) <= 1000:
            raise ValueError("all: expected a list of 1 to 1000 predicates")
        for predicate in alternative["all"]:
            refuse_nonsense(predicate, attributes)
    return [alternative["all"] for alternative in alternatives]


def refuse_nonsense(predicate: Any, attributes: Sequence[str]) -> None:
    if not isinstance(predicate, dict):
        raise ValueError(f"got {predicate!r} when a predicate was expected")
    if not {"attr", "op", "value"} <= predicate.keys() <= {"attr", "op", "value", "weight"}:
        raise ValueError(f"{predicate}: expected attr, op, value and perhaps weight")
    name, op, value = predicate["attr"], predicate["op"], predicate["value"]
    if not isinstance(name, str) or len(name) > 256 or (attributes and name not in attributes):
        raise ValueError(f"attr: got {name!r}")
    if not 0 <= number(predicate.get("weight", 1.0), "weight") <= 1e100:
        raise ValueError("weight: expected 0 to 1e100")
    if op in ("<", "<=", ">", ">="):
        number(value, "value")
    elif op in ("=", "!="):
        if not isinstance(value, str):
            number(value, "value")
    elif op in ("in", "not in"):
        if not isinstance(value, list) or not value:
            raise ValueError("value: expected a list, not empty")
        if not all(isinstance(one, str) for one in value):
            for one in value:
                number(one, "value")
    elif op == "between":
        if not isinstance(value, list) or len(value) != 2:
            raise ValueError("value: expected [low, high]")
        low, high = (None if end is None else number(end, "value") for end in value)
        if low is not None and high is not None and low > high:
            raise ValueError(f"value: {low} > {high}")
    else:
        raise ValueError(f"op: got {op!r}")


def boolean_score(
    parsed: list[list[dict[str, Any]]], values: Mapping[str, Any], attributes: Sequence[str]
) -> float | None:
    """The best alternative of which everything holds; weights are added in the given order."""
    best = None
    for predicates in parsed:
        if all(predicate_holds(one, values) for one in predicates):
            total = 0.0
            for one in predicates:
                total += one.get("weight", 1.0) * values[one["attr"]][1]
            best = total if best is None else max(best, total)
    return best


def predicate_holds(predicate: dict[str, Any], values: Mapping[str, Any]) -> bool:
    """False for what the event lacks, and where a number meets a string."""
    if predicate["attr"] not in values:
        return False
    got, wanted, op = values[predicate["attr"]][0], predicate["value"], predicate["op"]
    if op == "between":
        low, high = wanted
        is_number = not isinstance(got, str)
        return is_number and (low is None or low <= got) and (high is None or got <= high)
    listed = wanted if isinstance(wanted, list) else [wanted]
    if isinstance(got, str) != isinstance(listed[0], str):
        return False
    if op in ("=", "in"):
        return got in listed
    if op in ("!=", "not in"):
        return got not in listed
    return {"<": got < wanted, "<=": got <= wanted, ">": got > wanted, ">=": got >= wanted}[op]


def mixed_values(event: Mapping[str, Any], attributes: Sequence[str]) -> dict[str, Any]:
    """Value and weight of what counts: with no attributes named, whatever makes sense."""
    values = {}
    for name, given in event.items():
        try:
            known = mixed_value(given, name)
        except ValueError:
            if attributes and name in attributes:
                raise
            continue
        if known is not None and (not attributes or name in attributes):
            values[name] = known
    return values


def mixed_value(given: Any, field: str) -> tuple[float | str, float] | None:
    if given is None:
        return None
    weight = 1.0
    if isinstance(given, dict):
        if not {"value"} <= given.keys() <= {"value", "weight"}:
            raise ValueError(f"{field}: expected the fields value and weight")
        weight = number(given.get("weight", 1.0), f"{field}.weight")
        if not 0 <= weight <= 1e100:
            raise ValueError(f"{field}.weight: expected 0 to 1e100")
        given = given["value"]
    return (given if isinstance(given, str) else number(given, field)), weight


class Kind(NamedTuple):
    parse: Callable[[bytes, Sequence[str]], Any]
    score: Callable[[Any, Any, Sequence[str]], float | None]
    values: Callable[[Mapping[str, Any], Sequence[str]], Any]


def interval(given: Any, field: str) -> tuple[float, float]:
    """The closed interval of `[low, high]` or of `{"ge", "gt", "le", "lt"}`; all ends hold."""
    if isinstance(given, list) and len(given) == 2:
        ends = {"ge": given[0], "le": given[1]}
    elif isinstance(given, dict) and given.keys() <= {"ge", "gt", "le", "lt"}:
        ends = given
    else:
        raise ValueError(f"{field}: expected [low, high] or an object of ge, gt, le, lt")
    at = {end: number(v, f"{field}.{end}") for end, v in ends.items() if v is not None}
    low, high = at.get("ge", -INF), at.get("le", INF)
    if "gt" in at:
        low = max(low, math.nextafter(at["gt"], INF))
    if "lt" in at:
        high = min(high, math.nextafter(at["lt"], -INF))
    if low > high:
        raise ValueError(f"{field}: {low} > {high}")
    return low, high


def event_values(event: Mapping[str, Any], attributes: Sequence[str]) -> dict[str, float]:
    """The numbers that count: null is missing, a weighted value is its value."""
    values = {}
    for name in attributes:
        given = event.get(name)
        if isinstance(given, dict):
            if not {"value"} <= given.keys() <= {"value", "weight"}:
                raise ValueError(f"{name}: expected the fields value and weight")
            if number(given.get("weight", 1.0), f"{name}.weight") < 0:
                raise ValueError(f"{name}.weight: below zero")
            values[name] = number(given["value"], f"{name}.value")
        elif given is not None:
            values[name] = number(given, name)
    return values


def number(value: Any, field: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{field}: got {value!r} when a number was expected")
    if not abs(value) <= 1.7976931348623157e308:
        raise ValueError(f"{field}: got {value!r} when a finite float64 was expected")
    return float(value)


def refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


KINDS = {
    "ranked": Kind(ranked_subscription, ranked_score, event_values),
    "relaxed": Kind(relaxed_subscription, relaxed_score, event_values),
    "boolean": Kind(boolean_subscription, boolean_score, mixed_values),
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


class RelaxedMatches:
    """Subscriptions of weighted intervals over several attributes; at least one must hold.

    The score is the sum of the weights of those that hold, added in the order of `attributes`.

    >>> matches = RelaxedMatches(["age", "visits"])
    >>> matches.insert(1, {"age": (20, 35), "visits": (3, INF)}, {"age": 2.0, "visits": 1.0})
    >>> matches.insert(2, {"visits": (0, 9)}, {"visits": 2.5})
    >>> matches.top_k({"age": 35, "visits": 3}, 5)
    [(1, 3.0), (2, 2.5)]
    >>> matches.top_k({"age": 20}, 5)
    [(1, 2.0)]
    """

    def __init__(self, attributes: Sequence[str]) -> None:
        self.attributes = attributes
        self.live: dict[int, tuple[dict[str, tuple[float, float]], dict[str, float]]] = {}

    def insert(
        self,
        id: int,
        intervals: Mapping[str, tuple[float, float]],
        weights: Mapping[str, float],
    ) -> None:
        self.live[id] = (dict(intervals), dict(weights))

    def delete(self, id: int) -> None:
        del self.live[id]

    def update_weights(self, id: int, weights: Mapping[str, float]) -> None:
        self.live[id] = (self.live[id][0], dict(weights))

    def top_k(self, event: Mapping[str, float], k: int) -> list[tuple[int, float]]:
        scores = {
            id: relaxed_score(parsed, event, self.attributes) for id, parsed in self.live.items()
        }
        return best_first([(id, score) for id, score in scores.items() if score is not None])[:k]
