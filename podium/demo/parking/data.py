"""Made-up places, subscribers and changes: the same seed gives the same records, byte for byte.

Most places lie around the towns along a road, every five metres, so that many share an x; the
closer to the middle of a town, the dearer, in steps of 0.1.  Subscribers want a few of the cheapest
free places within a short walk.
"""

from typing import NamedTuple

import numpy as np

ROAD_M, TOWNS, APART_M = 100_000, 40, 5
IN_TOWN = 0.8  # of places and of subscribers
LEAST_PRICE, MOST_PRICE = 1, 60  # in tenths
SHORTEST_M, LONGEST_M = 50, 300  # of a range
MOST_WANTED = 5  # places in a list

Record = tuple[bytes, bytes | None]  # key, value
Rng = np.random.Generator


class Script(NamedTuple):
    """Everything that the demo sends, in the order in which it is sent."""

    places: list[Record]
    subscribers: list[Record]
    lows: np.ndarray  # f8[subscribers]  where their ranges begin
    updates: list[Record]


def write_script(places: int, subscribers: int, updates: int, seed: int) -> Script:
    rng = np.random.default_rng(seed)
    towns = np.sort(rng.integers(2_000, ROAD_M - 2_000, TOWNS))
    xs = _along_the_road(places, towns, rng)
    prices = _prices(xs, towns, rng)
    keys = [b"place-%d" % number for number in range(1, places + 1)]
    put: list[Record] = [(key, _place(x, price)) for key, x, price in _rows(keys, xs, prices)]
    lows, subscribed = _subscribers(subscribers, towns, rng)
    return Script(put, subscribed, lows, _updates(updates, keys, xs, prices, rng))


def _along_the_road(count: int, towns: np.ndarray, rng: Rng) -> np.ndarray:
    around = rng.choice(towns, count) + rng.normal(0, 350, count)
    anywhere = rng.uniform(0, ROAD_M, count)
    at = np.where(rng.random(count) < IN_TOWN, around, anywhere)
    return (np.clip(at, 0, ROAD_M) / APART_M).astype(np.int64) * APART_M


def _prices(xs: np.ndarray, towns: np.ndarray, rng: Rng) -> np.ndarray:
    nearest = np.min(np.abs(xs[:, None] - towns[None, :]), axis=1)
    tenths = 8 + 30 * np.exp(-nearest / 300) + rng.normal(0, 5, len(xs))
    return np.clip(tenths.astype(np.int64), LEAST_PRICE, MOST_PRICE)


def _subscribers(count: int, towns: np.ndarray, rng: Rng) -> tuple[np.ndarray, list[Record]]:
    lows = _along_the_road(count, towns, rng)
    highs = lows + rng.integers(SHORTEST_M, LONGEST_M + 1, count)
    ks = rng.integers(1, MOST_WANTED + 1, count)
    rows = zip(lows.tolist(), highs.tolist(), ks.tolist(), strict=True)
    return lows.astype(np.float64), [
        (b"driver-%d" % number, b'{"range":[%d,%d],"k":%d}' % row)
        for number, row in enumerate(rows, 1)
    ]


def _updates(
    count: int, keys: list[bytes], xs: np.ndarray, prices: np.ndarray, rng: Rng
) -> list[Record]:
    """Places are taken and come free, get dearer or cheaper, and now and then are marked anew."""
    at, price, free = xs.tolist(), prices.tolist(), [True] * len(keys)
    which = rng.integers(0, len(keys), count).tolist()
    steps = rng.choice([-3, -2, -1, 1, 2, 3], count).tolist()
    updates: list[Record] = []
    for row, step, chance in zip(which, steps, rng.random(count).tolist(), strict=True):
        if free[row] and chance < 0.45:
            free[row] = False
            updates.append((keys[row], None))
            continue
        if free[row] and chance > 0.95:
            at[row] = min(ROAD_M, max(0, at[row] + 10 * APART_M * step))
        else:
            price[row] = min(MOST_PRICE, max(LEAST_PRICE, price[row] + step))
        free[row] = True
        updates.append((keys[row], _place(at[row], price[row])))
    return updates


def _rows(keys: list[bytes], xs: np.ndarray, prices: np.ndarray) -> "zip[tuple[bytes, int, int]]":
    return zip(keys, xs.tolist(), prices.tolist(), strict=True)


def _place(x: int, tenths: int) -> bytes:
    return b'{"x":%d,"y":%d.%d}' % (x, *divmod(tenths, 10))
