"""The matchers of intervals, as subjects of the matchers' contract."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from indexes.intervals import ExactMatcher, LiveMatcher, RelaxedMatcher, SOPTRTree
from indexes.intervals.exact_boxes import encode_boxes
from tests.indexes.intervals import strategies as some
from tests.indexes.intervals.columns import INF
from tests.indexes.matcher_contract import Event, Subject, Subscription
from tests.oracles import intervals as oracle

NAN = math.nan
EVERYWHERE = (-INF, INF)
ATTRIBUTES = ("age", "income", "visits")
MERGES, SIFTS, TRIES = INF, 0.0, 1e9  # patience; the last gives sifting up after a page

# A constraint of everything differs from none: the event must have the attribute.
constraint = st.one_of(st.just(EVERYWHERE), some.intervals)
# Sums of these tie, and depend on their order: (0.1 + 0.2) + 0.3 != 0.1 + (0.2 + 0.3).
coarse_weights = st.sampled_from([0.1, 0.2, 0.3, 1.0, 1.0, 2.0, 1e16])


def event_grid(attributes: Sequence[str]) -> list[dict[str, float]]:
    """Events that lack nothing, lack each attribute in turn, and lack everything."""
    full = [dict.fromkeys(attributes, v) for v in (-5.0, -4.0, -1.0, -0.0, 0.5, 1.0, 2.0, 4.0)]
    mixed = {name: float(i) for i, name in enumerate(attributes)}
    short = [{a: v for a, v in mixed.items() if a != absent} for absent in attributes]
    return [{}, *full, mixed, *short]


def rows_of(attributes: Sequence[str], mappings: Sequence[Mapping[str, float]]) -> np.ndarray:
    """The array form of mappings by attribute: NaN where one has no entry."""
    rows = [[given.get(a, NAN) for a in attributes] for given in mappings]
    return np.array(rows, dtype=float).reshape(len(mappings), len(attributes))


def ends_columns(attributes: Sequence[str], wanted: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    """The array form of interval mappings: NaN in both where an attribute is free."""
    lows = [{name: ends[0] for name, ends in intervals.items()} for intervals in wanted]
    highs = [{name: ends[1] for name, ends in intervals.items()} for intervals in wanted]
    return rows_of(attributes, lows), rows_of(attributes, highs)


class IntervalSubject(Subject):
    def __init__(self, make: Any, count: int, **options: Any) -> None:
        self.attributes = ATTRIBUTES[:count]
        self._make, self._options = make, options
        words = [f"{name}={value:g}" for name, value in options.items()]
        self.name = "-".join([make.__name__, str(count), *words])
        known = dict.fromkeys(self.attributes, some.values)
        self.events = st.fixed_dictionaries({}, optional={**known, "unheard of": some.values})
        self.probes = event_grid(self.attributes)
        self.sure_event = dict.fromkeys(self.attributes, 5.0)

    def new(self) -> Any:
        return self._make(self.attributes, **self._options)

    def forms(self, events: Sequence[Event]) -> list[Any]:
        rows = rows_of(self.attributes, events)
        still = np.frombuffer(rows.tobytes()).reshape(rows.shape)
        return [events, rows, np.asfortranarray(rows), still]

    def boxes(self, count: int) -> list[dict[str, tuple[float, float]]]:
        """Random ones over most attributes, at least one."""
        rng = np.random.default_rng(count)
        lows = rng.integers(-6, 6, (count, len(self.attributes)))
        lengths = rng.integers(0, 5, lows.shape)
        free = rng.random(lows.shape) < 0.3
        free[free.all(axis=1), 0] = False
        return [
            {
                name: (float(lows[i, j]), float(lows[i, j] + lengths[i, j]))
                for j, name in enumerate(self.attributes)
                if not free[i, j]
            }
            for i in range(count)
        ]


class Exact(IntervalSubject):
    """Of all intervals of a subscription, ranked by its score; `LiveMatcher` too."""

    def __init__(self, make: Any, count: int, **options: Any) -> None:
        super().__init__(make, count, **options)
        self.goes_stale = self.drops_bases = make is ExactMatcher
        free = st.fixed_dictionaries({}, optional=dict.fromkeys(self.attributes, constraint))
        self.subscriptions = st.tuples(free, some.scores)

    def restored(self, arrays: Any) -> Any:
        if self._make is LiveMatcher:
            return LiveMatcher.from_arrays(self.attributes, arrays)
        return ExactMatcher.from_arrays(arrays)

    def model(self) -> oracle.ExactMatches:
        return oracle.ExactMatches()

    def columns(self, subscriptions: Sequence[Subscription]) -> tuple[Any, ...]:
        boxes, scores = [one[0] for one in subscriptions], [one[1] for one in subscriptions]
        return *ends_columns(self.attributes, boxes), np.array(scores, dtype=float)

    def sure(self, score: float) -> Subscription:
        return {self.attributes[0]: (0.0, 9.0)}, score

    def crowd(self, count: int) -> list[Subscription]:
        return [(box, i % 50 + i / count) for i, box in enumerate(self.boxes(count))]

    def trees(self, live: Mapping[int, Subscription]) -> list[Any]:
        """Each of all subscriptions."""
        lows, highs, scores = self.columns(list(live.values()))
        boxes = encode_boxes(lows, highs, self.attributes)
        return [
            SOPTRTree.build(list(live), boxes.lows[:, j], boxes.highs[:, j], scores, branching=2)
            for j in range(len(self.attributes))
        ]


class Relaxed(IntervalSubject):
    """Of at least one interval, ranked by the sum of the weights of those that hold."""

    goes_stale = drops_bases = True

    def __init__(self, count: int, **options: Any) -> None:
        super().__init__(RelaxedMatcher, count, **options)
        terms = st.dictionaries(
            st.sampled_from(self.attributes), st.tuples(constraint, coarse_weights), min_size=1
        )
        self.subscriptions = terms.map(
            lambda drawn: (
                {name: interval for name, (interval, _) in drawn.items()},
                {name: weight for name, (_, weight) in drawn.items()},
            )
        )

    def restored(self, arrays: Any) -> Any:
        return RelaxedMatcher.from_arrays(arrays)

    def model(self) -> oracle.RelaxedMatches:
        return oracle.RelaxedMatches(self.attributes)

    def columns(self, subscriptions: Sequence[Subscription]) -> tuple[Any, ...]:
        boxes, weights = [one[0] for one in subscriptions], [one[1] for one in subscriptions]
        return *ends_columns(self.attributes, boxes), rows_of(self.attributes, weights)

    def sure(self, score: float) -> Subscription:
        return {self.attributes[0]: (0.0, 9.0)}, {self.attributes[0]: score}

    def crowd(self, count: int) -> list[Subscription]:
        return [
            (box, {name: 1 + (i + j) % 50 + i / count for j, name in enumerate(box)})
            for i, box in enumerate(self.boxes(count))
        ]

    def trees(self, live: Mapping[int, Subscription]) -> list[Any]:
        """The tree of an attribute has what constrains it."""
        trees = []
        for name in self.attributes:
            own = [(id, *held[name], w[name]) for id, (held, w) in live.items() if name in held]
            columns = zip(*own, strict=True) if own else [()] * 4
            trees.append(SOPTRTree.build(*map(list, columns), branching=2))
        return trees


# Blocks of two, so that trees of a few subscriptions have several levels.
EXACT_1 = Exact(ExactMatcher, 1)
EXACT_2 = Exact(ExactMatcher, 2, branching=2)
EXACT_3 = Exact(ExactMatcher, 3, branching=2)
LIVE = Exact(LiveMatcher, 1)
MERGING_1, MERGING_2, MERGING_3 = (
    Relaxed(count, branching=2, patience=MERGES) for count in (1, 2, 3)
)
SIFTING_2 = Relaxed(2, branching=2, patience=SIFTS)
RELAXED_3 = Relaxed(3, branching=2, patience=1.0)
