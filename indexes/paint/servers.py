"""`PaintServers`: the objects of one database on several servers (the Paint paper, appendix C).

The x axis is cut at boundaries, and each server keeps the objects of its own slice.  An update goes
to the server of its object.  What the sweep of `painting` asks of objects is two queries, and both
go from server to neighbouring server:

    first_k   from the server of x outwards, with what is left of k, until k objects are found or
              the axis ends (Algorithm 1)
    min_y     to every server whose slice has a part of the range; the least answer counts
              (Algorithm 2)

The influence interval of an object ends at the k-th better one, so servers far from it are not
asked.  A query and its answer are a few numbers.  So a `Slice` need not be an index in this
process: whatever answers these calls will do, over a wire, too.  The sweep itself runs where the
event is, and is told in `painting`: only the loop around its steps is here, because compiled code
cannot wait for a neighbour.

With k = 2, objects at 1, 2, 4, 5, 9, of which those at 2, 5, 9 are better than the one at 4, and
boundaries 3 and 7:

    server 0: [1, 2]   server 1: [4, 5]   server 2: [9]
    first_k(4, "right")   server 1 has 5, one is left to be found; server 2 has 9: two visited
    first_k(4, "left")    server 1 has none, server 0 has 2, there the axis ends: two visited

>>> objects = SlicedObjects([3, 7])
>>> objects.put_many([(1, 50), (2, 10), (4, 40), (5, 20), (9, 30)])
>>> objects.first_k(4, 40, 2, "right"), objects.first_k(4, 40, 2, "left")
([5.0, 9.0], [2.0])
>>> objects.min_y(2, 5, 20), objects.visited
((4.0, 40.0), [2, 2, 2])
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import merge
from itertools import islice
from math import inf
from typing import Any, Protocol, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from indexes.paint.batch import worsened_first
from indexes.paint.messages import MessageTable
from indexes.paint.objects import Key, ObjectArrays, ObjectIndex, as_objects
from indexes.paint.painting import (
    COLUMNS,
    FIRST_K,
    MIN_Y,
    rule_out,
    step_down,
    tell_exposed,
    tell_gain,
    tell_region,
    tell_worsened,
)
from indexes.paint.regions import LEFT, RIGHT, Staircase, influence_interval
from indexes.paint.server import PaintDense, ServerArrays, Updates, table_of
from indexes.validation import as_number_array, require_finite

__all__ = ["Neighbour", "Others", "PaintServers", "PaintShare", "Slice", "SlicedObjects"]


class Neighbour(Protocol):
    """What the sweep asks of the objects of a slice: see `ObjectIndex`."""

    def first_k(self, x: float, y: Key, k: int, side: str) -> list[float]: ...
    def min_y(self, low: float, high: float, y: Key) -> tuple[float, float] | None: ...


class Slice(Neighbour, Protocol):
    """The objects of one slice of the x axis, wherever they are kept: see `ObjectIndex`."""

    def top_k(self, low: float, high: float, k: int) -> list[tuple[float, float]]: ...
    def find_many(self, xs: np.ndarray) -> np.ndarray: ...
    def put(self, x: float, y: float) -> None: ...
    def put_many(self, objects: ArrayLike) -> None: ...
    def remove(self, x: float) -> None: ...
    def to_arrays(self) -> ObjectArrays: ...
    def check(self) -> None: ...
    def __len__(self) -> int: ...
    @property
    def nbytes(self) -> int: ...


class SlicedObjects:
    """Slices in ascending order of x, asked in turn.

    Slice s has the objects with boundaries[s - 1] <= x < boundaries[s].  `visited` says how many
    slices each `first_k` and `min_y` has asked.
    """

    def __init__(self, boundaries: ArrayLike, slices: Sequence[Slice] | None = None) -> None:
        """Slices that hold nothing yet, if none are given: one more than there are boundaries."""
        self.boundaries = as_boundaries(boundaries)
        servers = len(self.boundaries) + 1
        if slices is None:
            slices = [ObjectIndex() for _ in range(servers)]
        self.slices = list(slices)
        if len(self.slices) != servers:
            raise ValueError(
                f"slices: got {len(self.slices)} when {servers} were expected, one more than"
                " boundaries"
            )
        self.visited: list[int] = []

    def __len__(self) -> int:
        return sum(len(part) for part in self.slices)

    def home(self, x: float) -> int:
        """The number of the slice that x is in."""
        return bisect_right(self.boundaries, x)

    def first_k(self, x: float, y: Key, k: int, side: str) -> list[float]:
        """As `ObjectIndex.first_k`, from the slice of x outwards (Algorithm 1)."""
        home = self.home(x)
        outwards = self.slices[home::-1] if side == "left" else self.slices[home:]
        found: list[float] = []
        visits = 0
        for part in outwards:
            visits += 1
            found += part.first_k(x, y, k - len(found), side)
            if len(found) == k:
                break
        self.visited.append(visits)
        return found

    def min_y(self, low: float, high: float, y: Key) -> tuple[float, float] | None:
        """As `ObjectIndex.min_y`, the least of the answers of all slices (Algorithm 2)."""
        asked = self._across(low, high)
        self.visited.append(len(asked))
        answers = [part.min_y(low, high, y) for part in asked]
        return min((answer for answer in answers if answer is not None), key=_key, default=None)

    def top_k(self, low: float, high: float, k: int) -> list[tuple[float, float]]:
        """As `ObjectIndex.top_k`."""
        lists = (part.top_k(low, high, k) for part in self._across(low, high))
        return list(islice(merge(*lists, key=_key), k))

    def _across(self, low: float, high: float) -> list[Slice]:
        """The slices that a range has a part of; one at least."""
        return self.slices[self.home(low) : self.home(high) + 1]

    def find_many(self, xs: np.ndarray) -> np.ndarray:
        """The y of the object at each x; inf: there is none."""
        found = np.empty(len(xs))
        for part, there in zip(self.slices, self._shares(xs), strict=True):
            if len(there):
                found[there] = part.find_many(xs[there])
        return found

    def put(self, x: float, y: float) -> None:
        self.slices[self.home(x)].put(x, y)

    def put_many(self, objects: ArrayLike | Iterable[tuple[float, float]]) -> None:
        """Add objects that are all new, or none: pairs (x, y)."""
        table = as_objects(objects)
        ascending = np.sort(table[:, 0])
        twice = ascending[1:][ascending[1:] == ascending[:-1]]
        known = table[self.find_many(table[:, 0].copy()) != inf, 0]
        if len(twice) or len(known):
            x = (twice if len(twice) else known)[0]
            raise KeyError(f"x: got {x} a second time when a new object was expected")
        for part, there in zip(self.slices, self._shares(table[:, 0]), strict=True):
            if len(there):
                part.put_many(table[there])

    def _shares(self, xs: np.ndarray) -> list[np.ndarray]:
        """The places of those x that are in each slice."""
        homes = np.searchsorted(self.boundaries, xs, side="right")
        order = np.argsort(homes, kind="stable")
        return np.split(order, np.searchsorted(homes[order], np.arange(1, len(self.slices))))

    def remove(self, x: float) -> None:
        self.slices[self.home(x)].remove(x)

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self.slices)

    def to_arrays(self) -> ObjectArrays:
        saved = [part.to_arrays() for part in self.slices]
        x, y = (np.concatenate(columns) for columns in zip(*saved, strict=True))
        return ObjectArrays(x, y)

    def check(self) -> None:
        """Raise `AssertionError` unless every structural invariant holds."""
        assert len(self.slices) == len(self.boundaries) + 1
        for number, part in enumerate(self.slices):
            part.check()
            for x in part.to_arrays().x.tolist():
                assert self.home(x) == number, f"x = {x} is in slice {number}"


def _key(item: tuple[float, float]) -> tuple[float, float]:
    x, y = item
    return y, x


def as_boundaries(boundaries: ArrayLike) -> list[float]:
    cuts = require_finite("boundaries", as_number_array("boundaries", boundaries))
    wrong = np.flatnonzero(cuts[1:] <= cuts[:-1])
    if len(wrong):
        before, behind = cuts[wrong[0] : wrong[0] + 2]
        raise ValueError(f"boundaries: got {behind} behind {before} when they should ascend")
    return cuts.tolist()


class PaintServers(PaintDense):
    """A `PaintDense` whose objects are on several servers, and which says the same.

    >>> servers = PaintServers(k=1, boundaries=[2, 3])
    >>> servers.load([(1, 10), (2, 20), (3, 30)])
    >>> [(m.x, m.y) for m in servers.update(2, 20, 40)]
    [(2.0, 40.0), (3.0, 30.0)]
    >>> servers.traversed  # to the left; to the right; two sweeps, of which the second is in vain
    [2, 2, 3, 3]
    """

    # The queries of an `ObjectIndex`, but not the arrays of one, which only kernels need.
    objects: SlicedObjects  # type: ignore[assignment]

    def __init__(
        self,
        k: int,
        boundaries: ArrayLike,
        epsilon: float | None = None,
        slices: Sequence[Slice] | None = None,
    ) -> None:
        """Server s keeps the objects with boundaries[s - 1] <= x < boundaries[s].

        `slices` are their objects if they are kept elsewhere, or there already.
        """
        super().__init__(k, epsilon)
        self.objects = SlicedObjects(boundaries, slices)

    @property
    def traversed(self) -> list[int]:
        """How many servers each query of the last update, or of the last many, has visited."""
        return list(self.objects.visited)

    def _paint(self, updates: Updates) -> MessageTable:
        self.objects.visited.clear()
        painting, stairs = _Painting(self), self.brush.stairs
        for event, (x, old, new) in enumerate(_rows(updates)):
            if new < old:
                painting.stand(self.objects, stairs, x, new)
                painting.tell(tell_region, event, x, new)
            elif new > old:
                painting.stand(self.objects, stairs, x, old)
                painting.tell(tell_region, event, x, new)
                for exposed in painting.sweep(x, old, new):
                    painting.tell(tell_exposed, event, x, *exposed)
            if new != old:
                self._set(x, new)
        return painting.table()

    def paint_batch(
        self, net: Updates, updated: ObjectIndex, worsened: np.ndarray, improved: np.ndarray
    ) -> MessageTable:
        self.objects.visited.clear()
        rows = _rows(net)
        for x, _, new in rows:
            self._set(x, new)
        batch = _Batch(self, updated, {x for x, _, _ in rows})
        unchanged: dict[float, float] = {}
        for event in worsened.tolist():
            unchanged |= batch.worsen(event, *rows[event])
        for x, y in sorted(unchanged.items()):
            batch.gain(x, y)
        for event in improved.tolist():
            batch.improve(event, *rows[event])
        return batch.painting.table()

    def _set(self, x: float, y: float) -> None:
        if y == inf:
            self.objects.remove(x)
        else:
            self.objects.put(x, y)

    def to_arrays(self) -> ServerArrays:
        saved = super().to_arrays()
        return saved._replace(settings=np.append(saved.settings, self.objects.boundaries))

    @classmethod
    def _from_settings(cls, settings: list[float]) -> Self:
        k, epsilon, *boundaries = settings
        return cls(int(k), boundaries, epsilon or None)


class Others(Protocol):
    """The servers of a batch that run at the same time, each with a slice."""

    def gather(self, mine: bytes) -> list[bytes]:
        """What every server gives, by slice, once all have; all call it equally often."""


class PaintShare(PaintServers):
    """One of several servers that paint a batch together, each its own slice's objects.

    The objects of the other slices are asked for their answers, and never changed from here.  A
    batch is a round or more: a server that has no updates for a round takes part in it without.
    What all servers say in a round is, in the order of `places`, what one server would say.
    """

    def __init__(
        self,
        k: int,
        boundaries: ArrayLike,
        epsilon: float | None,
        number: int,
        slices: Sequence[Neighbour],
        others: Others,
    ) -> None:
        """Of `slices` only the own one, `number`, has to be more than a neighbour."""
        super().__init__(k, boundaries, epsilon, cast("Sequence[Slice]", slices))
        self._number, self._others = number, others
        self.is_done = False  # this server has no more updates after those of the next round
        self.all_done = False  # as all of them said in the last round
        self.places = np.empty(0, np.int64)  # of the last round's messages, among those of all

    def paint_batch(
        self, net: Updates, updated: ObjectIndex, worsened: np.ndarray, improved: np.ndarray
    ) -> MessageTable:
        said = self._others.gather(np.column_stack(net).tobytes() + bytes([self.is_done]))
        self.all_done = all(one[-1] for one in said)
        parts = [np.frombuffer(one[:-1], np.float64).reshape(-1, 3) for one in said]
        x, old, _ = everything = np.concatenate(parts).T
        first = sum(map(len, parts[: self._number]))
        rows = _rows(net)
        for at, _, new in rows:
            self._set(at, new)
        self._others.gather(b"")  # now all objects are as they will be
        there = np.column_stack([x, old])[np.isfinite(old)]
        batch, places = _Batch(self, ObjectIndex.build(there), set(x.tolist())), _Places()
        turn = {int(event): at for at, event in enumerate(worsened_first(*everything))}
        unchanged: dict[float, float] = {}
        for event in worsened.tolist():
            unchanged |= batch.worsen(event, *rows[event])
            places.note(batch.painting, turn[first + event])
        gained = np.array(sorted(unchanged.items()), np.float64).reshape(-1, 2)
        found = self._others.gather(gained.tobytes())
        all_gained = np.unique(
            np.concatenate([np.frombuffer(one, np.float64).reshape(-1, 2) for one in found]), axis=0
        )
        for at, (gained_x, y) in enumerate(all_gained.tolist(), len(turn)):
            if self.objects.home(gained_x) == self._number:
                batch.gain(gained_x, y)
                places.note(batch.painting, at)
        for event in improved.tolist():
            batch.improve(event, *rows[event])
            places.note(batch.painting, len(turn) + len(all_gained) + first + event)
        self._others.gather(b"")  # nobody asks any more for objects as they are now
        self.places = places.of_all()
        return batch.painting.table()

    def to_arrays(self) -> ServerArrays:
        """Of its own slice."""
        objects = self.objects.slices[self._number].to_arrays()
        settings = np.array([self.k, self.epsilon or 0.0, *self.objects.boundaries])
        return ServerArrays(settings, *objects, *self._saved_subscriptions())


class _Places:
    """Where among the messages of all servers those of this one belong."""

    def __init__(self) -> None:
        self._runs: list[tuple[int, int]] = []
        self._used = 0

    def note(self, painting: "_Painting", place: int) -> None:
        """What was said since the last note."""
        self._runs.append((place, painting.used - self._used))
        self._used = painting.used

    def of_all(self) -> np.ndarray:
        places, counts = np.array(self._runs, np.int64).reshape(-1, 2).T
        return np.repeat(places, counts)


def _rows(updates: Updates) -> list[tuple[float, float, float]]:
    return list(zip(*(column.tolist() for column in updates), strict=True))


class _Before:
    """The objects as they were before a batch: the final ones, and the updated by their old keys.

    (§IV-A's T and T'.)  Of the final ones those that were updated do not count.
    """

    def __init__(self, objects: SlicedObjects, updated: ObjectIndex, changed: set[float]) -> None:
        self._objects, self._updated, self._changed = objects, updated, changed

    def first_k(self, x: float, y: Key, k: int, side: str) -> list[float]:
        found = self._updated.first_k(x, y, k, side)
        start, wanted = x, len(found) + k
        while len(found) < wanted:
            met = self._objects.first_k(start, y, k, side)
            found += [other for other in met if other not in self._changed]
            if len(met) < k:
                break
            start = met[-1]
        return sorted(found, reverse=side == "left")[:k]


class _Batch:
    """The steps of a batch (see `batch`), once all objects are as they will be."""

    def __init__(self, server: "PaintServers", updated: ObjectIndex, changed: set[float]) -> None:
        self.painting = _Painting(server)
        self._brush, self._changed = server.brush, changed
        self._after = server.objects
        self._before = _Before(server.objects, updated, changed)

    def worsen(self, event: int, x: float, old: float, new: float) -> dict[float, float]:
        """Tell of a worsened object; the unchanged ones that it lets into lists, y by x."""
        painting, brush = self.painting, self._brush
        painting.stand(self._after, brush.stale, x, old)
        painting.stand(self._before, brush.before, x, old)
        if new == inf:
            rule_out(brush.stairs)
        else:
            painting.stand(self._after, brush.stairs, x, new)
        painting.tell(tell_worsened, event, x, new)
        for field, values in zip(brush.stairs, brush.stale, strict=True):
            field[:] = values
        return {at: y for at, y in painting.sweep(x, old, new) if at not in self._changed}

    def gain(self, x: float, y: float) -> None:
        """Tell of an unchanged object those that have it now and had not."""
        self.painting.stand(self._after, self._brush.stairs, x, y)
        self.painting.stand(self._before, self._brush.before, x, y)
        self.painting.tell(tell_gain, -1, x, y)

    def improve(self, event: int, x: float, old: float, new: float) -> None:
        self.painting.stand(self._after, self._brush.stairs, x, new)
        self.painting.tell(tell_region, event, x, new)


class _Painting:
    """The messages so far, and the steps that write them."""

    def __init__(self, server: PaintServers) -> None:
        self._objects, self._brush, self._group = server.objects, server.brush, server.group
        self._messages, self.used = np.empty((16, COLUMNS)), 0

    def table(self) -> MessageTable:
        return table_of(self._messages[: self.used])

    def stand(
        self, objects: SlicedObjects | _Before, stairs: Staircase, x: float, y: float
    ) -> None:
        """The staircase of an object at x with that y."""
        self._brush.calls[FIRST_K] += 2
        for side, name, found in ((LEFT, "left", stairs.left), (RIGHT, "right", stairs.right)):
            xs = objects.first_k(x, (y, x), len(found), name)
            found[: len(xs)] = xs
            stairs.counts[side] = len(xs)

    def sweep(self, x: float, old: float, new: float) -> Iterator[tuple[float, float]]:
        """The objects that a key passes on its way up (Algorithm 3), each before it has."""
        stairs, key = self._brush.stairs, (old, x)
        while True:
            self._brush.calls[MIN_Y] += 1
            low, high = influence_interval(stairs)
            exposed = self._objects.min_y(low, high, key)
            if exposed is None or _key(exposed) >= (new, x):
                return
            yield exposed
            step_down(stairs, x, exposed[0])
            key = _key(exposed)

    def tell(self, kernel: Callable[..., Any], event: int, *objects: float) -> None:
        """Let a step of `painting` write its messages."""
        self._messages, self.used = kernel(
            None, self._brush, self._group, self._messages, self.used, event, *objects
        )
