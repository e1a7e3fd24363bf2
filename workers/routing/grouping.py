"""Many boxes as few: each group of neighbours becomes the box around it."""

import itertools

import numpy as np


def grouped(lows: np.ndarray, highs: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Ends of at most so many boxes; each given box is inside one of them.

    Groups are halved where the centres of their boxes lie farthest apart, measured in ranks, which
    neither units nor infinite ends disturb.
    """
    if len(lows) <= most:
        return lows, highs
    ranks = np.stack([_ranks(lows[:, i], highs[:, i]) for i in range(lows.shape[1])], axis=1)
    order = np.arange(len(lows))
    edges = [0, len(lows)]
    while 2 * (len(edges) - 1) <= most:
        middles = []
        for start, end in itertools.pairwise(edges):
            own = order[start:end]
            widest = int(np.ptp(ranks[own], axis=0).argmax())
            middle = len(own) // 2
            order[start:end] = own[np.argpartition(ranks[own, widest], middle)]
            middles.append(start + middle)
        edges = sorted({*edges, *middles})
    starts = np.array(edges[:-1])
    return np.minimum.reduceat(lows[order], starts), np.maximum.reduceat(highs[order], starts)


def _ranks(lows: np.ndarray, highs: np.ndarray) -> np.ndarray:
    """Of the middles of intervals; one without a lower end comes first, without any in between."""
    finite = np.concatenate((lows[np.isfinite(lows)], highs[np.isfinite(highs)], [0.0]))
    middles = (np.clip(lows, finite.min(), None) + np.clip(highs, None, finite.max())) / 2
    ranks = np.empty(len(lows), np.int64)
    ranks[np.argsort(middles, kind="stable")] = np.arange(len(lows))
    return ranks
