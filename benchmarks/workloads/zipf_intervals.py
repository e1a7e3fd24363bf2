"""The synthetic workload of Machanavajjhala et al., Scalable Ranked Publish/Subscribe, §4, Table 1.

Points come from a d-dimensional Zipfian generator: `regions` random boxes of a grid with `cells`
cells a dimension, each of a given volume.  Points are divided over the regions by a Zipf law
(`skew_across`), and inside a region a cell is the less likely, the farther it is from the middle
(`skew_within`); a point is uniform in its cell.  A subscription is a point with a length a
dimension, drawn by a Zipf law (`skew_length`) independently of everything else:
`[x - length, x + length]`, and its score there is `1 - length`.

Where the paper is silent:
- a region's sides differ by a random factor of up to two that keeps its volume;
- inside a region the cells are ranked by their L1 distance from its middle (see `region_cells`),
  and the i-th nearest has probability in proportion to `i ** -skew_within`;
- lengths are ranks of `cells` classes, uniform inside their class, so that they are distinct.
"""

from dataclasses import dataclass, field

import numpy as np

from benchmarks.workloads.region_cells import draw_cells


@dataclass(frozen=True)
class Zipf:
    """Table 1, with its defaults.  The branching factor (50) is the indexes' own default."""

    subscriptions: int = 1_000_000
    queries: int = 1_000
    warm_up: int = 100  # queries before the measured ones
    k: int = 20
    dimensions: int = 1
    skew_length: float = 0.75
    regions: int = 10
    cells: int = 100
    volume: float = field(default=1 / 20)  # of the whole grid
    skew_across: float = 0.0
    skew_within: float = 1.0
    seed: int = 0


@dataclass(frozen=True)
class Intervals:
    lows: np.ndarray  # f8[n, d]
    highs: np.ndarray  # f8[n, d]
    scores: np.ndarray  # f8[n, d]  one a dimension, as relaxed matching weighs them
    queries: np.ndarray  # f8[m, d]
    warm_up: np.ndarray  # f8[w, d]  further queries


def generate(workload: Zipf) -> Intervals:
    rng = np.random.default_rng(workload.seed)
    firsts, widths = _regions(workload, rng)
    middles = _points(workload, firsts, widths, workload.subscriptions, rng)
    lengths = _lengths(workload, rng)
    count = workload.warm_up + workload.queries
    asked = _points(workload, firsts, widths, count, rng)
    warm_up, queries = np.split(asked, [workload.warm_up])
    return Intervals(middles - lengths, middles + lengths, 1.0 - lengths, queries, warm_up)


def _regions(workload: Zipf, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """First cell and width of each region in each dimension, i8[regions, d]."""
    d = workload.dimensions
    stretch = 2.0 ** rng.uniform(-0.5, 0.5, (workload.regions, d))
    stretch /= stretch.prod(axis=1, keepdims=True) ** (1 / d)
    share = workload.volume ** (1 / d) * stretch
    widths = np.clip(np.rint(share * workload.cells), 1, workload.cells).astype(np.int64)
    return rng.integers(0, workload.cells - widths + 1), widths


def _points(
    workload: Zipf, firsts: np.ndarray, widths: np.ndarray, count: int, rng: np.random.Generator
) -> np.ndarray:
    """f8[count, d] in [0, 1): a cell by the Zipf laws, then uniform inside the cell."""
    region = rng.choice(workload.regions, count, p=_zipf(workload.regions, workload.skew_across))
    cell = np.empty((count, workload.dimensions), np.int64)
    for r in range(workload.regions):
        own = np.flatnonzero(region == r)
        cell[own] = firsts[r] + draw_cells(widths[r], len(own), workload.skew_within, rng)
    return (cell + rng.random(cell.shape)) / workload.cells


def _lengths(workload: Zipf, rng: np.random.Generator) -> np.ndarray:
    shape = (workload.subscriptions, workload.dimensions)
    rank = rng.choice(workload.cells, shape, p=_zipf(workload.cells, workload.skew_length))
    return (rank + rng.random(shape)) / workload.cells


def _zipf(classes: int, skew: float) -> np.ndarray:
    weights = np.arange(1, classes + 1) ** -skew
    return weights / weights.sum()
