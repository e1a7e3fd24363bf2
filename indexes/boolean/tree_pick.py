"""Which columns the members of an overflowing l-node are partitioned by (Algorithm 4, §V-B)."""

from indexes.boolean.tree_writing import on_path
from indexes.kernels import NIL
from indexes.kernels.decorators import bare, fused, inner
from indexes.kernels.prefetch import prefetch

_AHEAD = 8  # members whose predicates are prefetched before they are read
COARSE = 3  # so many powers of two of a load count as the same, so that members agree on keys


@fused
def _better(local, i, j, tally):
    """Whether predicate i is the better key: read seldom, then shared by many, then first."""
    if local.loads[i] // COARSE != local.loads[j] // COARSE:
        return local.loads[i] // COARSE < local.loads[j] // COARSE
    a, b = local.columns[i], local.columns[j]
    return tally[a] > tally[b] or (tally[a] == tally[b] and a < b)


@fused
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
        if i + 2 * _AHEAD < n:
            prefetch(local.starts, order[i + 2 * _AHEAD])
        if i + _AHEAD < n:
            prefetch(local.columns, local.starts[order[i + _AHEAD]])
            prefetch(local.loads, local.starts[order[i + _AHEAD]])
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
def by_pick(order, lows, highs, prints, picked, tally):
    """Group members by what they picked; return where those begin that picked nothing."""
    old, old_picked = order.copy(), picked.copy()
    old_lows, old_highs, old_prints = lows.copy(), highs.copy(), prints.copy()
    n, rest = len(order), 0
    for i in range(n):
        if picked[i] != NIL:
            tally[picked[i]] += 1
            rest += 1
    # From counts to places, each column where its first member comes; negative once it has one.
    start, last = 0, rest
    for i in range(n):
        column, at = old_picked[i], last
        if column == NIL:
            last += 1
        else:
            if tally[column] > 0:
                start, tally[column] = start + tally[column], -start - 1
            at = -tally[column] - 1
            tally[column] -= 1
        order[at], lows[at], highs[at] = old[i], old_lows[i], old_highs[i]
        prints[at], picked[at] = old_prints[i], column
    for i in range(rest):
        tally[picked[i]] = 0
    return rest
