"""Rules about bases that all matchers share: when a new one pays, and which ones fit."""

from collections.abc import Sequence

from indexes.intervals.sopt_r_tree import SOPTRTree

# Queries slow down with the delta; a new base for fewer changes than this would cost more.
_MOST_CHANGED = 0.1
_LEAST_CHANGES = 1024


def is_worn(changed: int, size: int) -> bool:
    """`changed` counts what came since the base was built, and what of the base went."""
    return changed > max(_MOST_CHANGED * size, _LEAST_CHANGES)


def require_trees(trees: Sequence[SOPTRTree], attributes: Sequence[str]) -> None:
    expected = f"one SOPTRTree for each of {list(attributes)} was expected"
    if not isinstance(trees, Sequence):
        raise ValueError(f"trees: got {type(trees).__name__} when {expected}")
    if len(trees) != len(attributes):
        raise ValueError(f"trees: got {len(trees)} when {expected}")
    for name, tree in zip(attributes, trees, strict=True):
        if not isinstance(tree, SOPTRTree):
            raise ValueError(f"trees: got {type(tree).__name__} for {name!r} when {expected}")
