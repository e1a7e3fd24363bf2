"""Few places and few values, so that ties, empty ranges and equal subscriptions are common."""

import math

from hypothesis import strategies as st

INF = math.inf
PLACES = [float(x) for x in range(8)]
ENDS = [-INF, -1.0, 0.0, 0.5, 1.0, 2.0, 2.5, 3.0, 4.0, 4.5, 5.0, 6.0, 7.0, 7.5, INF]

xs = st.sampled_from(PLACES)
ys = st.integers(0, 6).map(float)
ks = st.integers(1, 4)
ids = st.integers(0, 30)
objects = st.dictionaries(xs, ys, max_size=len(PLACES))
ranges = st.lists(st.sampled_from(ENDS), min_size=2, max_size=2).map(sorted).map(tuple)
batches_of_ranges = st.dictionaries(st.integers(31, 60), ranges, min_size=1, max_size=12)

EVERY_RANGE = [(low, high) for low in PLACES for high in PLACES if low <= high]
WIDER_RANGES = [(low, high) for low in ENDS for high in ENDS if low <= high]
