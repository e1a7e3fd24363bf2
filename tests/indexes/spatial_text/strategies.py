"""Few tokens on a small grid, so that boxes touch at edges and corners and token sets repeat."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

import indexes.spatial_text as family
from tests.oracles.spatial_text import FloatBox, Placed

INF = math.inf
TOKENS = ("a", "b", "c", "d")
GRID = [0.0, 1.0, 2.0, 3.0]


class Row(NamedTuple):
    box: FloatBox
    tokens: Sequence[str]
    score: float = 1.0


class Subject(NamedTuple):
    """One way of making an index of a class: the same contract holds for each."""

    cls: Any
    options: dict[str, Any]

    def empty(self) -> Any:
        return self.cls(**self.options)

    def build(self, rows: Mapping[int, Row]) -> Any:
        boxes = np.array([row.box for row in rows.values()], dtype=np.float64).reshape(-1, 4)
        token_lists = [list(row.tokens) for row in rows.values()]
        scores = [row.score for row in rows.values()]
        return self.cls.build(list(rows), boxes, token_lists, scores, **self.options)

    def restored(self, arrays: Any) -> Any:
        return self.cls.from_arrays(arrays, **self.options)

    def __str__(self) -> str:
        return "-".join([self.cls.__name__, *map(str, self.options.values())])


def subject(name: str, **options: Any) -> Subject:
    return Subject(getattr(family, name), options)


_ALL = [
    ("MBRTrie", {}),
    *(
        ("MBRTrie", {"algorithm": algorithm, "order": order, "bucket": bucket, "loose": loose})
        for algorithm, order, bucket, loose in [
            ("cost_based", "alphabetical", 16, 512),
            ("probe_token_set", "rarest_first", 1, 1),
            ("probe_token_set", "alphabetical", 2, 3),
            ("probe_trie", "rarest_first", 1, 2),
            ("probe_trie", "alphabetical", 1, 1),
            ("cost_based", "rarest_first", 2, 1),
        ]
    ),
    ("MBRTrie", {"by_place": False, "bucket": 1, "loose": 2}),
    ("PTQuadtree", {}),
    ("PTQuadtree", {"tau_num": 1, "pivots": "greedy", "most_copies": 1.9}),
    ("PTQuadtree", {"tau_num": 2, "pivots": "greedy", "leaves_only": True}),
    ("PTQuadtree", {"tau_num": 1, "pivots": "rarest", "mx_cif": True}),
    ("PTQuadtree", {"tau_num": 2, "tau_area": 0.3, "most_pivots": 1}),
    ("LFilter", {}),
    ("LFilter", {"bucket": 1, "loose": 1, "tau_num": 1}),
    ("LFilter", {"bucket": 2, "loose": 4, "tau_num": 3}),
    ("RtTree", {}),
    ("RtTree", {"fanout": 2}),
    ("InvertedRTree", {}),
    ("InvertedRTree", {"fanout": 3}),
]
SUBJECTS = [subject(name, **options) for name, options in _ALL]


def oracle_of(rows: Mapping[int, Row]) -> Placed:
    expected = Placed()
    for id, row in rows.items():
        expected.insert(id, *row)
    return expected


@st.composite
def intervals(draw: st.DrawFn) -> tuple[float, float]:
    low = draw(st.sampled_from([*GRID, -INF]))
    high = draw(st.sampled_from([end for end in [*GRID, INF] if end >= low]))
    return low, high


@st.composite
def boxes(draw: st.DrawFn) -> FloatBox:
    (x_low, x_high), (y_low, y_high) = draw(intervals()), draw(intervals())
    return x_low, y_low, x_high, y_high


points = st.tuples(st.sampled_from(GRID), st.sampled_from(GRID)).map(lambda at: (*at, *at))
places = st.one_of(points, boxes())
ids = st.integers(0, 24)
scores = st.sampled_from([-1.5, 0.0, 0.5, 1.0, 2.0])
token_lists = st.lists(st.sampled_from(TOKENS), min_size=1, max_size=4)
rows = st.builds(Row, places, token_lists, scores)
message_tokens = st.lists(st.sampled_from([*TOKENS, "unheard of"]), max_size=6)
messages = st.tuples(places, message_tokens)


def crowd(n: int, tokens: int, seed: int) -> dict[int, Row]:
    """Zipf tokens, most boxes small and in clusters, some large; scores tie."""
    rng = np.random.default_rng(seed)
    centres = rng.uniform(0, 100, (8, 2))[rng.integers(0, 8, n)] + rng.normal(0, 4, (n, 2))
    sides = rng.choice([0.0, 0.5, 2.0, 40.0], (n, 1), p=[0.2, 0.5, 0.2, 0.1])
    boxes = np.round(np.hstack([centres - sides, centres + sides]), 2)
    words = np.minimum(rng.zipf(1.3, (n, 4)), tokens)
    lengths = rng.integers(1, 5, n)
    return {
        id: Row(tuple(box), [f"w{word}" for word in row[:length]], float(score))
        for id, (box, row, length, score) in enumerate(
            zip(boxes.tolist(), words.tolist(), lengths, rng.integers(0, 20, n), strict=True)
        )
    }


def crowd_messages(m: int, tokens: int, seed: int) -> list[tuple[FloatBox, list[str]]]:
    """Points and ranges, few and many tokens."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(m):
        x, y = np.round(rng.uniform(0, 100, 2), 2)
        width = float(rng.choice([0.0, 5.0, 60.0]))
        count = int(rng.choice([3, 10, tokens]))
        words = np.minimum(rng.zipf(1.3, count), tokens)
        found.append(((x, y, x + width, y + width), [f"w{word}" for word in words.tolist()]))
    return found
