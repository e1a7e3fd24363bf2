"""Circles and polygons beside boxes of the same size."""

from typing import NamedTuple

import numpy as np

from benchmarks.intervals.targets import Row
from benchmarks.measure import joined, micro
from benchmarks.report import Section, Table
from benchmarks.spatial_text.lab import CLASSES, Lab, Texts, fill, per_message
from benchmarks.workloads.spatial_texts import Messages
from indexes.spatial_text import LFilter
from indexes.spatial_text.areas import (
    BOX,
    CIRCLE,
    EARTH_RADIUS_METRES,
    POLYGONS,
    hulls,
    split_boxes,
)
from indexes.spatial_text.conditions import NO_DECAY, Areas, Conditions, Events, Words

__all__ = ["areas"]

_MOST = 1.5  # times the time of boxes, at equal numbers of matches
_CORNERS = (5, 50)
_METRES_A_DEGREE = np.pi / 180 * EARTH_RADIUS_METRES


def areas(lab: Lab) -> Section:
    texts = lab.texts("cities", lab.sizes.fewer)
    boxes = _onto_the_sphere(texts.data.boxes)
    classes = {name: lab.messages(texts, one) for name, one in CLASSES.items()}
    shapes = {"boxes": _of_shape(BOX, boxes), "circles": _circles(boxes)}
    shapes |= {f"polygons of {corners} corners": _polygons(boxes, corners) for corners in _CORNERS}
    indexes = {}
    for name, one in shapes.items():
        lab.step(f"LFilter of {texts.wanted.subscriptions:,} {name}")
        indexes[name] = _Index.of(texts, one)
    rows: list[Row] = []
    for kind, asked in classes.items():
        asked = asked._replace(boxes=_onto_the_sphere(asked.boxes))
        lab.step(f"asking for {kind}")
        taken = [
            {name: per_message(index.match, asked) for name, index in indexes.items()}
            for _ in range(lab.sizes.turns)
        ]
        found = {name: max(index.match(asked), 1) for name, index in indexes.items()}
        of_boxes = joined(turn["boxes"] for turn in taken).best
        for name in list(indexes)[1:]:
            of_shape = joined(turn[name] for turn in taken).best
            words = (
                f"{micro(of_shape)} µs a message with {found[name]:,} matches, against"
                f" {micro(of_boxes)} with {found['boxes']:,}"
            )
            ratio = of_shape / of_boxes * found["boxes"] / found[name]
            rows.append(Row(f"{kind}: {name}", ratio, most=_MOST, words=words))
    words = (
        f"{texts.wanted.subscriptions:,} subscriptions around cities, {lab.sizes.messages:,}"
        " messages of each class. Circles and polygons have the areas of the boxes,"
        " in the same places. A ratio is of the best CPU times a match, all in one run."
    )
    table = Table(
        ["", "measured", "target", "", "in plain words"], [row.cells() for row in rows], prose=4
    )
    return Section("spatial_text_areas", "Circles and polygons beside boxes", words, [table])


class _Index(NamedTuple):
    filter: LFilter
    conditions: Conditions

    @classmethod
    def of(cls, texts: Texts, given: Areas) -> "_Index":
        around, _ = split_boxes(_within_a_turn(hulls(given.shapes, given.places, True)), True)
        filter, conditions = LFilter(), Conditions(is_sphere=True)
        fill(filter, texts.data._replace(boxes=around), texts.words)
        count = len(given.shapes)
        no_words = Words(np.empty(0, np.int32), np.zeros(3 * count + 1, np.int64))
        conditions.add(np.arange(count), given, no_words, np.full((count, 4), NO_DECAY))
        return cls(filter, conditions)

    def match(self, asked: Messages) -> int:
        """How many matches there are."""
        ids, starts = self.filter.match_columns(*asked)
        holds = self.conditions.hold(Events(*asked), ids, starts, np.ones(len(ids)))
        return int(holds.sum())


def _onto_the_sphere(boxes: np.ndarray) -> np.ndarray:
    """A few that are beyond the antimeridian or next to a pole are moved to where maps end."""
    return np.clip(boxes, [-180, -85, -180, -85], [180, 85, 180, 85])


def _within_a_turn(boxes: np.ndarray) -> np.ndarray:
    """Those few that cross the antimeridian as whole bands, for all to have one box."""
    crossing = boxes[:, 0] > boxes[:, 2]
    boxes[crossing, 0], boxes[crossing, 2] = -180.0, 180.0
    return boxes


def _of_shape(shape: int, places: np.ndarray) -> Areas:
    none = np.zeros(1, np.int64)
    return Areas(np.full(len(places), shape, np.int8), places, np.empty((0, 2)), none, none, none)


def _middles(boxes: np.ndarray) -> tuple[np.ndarray, ...]:
    """Centres, widths of a degree of longitude, and radii in degrees of latitude of circles."""
    x, y = (boxes[:, 0] + boxes[:, 2]) / 2, (boxes[:, 1] + boxes[:, 3]) / 2
    narrower = np.cos(np.radians(y))
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1]) * narrower
    return x, y, narrower, np.sqrt(area / np.pi)


def _circles(boxes: np.ndarray) -> Areas:
    x, y, _, radius = _middles(boxes)
    return _of_shape(CIRCLE, np.column_stack((x, y, radius * _METRES_A_DEGREE, np.zeros(len(x)))))


def _polygons(boxes: np.ndarray, corners: int) -> Areas:
    x, y, narrower, radius = _middles(boxes)
    reach = radius * np.sqrt(2 * np.pi / (corners * np.sin(2 * np.pi / corners)))
    turns = 2 * np.pi * np.arange(corners + 1) / corners
    turns[-1] = 0.0
    xs = x[:, None] + (reach / narrower)[:, None] * np.cos(turns)
    ys = y[:, None] + reach[:, None] * np.sin(turns)
    around = np.column_stack((xs.min(axis=1), ys.min(axis=1), xs.max(axis=1), ys.max(axis=1)))
    count = np.arange(len(x) + 1)
    chained = np.stack((xs, ys), axis=2).reshape(-1, 2)
    shapes = np.full(len(x), POLYGONS, np.int8)
    return Areas(shapes, around, chained, count * (corners + 1), count, count)
