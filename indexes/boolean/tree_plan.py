"""Which members an l-node gets once a subtree is parted: its own, and the few of buckets below it.

What lies across the cut of a bucket stays in its l-node.  Down the tree that is often a handful,
and reading an l-node takes as long as testing dozens of members more in another.  So it joins what
lies across the cut above where that makes for fewer expected tests: members of an l-node, and a
handful for reading it, times its extent.
"""

import numpy as np

from indexes.boolean.tree_layout import LEFT, LIMIT, RIGHT
from indexes.boolean.tree_members import fill, path_of
from indexes.boolean.tree_room import can_fill
from indexes.kernels import NIL
from indexes.kernels.decorators import bare, inner

# Fields of a plan: a c-node; its members, from one place to another; the plan of the bucket above;
# how many members it is to have, and their least and greatest code; the first of the plans whose
# members it gets, and for a plan that gave its own away the next of these; whether it lacks room to
# be parted, and whether the heaviest come first.
NODE, FROM, TO, ABOVE, SIZE, LOW, HIGH, GIVEN, NEXT, CROWDED, BY_WEIGHT = range(11)
PLAN_FIELDS = 11


@bare
def make_plan(plan, i, first, last, lows, highs, crowded, by_weight):
    plan[i, FROM], plan[i, TO], plan[i, SIZE] = first, last, last - first
    plan[i, GIVEN] = plan[i, NEXT] = NIL
    plan[i, CROWDED], plan[i, BY_WEIGHT] = crowded, by_weight
    low, high = np.int64(256), np.int64(0)
    for at in range(first, last):
        low, high = min(low, np.int64(lows[at])), max(high, np.int64(highs[at]))
    plan[i, LOW], plan[i, HIGH] = low, high


@bare
def _tests(size, low, high, handful):
    """What an l-node is expected to take, in tests of members."""
    return (size + handful) * (high - low + 1) if size else 0


@bare
def _joins_above(t, plan, i, handful, capacity):
    """Whether the bucket above is to take a bucket's members."""
    node, above = plan[i, NODE], plan[i, ABOVE]
    size, low, high = plan[i, SIZE], plan[i, LOW], plan[i, HIGH]
    inside = t.c[node, LEFT] != NIL and t.c[node, RIGHT] != NIL
    if not inside or above == NIL or size == 0 or size + plan[above, SIZE] > capacity:
        return False
    apart = _tests(size, low, high, handful)
    apart += _tests(plan[above, SIZE], plan[above, LOW], plan[above, HIGH], handful)
    low, high = min(low, plan[above, LOW]), max(high, plan[above, HIGH])
    return _tests(size + plan[above, SIZE], low, high, handful) < apart


@bare
def _hand_over(plan, i):
    """Give all members of a plan to the one above."""
    above, last = plan[i, ABOVE], i
    plan[above, LOW] = min(plan[i, LOW], plan[above, LOW])
    plan[above, HIGH] = max(plan[i, HIGH], plan[above, HIGH])
    plan[i, NEXT] = plan[i, GIVEN]
    while plan[last, NEXT] != NIL:
        last = plan[last, NEXT]
    plan[last, NEXT], plan[above, GIVEN] = plan[above, GIVEN], i
    plan[above, SIZE] += plan[i, SIZE]


@inner
def _places_of(plan, i):
    """Where all members of a plan are, given ones after its own."""
    places, count, source = np.empty(plan[i, SIZE], np.int64), 0, i
    while source != NIL:
        for at in range(plan[source, FROM], plan[source, TO]):
            places[count] = at
            count += 1
        source = plan[i, GIVEN] if source == i else plan[source, NEXT]
    return places


@inner
def fill_planned(t, r, local, plan, order, lows, highs, prints, path, options):
    """Fill the l-nodes of a settled subtree, the lowest first; False without room for all."""
    for i in range(len(plan) - 1, -1, -1):
        node = plan[i, NODE]
        if _joins_above(t, plan, i, options.handful, options.capacity):
            _hand_over(plan, i)
            places = np.empty(0, np.int64)
        elif can_fill(t, plan[i, SIZE]):
            places = _places_of(plan, i)
        else:
            return False
        depth = path_of(t, node, path)
        fill(
            t, r, local, node, order[places], lows[places], highs[places], prints[places], path,
            depth, options.capacity, plan[i, BY_WEIGHT] != 0,
        )  # fmt: skip
        if plan[i, CROWDED]:
            t.c[node, LIMIT] = options.capacity
    return True
