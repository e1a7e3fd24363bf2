"""Which columns the members of an overflowing l-node are partitioned by (Algorithm 4, §V-B)."""

import numpy as np

from indexes.boolean.kernels import NIL, bare, inner
from indexes.boolean.tree_members import on_path

COARSE = 3  # so many powers of two of a load count as the same, so that members agree on keys


@bare
def _better(local, i, j, tally):
    """Whether predicate i is the better key: read seldom, then shared by many, then first."""
    if local.loads[i] // COARSE != local.loads[j] // COARSE:
        return local.loads[i] // COARSE < local.loads[j] // COARSE
    a, b = local.columns[i], local.columns[j]
    return tally[a] > tally[b] or (tally[a] == tally[b] and a < b)


@bare
def _choose(local, member, path, depth, tally, least):
    """The best predicate of a member on a new column that `least` members have or picked."""
    best = NIL
    for i in range(local.starts[member], local.starts[member + 1]):
        column = local.columns[i]
        if tally[column] < least or on_path(path, depth, column):
            continue
        if best == NIL or _better(local, i, best, tally):
            best = i
    return local.columns[best] if best != NIL else NIL


@bare
def _clear(local, order, tally):
    for i in range(len(order)):
        for j in range(local.starts[order[i]], local.starts[order[i] + 1]):
            tally[local.columns[j]] = 0


@bare
def pick(local, order, path, depth, tally, least, picked):
    """The column that each member is partitioned by, or NIL.

    Every member takes the predicate that is met least often; a column that too few take is given
    up, and its members choose again among the others.
    """
    n = len(order)
    for i in range(n):
        for j in range(local.starts[order[i]], local.starts[order[i] + 1]):
            tally[local.columns[j]] += 1
    for i in range(n):
        picked[i] = _choose(local, order[i], path, depth, tally, least)
    _clear(local, order, tally)
    for i in range(n):
        if picked[i] != NIL:
            tally[picked[i]] += 1
    for i in range(n):
        if picked[i] == NIL or tally[picked[i]] < least:
            picked[i] = _choose(local, order[i], path, depth, tally, least)
    _clear(local, order, tally)


@inner
def by_pick(order, lows, highs, picked):
    """Sort members by what they picked, and return where those begin that picked nothing."""
    keys = np.where(picked == NIL, np.iinfo(np.int64).max, picked)
    by_column = np.argsort(keys, kind="mergesort")
    order[:], lows[:], highs[:] = order[by_column], lows[by_column], highs[by_column]
    picked[:] = picked[by_column]
    rest = len(order)
    while rest > 0 and picked[rest - 1] == NIL:
        rest -= 1
    return rest
