"""A `NamedPaint` whose objects are in Spark's tasks, in slices of the x axis, and not here.

What this process holds are names, boundaries and a sample.  Each call is a stage of one task per
slice.  Slices are cut so that they have about equally many objects, and anew when one has become
much larger than the others.
"""

import logging
import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from pyspark.sql import SparkSession

from configs import Collection
from indexes.paint import FirstLists, ObjectStates, Painted
from indexes.paint.named_slices import best_of, boundaries_for, in_one
from spark_streaming.tasks.paint_slices import (
    Answer,
    Changes,
    Listing,
    SlicePlan,
    SlicesAt,
    slice_answers,
)
from storage.base_store import BaseStore
from topics.worlds import WorldName

log = logging.getLogger(__name__)

_UNEVEN = 1.5  # times as many objects as are fair, and slices are cut anew
_WORTH_CUTTING = 1_000  # objects


class SlicedArrays(NamedTuple):
    settings: np.ndarray  # f8[2]  k, epsilon (0: exact)
    boundaries: np.ndarray  # f8[]
    counts: np.ndarray  # i8[]  objects by slice; none: there are no slices yet
    samples: np.ndarray  # f8[]  of all slices
    sample_sizes: np.ndarray  # i8[]


class SlicedPaint:
    """As a `NamedPaint` of the dense form, for batches only."""

    form = "dense"

    def __init__(self, spark: SparkSession, store: str, collection: Collection) -> None:
        """`store` is the address of the base store, which may hold a password."""
        self._spark, self._store = spark, store
        self.k, self.epsilon, self._slices = collection.k, collection.epsilon, collection.slices
        self._at: SlicesAt | None = None
        self._counts: list[int] = []
        self._samples: list[np.ndarray] = []
        self._subscriptions = 0
        self._world: WorldName | None = None
        self._steps = 0

    def goes_to(self, world: WorldName) -> None:
        """What changes from now on is on the way to that world."""
        if self._world != world:
            self._world, self._steps = world, 0

    def settle(self) -> None:
        """Have the slices stored as those of the world that they are on the way to."""
        assert self._world is not None
        if self._at is None:
            self._at = SlicesAt(self._world, None, ())
            self._note(self._run(None, self._at, None), self._at)
            return
        settled = self._at._replace(world=self._world, step=None)
        if self._at != settled:
            self._advance(settled, None)

    def _advance(self, after: SlicesAt, work: Changes | None) -> list[Answer]:
        before = self._at
        answers = self._run(before, after, work)
        self._note(answers, after)
        if before is not None and before.step is not None:
            store = BaseStore.open(self._store)
            for number in range(before.slices):
                store.drop(before.name(number))
        return answers

    def _change(self, ids: Sequence[bytes], xs: Any, ys: Any, aloud: bool) -> list[Answer]:
        assert self._world is not None
        x, y = np.asarray(xs, np.float64), np.asarray(ys, np.float64)
        boundaries = self._boundaries(x[~np.isnan(y)])
        after = SlicesAt(self._world, self._steps or None, boundaries)
        self._steps += 1
        return self._advance(after, Changes(list(ids), x, y, aloud))

    def _boundaries(self, coming: np.ndarray) -> tuple[float, ...]:
        """Those that are, as long as slices are about even; `coming` are the x of new objects."""
        now = self._at.boundaries if self._at is not None else ()
        total = self.objects
        if total:
            is_even = max(self._counts) <= _UNEVEN * total / self._slices
            if is_even or total < _WORTH_CUTTING:
                return now
        known = [
            np.repeat(sample, max(1, count // max(1, len(sample))))
            for sample, count in zip(self._samples, self._counts, strict=True)
        ]
        x = np.sort(np.concatenate([*known, coming]))
        if not len(x):
            return now
        cuts = x[[len(x) * i // self._slices for i in range(1, self._slices)]]
        boundaries = tuple(boundaries_for(cuts, self.k))
        if boundaries != now:
            log.info("objects are cut into %d slices", len(boundaries) + 1)
        return boundaries

    def _run(
        self, before: SlicesAt | None, after: SlicesAt | None, work: Listing | Changes | None
    ) -> list[Answer]:
        token = secrets.token_bytes(32)
        plan = SlicePlan(self.k, self.epsilon, self._store, token, before, after, work)
        return slice_answers(self._spark, plan)

    def _note(self, answers: Iterable[Answer], at: SlicesAt) -> None:
        self._at = at
        self._counts = [one.objects for one in answers]
        self._samples = [one.sample for one in answers]

    # What a world asks of it.

    def __len__(self) -> int:
        """The number of subscriptions."""
        return self._subscriptions

    @property
    def objects(self) -> int:
        return sum(self._counts)

    @property
    def nbytes(self) -> int:
        """Of this process."""
        return sum(sample.nbytes for sample in self._samples)

    def subscribe_many(self, ids: Any, lows: Any, highs: Any) -> None:
        self._subscriptions += len(ids)

    def unsubscribe_many(self, ids: Any) -> None:
        self._subscriptions -= len(ids)

    def first_lists(self, lows: Any, highs: Any) -> FirstLists:
        if not self.objects or not len(lows):
            nothing = np.empty(0)
            none = ObjectStates([], nothing, nothing)
            return FirstLists(np.zeros(len(lows), np.int64), np.empty(0, np.int32), none)
        ends = np.asarray(lows, np.float64), np.asarray(highs, np.float64)
        answers = self._run(self._at, None, Listing(*ends))
        return best_of([one.lists for one in answers if one.lists is not None], self.k)

    def take_in(self, ids: Sequence[bytes], xs: Any, ys: Any) -> None:
        self._change(ids, xs, ys, aloud=False)

    def put_batch(self, ids: Sequence[bytes], xs: Any, ys: Any) -> Painted:
        answers = self._change(ids, xs, ys, aloud=True)
        return in_one([one.painted for one in answers if one.painted is not None])

    def to_arrays(self) -> SlicedArrays:
        boundaries = self._at.boundaries if self._at is not None else ()
        return SlicedArrays(
            np.array([self.k, self.epsilon or 0.0]),
            np.array(boundaries, np.float64),
            np.array(self._counts, np.int64),
            np.concatenate([np.empty(0), *self._samples]),
            np.array([len(sample) for sample in self._samples], np.int64),
        )

    def restore(self, arrays: Mapping[str, np.ndarray], world: WorldName) -> None:
        """Become what `to_arrays()` gave when the slices were those of that world."""
        saved = SlicedArrays(**arrays)
        self._counts = saved.counts.tolist()
        ends = np.cumsum(saved.sample_sizes)[:-1]
        self._samples = np.split(saved.samples, ends) if self._counts else []
        self._at = SlicesAt(world, None, tuple(saved.boundaries.tolist()))

    def is_stored(self) -> bool:
        """Whether all slices are in the base store."""
        assert self._at is not None
        store = BaseStore.open(self._store)
        return all(store.has(self._at.name(number)) for number in range(self._at.slices))

    def check(self) -> None:
        """Raise `AssertionError` unless every structural invariant holds."""
        assert len(self._counts) == (self._at.slices if self._at is not None else 0)
