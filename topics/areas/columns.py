"""Many areas as flat arrays, as a snapshot keeps them: equal bytes for equal content."""

from collections.abc import Mapping, Sequence

import numpy as np

from topics.areas.shapes import POLYGONS, Area, Polygons

__all__ = ["areas_from_arrays", "areas_to_arrays"]


def areas_to_arrays(areas: Sequence[Area]) -> dict[str, np.ndarray]:
    """`corners` of all rings, which begin at `rings`; pieces begin at `pieces` of the rings.

    All but the first three have entries for areas of the shape `POLYGONS` only.
    """
    polygons = [area.polygons for area in areas if area.polygons is not None]
    return {
        "shapes": np.array([area.shape for area in areas], np.int8),
        "places": np.array([area.place for area in areas], np.float64).reshape(-1, 4),
        "corners": np.concatenate([np.empty((0, 2)), *(one.corners for one in polygons)]),
        "rings": _chained([one.rings for one in polygons]),
        "pieces": _chained([one.pieces for one in polygons]),
        "polygons": _starts([len(one.pieces) - 1 for one in polygons]),
    }


def areas_from_arrays(arrays: Mapping[str, np.ndarray]) -> list[Area]:
    corners, rings, pieces = arrays["corners"], arrays["rings"], arrays["pieces"]
    ends = iter(arrays["polygons"][1:].tolist())
    first_piece = 0
    areas = []
    for shape, place in zip(arrays["shapes"].tolist(), arrays["places"].tolist(), strict=True):
        polygons = None
        if shape == POLYGONS:
            last_piece = next(ends)
            its_pieces = pieces[first_piece : last_piece + 1]
            its_rings = rings[its_pieces[0] : its_pieces[-1] + 1]
            polygons = Polygons(
                corners[its_rings[0] : its_rings[-1]],
                (its_rings - its_rings[0]).astype(np.int32),
                (its_pieces - its_pieces[0]).astype(np.int32),
            )
            first_piece = last_piece
        areas.append(Area(shape, tuple(place), polygons))
    return areas


def _chained(starts: Sequence[np.ndarray]) -> np.ndarray:
    """Starts of many areas, each from 0, as starts in what all of them have."""
    return _starts(np.concatenate([np.empty(0, np.int64), *(np.diff(one) for one in starts)]))


def _starts(lengths: Sequence[int] | np.ndarray) -> np.ndarray:
    return np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
