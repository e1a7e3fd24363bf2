"""Subscriptions by key, raced against a dict, with room for one at first."""

import random

import numpy as np
import pytest

from indexes.paint.keys import KeyedRanges


@pytest.mark.parametrize("least_capacity", [1, 2, 3, 64])
def test_columns_hold_what_a_dict_holds(least_capacity):
    rng = random.Random(least_capacity)
    held, model, life = KeyedRanges(least_capacity), {}, 0
    for _ in range(200):
        gone = rng.sample([b"k-%d" % i for i in range(40)], rng.randrange(6))
        rows = held.remove(gone).tolist()
        assert [row >= 0 for row in rows] == [key in model for key in gone]
        for key, row in zip(gone, rows, strict=True):
            if (life_before := model.pop(key, None)) is not None:
                assert held.lives[row] == life_before[0]
        free = [key for key in (b"k-%d" % i for i in range(40)) if key not in model]
        came = rng.sample(free, min(len(free), rng.randrange(6)))
        lives = [(life := life + rng.choice([1, 2])) for _ in came]
        rng.shuffle(lives)
        lows = [rng.random() for _ in came]
        held.add(came, lives, lows, [low + 1 for low in lows], [life % 7 for life in lives])
        for key, one, low in zip(came, lives, lows, strict=True):
            model[key] = (one, low, low + 1, one % 7)
        held.check()
        assert len(held) == len(model)
        assert listed(held.by_life()) == [
            (key, *columns) for key, columns in sorted(model.items(), key=lambda item: item[1])
        ]
        chosen = held.rows()[held.lows[held.rows()] > 0.5]
        assert [one[0] for one in listed(held.by_life(chosen))] == [
            key
            for key, columns in sorted(model.items(), key=lambda item: item[1])
            if columns[1] > 0.5
        ]


def listed(ranges):
    columns = (column.tolist() for column in ranges[1:])
    return list(zip(ranges.keys, *columns, strict=True))


def test_a_key_without_letters_is_a_key():
    held = KeyedRanges(1)
    held.add([b""], [3], [0.0], [1.0], [2])
    held.check()
    assert held.by_life().keys == [b""]
    assert np.array_equal(held.remove([b"", b""]), [0, -1])
    assert len(held) == 0
