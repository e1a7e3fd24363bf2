"""Objects in slices: together they say and list what one server with all objects does."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from indexes.paint.named import NamedPaint, NamedPaintArrays
from indexes.paint.named_slices import NamedSlice, best_of, boundaries_for, in_one, part_of
from tests.effort import effort
from tests.indexes.paint.named.listeners import Listener, messages
from tests.oracles.range_topk import top_k

INF, NAN = float("inf"), float("nan")
PATIENCE_S = 60


class Circle:
    """What lets slices in threads run at the same time."""

    def __init__(self, count):
        self._given = [b""] * count
        self._barrier = threading.Barrier(count, timeout=PATIENCE_S)

    def seat(self, number):
        return Seat(self, number)


class Seat:
    def __init__(self, circle, number):
        self._circle, self._number = circle, number

    def gather(self, mine):
        self._circle._given[self._number] = mine
        self._circle._barrier.wait()
        given = list(self._circle._given)
        self._circle._barrier.wait()
        return given


class Slices:
    """A `NamedPaint` of several slices."""

    def __init__(self, k, cuts, epsilon=None):
        self.k, self.boundaries = k, boundaries_for(cuts, k)
        self.parts = [
            NamedSlice(k, epsilon, self.boundaries, i) for i in range(len(self.boundaries) + 1)
        ]

    def put_batch(self, ids, xs, ys):
        circle = Circle(len(self.parts))
        held = [part.held for part in self.parts]

        def put(number):
            part = self.parts[number]
            return part.put_together(ids, xs, ys, held, circle.seat(number))

        with ThreadPoolExecutor(len(self.parts)) as pool:
            return in_one(list(pool.map(put, range(len(self.parts)))))

    def first_lists(self, lows, highs):
        return best_of([part.first_lists(lows, highs) for part in self.parts], self.k)

    def cut_anew(self, cuts):
        saved = [part.to_arrays() for part in self.parts]
        self.boundaries = boundaries_for(cuts, self.k)
        self.parts = []
        for number in range(len(self.boundaries) + 1):
            part = NamedSlice(self.k, None, self.boundaries, number)
            for arrays in saved:
                part.restore(part_of(arrays, self.boundaries, number))
            self.parts.append(part)

    def check(self):
        for part in self.parts:
            part.check()


def changes(chance, count):
    """Ids, x and y of random changes; few places, so that ties and crowds are common."""
    rows = [
        (b"o-%d" % chance.randrange(90), float(chance.randrange(4)), _y(chance))
        for _ in range(count)
    ]
    return [list(column) for column in zip(*rows, strict=True)]


def apart(chance, count):
    """The same of objects that never share an x."""
    rows = []
    for _ in range(count):
        number = chance.randrange(80)
        rows.append((b"o-%d" % number, chance.randrange(12) + number / 100, _y(chance)))
    return [list(column) for column in zip(*rows, strict=True)]


def _y(chance):
    return NAN if chance.random() < 0.2 else chance.randrange(8) / 2


def said(painted):
    arrays = [*painted[:6], *painted.states[1:]]
    gone = sorted(zip(painted.gone_ids, map(repr, painted.gone_to.tolist()), strict=True))
    return [array.tobytes() for array in arrays], painted.states.ids, gone


RANGES = [(low, high) for low in (-INF, 0.0, 3.0, 5.5, 8.0) for high in (3.0, 6.0, 9.0, INF)
          if low <= high]  # fmt: skip


def listed(lists):
    found, start = [], 0
    for count in lists.counts.tolist():
        rows = lists.states[start : start + count].tolist()
        start += count
        of = lists.objects
        found.append([(of.ids[r], float(of.x[r]), float(of.y[r])) for r in rows])
    return found


@pytest.mark.parametrize("epsilon", [None, 0.5])
@pytest.mark.parametrize("cuts", [[6.0], [2.0, 3.0, 9.0], [-5.0, 40.0]], ids=str)
@pytest.mark.parametrize("seed", range(effort(2, 20)))
def test_slices_say_what_one_server_says(seed, cuts, epsilon):
    """To the byte, as long as no cell is crowded, which takes rounds."""
    chance = random.Random(seed)
    slices, alone = Slices(3, cuts, epsilon), NamedPaint(3, "dense", epsilon)
    for count in (40, 30, 1, 20, 60):
        batch = apart(chance, count)
        assert said(slices.put_batch(*batch)) == said(alone.put_batch(*batch))
        slices.check()
        lows, highs = zip(*RANGES, strict=True)
        assert listed(slices.first_lists(lows, highs)) == listed(alone.first_lists(lows, highs))


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("seed", range(effort(3, 30)))
def test_lists_are_right_also_in_crowded_cells(seed, k):
    """A crowded cell takes rounds, in which the other slices take part."""
    chance = random.Random(seed)
    slices, objects = Slices(k, [1.0, 2.0]), {}
    listeners = [Listener(low, high, k) for low, high in RANGES]
    for count in (60, 60, 30, 60):
        batch = changes(chance, count)
        for id, x, y in zip(*batch, strict=True):
            objects.pop(id, None)
            if y == y:
                objects[id] = (x, y)
        painted = slices.put_batch(*batch)
        slices.check()
        for message in messages(painted, 0):
            for listener in listeners:
                listener.hears(message)
        for one in listeners:
            best = top_k({id.decode(): at for id, at in objects.items()}, one.low, one.high, k)
            assert one.list == best


def test_slices_that_are_cut_anew_go_on_as_before():
    chance = random.Random(5)
    slices, alone = Slices(3, [6.0]), NamedPaint(3, "dense")
    for cuts in ([3.0, 8.0], [9.0], [1.0, 4.0, 7.0]):
        batch = apart(chance, 60)
        assert said(slices.put_batch(*batch)) == said(alone.put_batch(*batch))
        slices.cut_anew(cuts)
        slices.check()
    batch = apart(chance, 60)
    assert said(slices.put_batch(*batch)) == said(alone.put_batch(*batch))


def test_what_is_taken_in_is_there_and_nobody_hears_of_it():
    chance, slices, objects = random.Random(2), Slices(2, [1.0, 3.0]), {}
    for count in (50, 50, 50):
        batch = changes(chance, count)
        net = {id: (x, y) for id, x, y in zip(*batch, strict=True)}
        columns = list(net), [x for x, _ in net.values()], [y for _, y in net.values()]
        for part in slices.parts:
            part.take_in(*columns)
        objects |= {id.decode(): at for id, at in net.items()}
        objects = {id: at for id, at in objects.items() if at[1] == at[1]}
        slices.check()
        lows, highs = zip(*RANGES, strict=True)
        for (low, high), found in zip(RANGES, listed(slices.first_lists(lows, highs)), strict=True):
            best = top_k(objects, low, high, 2)
            assert found == [(one["id"].encode(), one["x"], one["y"]) for one in best]


def test_a_slice_restored_from_arrays_says_the_same():
    chance, slices = random.Random(7), Slices(3, [2.0])
    slices.put_batch(*changes(chance, 60))
    again = Slices(3, [2.0])
    for part, one in zip(slices.parts, again.parts, strict=True):
        one.restore(NamedPaintArrays(*(array.copy() for array in part.to_arrays())))
    batch = changes(chance, 60)
    assert said(again.put_batch(*batch)) == said(slices.put_batch(*batch))
    assert np.array_equal(again.parts[0].to_arrays().rank, slices.parts[0].to_arrays().rank)
