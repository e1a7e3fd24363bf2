"""Boolean expressions after BEGen: Sadoghi and Jacobsen, Relevance Matters, §VII, Table III.

A subscription has `predicates` conditions on different attributes, drawn evenly or by a Zipf law
(`skew`).  The values of an attribute lie within `cluster_size` of one of its `clusters` points, or
anywhere if there are none.  An event has `event_size` attributes.  Weights follow the inverse
frequency of the attribute.

Where the paper is silent:
- the probability of a match is made by deriving that share of the subscriptions from each event: a
  subset of its attributes, with operands that admit its values.  What events do not account for is
  drawn independently of them;
- an interval reaches up to `reach` times the cardinality to either side of its middle;
- a predicate's weight is the lesser of the attribute's inverse frequency and the normal variate
  (with the greater, as printed, nearly all weights of an attribute are the same);
- an event's weights are even in (0, 1], or all 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from indexes.boolean import BooleanArrays, EncodedEvents
from indexes.boolean.arrays import packed_texts
from indexes.boolean.predicates import OPERATORS

BETWEENS: Mapping[str, float] = {"between": 1.0}
EQUALITIES: Mapping[str, float] = {"=": 1.0}
MIXED: Mapping[str, float] = {
    "=": 0.4, "in": 0.1, "between": 0.2, "<": 0.05, "<=": 0.05, ">": 0.05, ">=": 0.05, "!=": 0.05,
    "not in": 0.05,
}  # fmt: skip
_LISTED = 3  # values of `in` and `not in`


@dataclass(frozen=True)
class BEGen:
    """Table III, with its defaults."""

    subscriptions: int = 1_000_000
    events: int = 1_000
    dimensions: int = 400
    cardinality: int = 250_000_000
    clusters: int = 4
    cluster_size: int = 100
    predicates: int = 8
    event_size: int = 15
    match_probability: float = 0.001
    operators: Mapping[str, float] = field(default_factory=lambda: BETWEENS)
    reach: float = 8e-9  # a handful of values
    skew: float = 0.0  # 1 for the paper's Zipf
    event_weights: bool = True
    seed: int = 0


class Workload(NamedTuple):
    arrays: BooleanArrays  # ids are row numbers
    events: EncodedEvents


def generate(workload: BEGen) -> Workload:
    w, rng = workload, np.random.default_rng(workload.seed)
    popularity = np.arange(1, w.dimensions + 1) ** -w.skew
    popularity /= popularity.sum()
    points = rng.integers(0, w.cardinality, (w.dimensions, max(w.clusters, 1)))
    event_columns = _distinct_columns(w, w.events, w.event_size, popularity, rng)
    event_values = _values(w, event_columns, points, rng)

    derived = min(1.0, w.events * w.match_probability)
    share = round(w.subscriptions * w.match_probability)
    # Fewer events than would fit: each keeps its share, and the same events come again.
    sources = max(1, min(w.events, round(1 / w.match_probability))) if share else 0
    columns = _distinct_columns(w, w.subscriptions, w.predicates, popularity, rng)
    values = _values(w, columns, points, rng)
    if sources:
        count = min(w.subscriptions, sources * share, round(derived * w.subscriptions))
        source = rng.permutation(np.arange(count) % sources)
        picked = np.argsort(rng.random((count, w.event_size)), axis=1)[:, : w.predicates]
        rows = rng.permutation(w.subscriptions)[:count]
        columns[rows] = event_columns[source[:, None], picked]
        values[rows] = event_values[source[:, None], picked]
        again = np.arange(w.events) % sources
        event_columns, event_values = event_columns[again], event_values[again]
    return Workload(
        _subscriptions(w, columns, values, rng), _events(w, event_columns, event_values, rng)
    )


def _distinct_columns(
    w: BEGen, rows: int, size: int, popularity: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """i4[rows, size]: attributes by popularity, none twice in a row."""
    if size == w.dimensions:
        return np.tile(np.arange(size, dtype=np.int32), (rows, 1))
    if 3 * size > w.dimensions and not w.skew:
        shuffled = np.argsort(rng.random((rows, w.dimensions)), axis=1)
        return shuffled[:, :size].astype(np.int32)
    edges = np.cumsum(popularity)
    drawn = np.empty((rows, size), np.int32)
    todo = np.arange(rows)
    while len(todo):
        drawn[todo] = np.searchsorted(edges, rng.random((len(todo), size))).clip(
            max=w.dimensions - 1
        )
        in_order = np.sort(drawn[todo], axis=1)
        todo = todo[(in_order[:, 1:] == in_order[:, :-1]).any(axis=1)]
    return drawn


def _values(
    w: BEGen, columns: np.ndarray, points: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    if not w.clusters:
        return rng.integers(0, w.cardinality, columns.shape).astype(np.float64)
    middle = points[columns, rng.integers(0, w.clusters, columns.shape)]
    near = middle + rng.integers(-w.cluster_size, w.cluster_size + 1, columns.shape)
    return near.clip(0, w.cardinality - 1).astype(np.float64)


def _subscriptions(
    w: BEGen, columns: np.ndarray, values: np.ndarray, rng: np.random.Generator
) -> BooleanArrays:
    """Operands that admit `values`."""
    flat, value = columns.ravel(), values.ravel()
    shares = np.array([w.operators.get(op, 0.0) for op in OPERATORS])
    kinds = rng.choice(len(OPERATORS), len(flat), p=shares / shares.sum()).astype(np.uint8)
    most = max(1.0, w.reach * w.cardinality)
    below, above = (np.floor(rng.random(len(flat)) * most) for _ in range(2))
    firsts, seconds = value.copy(), np.zeros(len(flat))
    of = {op: kinds == kind for kind, op in enumerate(OPERATORS)}
    low_ends, high_ends = of["between"] | of[">="], of["<="]
    firsts[low_ends] -= below[low_ends]
    seconds[of["between"]] = (value + above)[of["between"]]
    firsts[high_ends] += above[high_ends]
    firsts[of["<"]] += 1 + above[of["<"]]
    firsts[of[">"]] -= 1 + below[of[">"]]
    firsts[of["!="]] += 1 + above[of["!="]]
    lists = _lists(w, of, value, firsts, seconds, rng)
    names = [f"a{column:04d}" for column in range(w.dimensions)]
    name_lengths, name_bytes = packed_texts(names)
    string_lengths, string_bytes = packed_texts([])
    rows = len(columns)
    return BooleanArrays(
        name_lengths=name_lengths,
        name_bytes=name_bytes,
        texts=np.zeros(w.dimensions, np.bool_),
        string_lengths=string_lengths,
        string_bytes=string_bytes,
        string_counts=np.zeros(w.dimensions, np.int64),
        ids=np.arange(rows, dtype=np.int64),
        counts=np.full(rows, columns.shape[1], np.int64),
        columns=flat.astype(np.int32),
        kinds=kinds,
        weights=_weights(w, flat, rng),
        firsts=firsts,
        seconds=seconds,
        lists=lists,
    )


def _lists(
    w: BEGen,
    of: Mapping[str, np.ndarray],
    value: np.ndarray,
    firsts: np.ndarray,
    seconds: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """Lists of `in` have the value, those of `not in` do not; both lie near to it."""
    listed = np.flatnonzero(of["in"] | of["not in"])
    gaps = 1 + np.floor(rng.random((len(listed), _LISTED)) * max(1.0, w.reach * w.cardinality))
    gaps[of["in"][listed], 0] = 0.0
    lists = value[listed][:, None] + np.cumsum(gaps, axis=1)
    firsts[listed] = np.arange(len(listed)) * _LISTED
    seconds[listed] = _LISTED
    return lists.ravel()


def _weights(w: BEGen, columns: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    found = np.bincount(columns, minlength=w.dimensions)
    inverse = found[found > 0].min() / np.maximum(found, 1)
    rarity = inverse[columns]
    return np.maximum(0.0, np.minimum(rarity, rng.normal(0.8 * rarity, 0.05 * rarity)))


def _events(
    w: BEGen, columns: np.ndarray, values: np.ndarray, rng: np.random.Generator
) -> EncodedEvents:
    """In the columns of an index that was made from the arrays and nothing else."""
    weights = 1.0 - rng.random(columns.size) if w.event_weights else np.ones(columns.size)
    starts = np.arange(len(columns) + 1, dtype=np.int64) * columns.shape[1]
    size = (w.dimensions, 0)
    return EncodedEvents(starts, columns.ravel().astype(np.int32), values.ravel(), weights, size)
