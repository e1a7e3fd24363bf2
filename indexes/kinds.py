"""The index that answers for each kind of collection: made, restored, bounded, warmed up."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from indexes import boolean, paint, spatial_text
from indexes.boolean import (
    BooleanArrays,
    BooleanMatcher,
    hulls_of_arrays,
    hulls_of_expressions,
)
from indexes.boxes import (
    MOST_ATTRIBUTES,
    SubscriptionBoxes,
    box_around_all,
    box_around_each,
    live_intervals,
)
from indexes.hits import HitTable
from indexes.intervals import (
    ExactMatcher,
    LiveArrays,
    LiveMatcher,
    MatcherArrays,
    RelaxedArrays,
    RelaxedMatcher,
    SOPTArrays,
    SOPTRTree,
    warm_up_exact,
    warm_up_live,
    warm_up_relaxed,
)
from indexes.intervals.exact_boxes import encode_boxes
from indexes.spatial_text.placed import (
    MOST_PARTS,
    PlacedIndex,
    axes_of_places,
    boxes_of_arrays,
    boxes_of_columns,
)

Arrays = Mapping[str, np.ndarray]
Columns = Sequence[np.ndarray]


class ShardIndex(Protocol):
    """What a shard asks of an index; columns are those of the kind's subscription contract.

    An index answers from a base, which is never changed, and from what came since.
    """

    def __len__(self) -> int: ...

    @property
    def nbytes(self) -> int: ...

    def insert_many(self, ids: np.ndarray, *columns: Any) -> None: ...

    def delete_many(self, ids: np.ndarray) -> None: ...

    @property
    def delta_share(self) -> float:
        """How much of the index is outside its base, from 0 to 1."""

    @property
    def unplaced(self) -> int:
        """Parts of subscriptions that the index has no room to match."""

    @property
    def is_worn(self) -> bool:
        """Whether a new base would make answers quicker."""

    @property
    def rebases_itself(self) -> bool:
        """Whether it is worth the time to build that base in the worker."""

    def rebase(self) -> None: ...

    @property
    def is_stale(self) -> bool:
        """Whether the index will soon hold answers up to set itself in order, unless refreshed."""

    def refresh(self) -> None: ...

    def replace_base(self, trees: Sequence[SOPTRTree], since: int) -> None: ...

    def fork(self) -> "ShardIndex": ...

    def ids(self) -> np.ndarray: ...

    def to_arrays(self) -> Any:
        """A named tuple of arrays; `attributes` among them is not stored with a shard."""

    def top_k_many(self, events: Any, k: int) -> HitTable: ...


def known_attributes(attributes: Sequence[str]) -> tuple[str, ...]:
    return tuple(attributes[:MOST_ATTRIBUTES])


class Kind(NamedTuple):
    """`attributes` are the names of a collection, in order; its dialect is given by name.

    A kind without events has no shards: what it keeps is in `indexes.paint`.
    """

    family: str  # the package that its index is of: kinds of one have most kernels in common
    new: Callable[..., ShardIndex]
    # The index whose `to_arrays()` these are, without the names of the attributes.
    restore: Callable[..., ShardIndex]
    # How many boxes a subscription has at most, of so many axes.
    most_boxes: Callable[[int], int]
    boxes_of_columns: Callable[..., SubscriptionBoxes]  # of attributes, ids and columns
    boxes_of_arrays: Callable[..., SubscriptionBoxes]  # of attributes, arrays and live ids
    # One tree per attribute, of ids and columns: what the Spark job builds.  None: no bases.
    trees_for_a_base: Callable[[Sequence[str], np.ndarray, Columns], Iterator[SOPTArrays]] | None
    warm_up: Callable[[Sequence[str]], None]
    # What the sides of boxes are about, one name an axis.
    axes: Callable[[Sequence[str]], tuple[str, ...]] = known_attributes


def _new_ranked(attributes: Sequence[str]) -> LiveMatcher | ExactMatcher:
    return LiveMatcher(attributes) if len(attributes) == 1 else ExactMatcher(attributes)


def _restored_ranked(attributes: Sequence[str], arrays: Arrays) -> LiveMatcher | ExactMatcher:
    if len(attributes) == 1:
        return LiveMatcher.from_arrays(attributes, LiveArrays(**arrays))
    return ExactMatcher.from_arrays(MatcherArrays(np.array(attributes), **arrays))


def _warm_up_ranked(attributes: Sequence[str]) -> None:
    if len(attributes) == 1:
        warm_up_live(attributes)
    else:
        warm_up_exact(attributes)


def _ranked_trees(
    attributes: Sequence[str], ids: np.ndarray, columns: Columns
) -> Iterator[SOPTArrays]:
    """Every tree has every subscription: the walk of one attribute meets all that may match."""
    lows, highs, scores = columns
    boxes = encode_boxes(lows, highs, attributes)
    for j in range(len(attributes)):
        yield SOPTRTree.build(ids, boxes.lows[:, j], boxes.highs[:, j], scores).to_arrays()


def _relaxed_trees(
    attributes: Sequence[str], ids: np.ndarray, columns: Columns
) -> Iterator[SOPTArrays]:
    """The tree of an attribute has what constrains it, with the weights there as scores."""
    lows, highs, weights = columns
    for j in range(len(attributes)):
        rows = ~np.isnan(lows[:, j])
        tree = SOPTRTree.build(ids[rows], lows[rows, j], highs[rows, j], weights[rows, j])
        yield tree.to_arrays()


# Words were read with the stemmer by whoever parsed the records.


def _new_placed(
    attributes: Sequence[str], space: str = "sphere", stemmer: str | None = None
) -> PlacedIndex:
    return PlacedIndex(attributes, space)


def _restored_placed(
    attributes: Sequence[str], arrays: Arrays, space: str = "sphere", stemmer: str | None = None
) -> PlacedIndex:
    return PlacedIndex.from_arrays(attributes, arrays, space)


def _boxes_of_places(
    attributes: Sequence[str],
    ids: np.ndarray,
    columns: Columns,
    space: str = "sphere",
    stemmer: str | None = None,
) -> SubscriptionBoxes:
    return boxes_of_columns(attributes, ids, columns, space)


def _boxes_of_placed_arrays(
    attributes: Sequence[str],
    arrays: Arrays,
    live: np.ndarray,
    space: str = "sphere",
    stemmer: str | None = None,
) -> SubscriptionBoxes:
    return boxes_of_arrays(attributes, arrays, space)


def _no_shards(*_: Any) -> Any:
    raise KeyError("kind range_topk has zones, no shards")


KINDS: dict[str, Kind] = {
    "ranked": Kind(
        family="intervals",
        new=_new_ranked,
        restore=_restored_ranked,
        most_boxes=lambda attributes: 1,
        boxes_of_columns=lambda attributes, ids, columns: box_around_all(ids, *columns[:2]),
        boxes_of_arrays=lambda attributes, arrays, live: box_around_all(
            *live_intervals(len(attributes), arrays, live)
        ),
        trees_for_a_base=_ranked_trees,
        warm_up=_warm_up_ranked,
    ),
    "relaxed": Kind(
        family="intervals",
        new=RelaxedMatcher,
        restore=lambda attributes, arrays: RelaxedMatcher.from_arrays(
            RelaxedArrays(np.array(attributes), **arrays)
        ),
        most_boxes=lambda attributes: attributes + 1,
        boxes_of_columns=lambda attributes, ids, columns: box_around_each(ids, *columns[:2]),
        boxes_of_arrays=lambda attributes, arrays, live: box_around_each(
            *live_intervals(len(attributes), arrays, live)
        ),
        trees_for_a_base=_relaxed_trees,
        warm_up=warm_up_relaxed,
    ),
    "boolean": Kind(
        family="boolean",
        new=lambda attributes: BooleanMatcher(),
        restore=lambda attributes, arrays: BooleanMatcher.from_arrays(BooleanArrays(**arrays)),
        most_boxes=lambda attributes: 1,
        boxes_of_columns=lambda attributes, ids, columns: SubscriptionBoxes.one_each(
            *hulls_of_expressions(ids, columns[0], attributes[:MOST_ATTRIBUTES])
        ),
        boxes_of_arrays=lambda attributes, arrays, live: SubscriptionBoxes.one_each(
            *hulls_of_arrays(BooleanArrays(**arrays), attributes[:MOST_ATTRIBUTES])
        ),
        trees_for_a_base=None,
        warm_up=lambda attributes: boolean.warm_up(),
    ),
    "spatial_text": Kind(
        family="spatial_text",
        new=_new_placed,
        restore=_restored_placed,
        most_boxes=lambda axes: MOST_PARTS,
        boxes_of_columns=_boxes_of_places,
        boxes_of_arrays=_boxes_of_placed_arrays,
        trees_for_a_base=None,
        warm_up=lambda attributes: spatial_text.warm_up(),
        axes=axes_of_places,
    ),
    "range_topk": Kind(
        family="paint",
        new=_no_shards,
        restore=_no_shards,
        most_boxes=_no_shards,
        boxes_of_columns=_no_shards,
        boxes_of_arrays=_no_shards,
        trees_for_a_base=None,
        warm_up=lambda attributes: paint.warm_up(),
    ),
}


def new_index(
    kind: str, attributes: Sequence[str], dialect: Mapping[str, Any] | None = None
) -> ShardIndex:
    return KINDS[kind].new(attributes, **(dialect or {}))
