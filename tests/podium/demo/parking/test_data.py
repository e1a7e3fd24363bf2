import json
from collections import Counter

import pytest

from podium.demo.parking.data import LONGEST_M, MOST_WANTED, SHORTEST_M, write_script


@pytest.fixture(scope="module")
def script():
    return write_script(places=2000, subscribers=3000, updates=1000, seed=1)


def test_the_same_seed_gives_the_same_records(script):
    again = write_script(places=2000, subscribers=3000, updates=1000, seed=1)
    assert again._replace(lows=None) == script._replace(lows=None)
    other = write_script(places=2000, subscribers=3000, updates=1000, seed=2)
    assert other.places != script.places


def test_many_places_share_an_x_and_prices_have_one_decimal(script):
    places = [json.loads(value) for _, value in script.places]
    shared = Counter(place["x"] for place in places)
    assert sum(count > 1 for count in shared.values()) > 100
    assert all(round(place["y"], 1) == place["y"] > 0 for place in places)


def test_ranges_are_narrow_and_begin_where_lows_say(script):
    subscribed = [json.loads(value) for _, value in script.subscribers]
    assert [one["range"][0] for one in subscribed] == script.lows.tolist()
    widths = [high - low for low, high in (one["range"] for one in subscribed)]
    assert (min(widths), max(widths)) == (SHORTEST_M, LONGEST_M)
    assert {one["k"] for one in subscribed} == set(range(1, MOST_WANTED + 1))


def test_places_are_taken_come_free_change_their_price_and_move(script):
    there = {key: json.loads(value) for key, value in script.places}
    seen = Counter()
    for key, value in script.updates:
        before, after = there[key], value and json.loads(value)
        if after is None:
            assert before is not None, "what is not there cannot be taken"
            seen["taken"] += 1
        elif before is None:
            seen["free"] += 1
        else:
            seen["moved" if after["x"] != before["x"] else "price"] += 1
        there[key] = after
    assert all(seen[what] > 10 for what in ("taken", "free", "moved", "price")), seen
