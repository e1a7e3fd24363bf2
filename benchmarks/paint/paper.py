"""What the Paint paper printed in its tables.

How it counted is not said, but follows from the numbers.  Table I has affected subscriptions once
each.  Table II has the messages of updated objects alone.  In Tables III, IV and VI there is a
`min_y` for each rank-lowering update and for each exposed object looked at; a `snap` for each tile
of the updated object and of those, not for the search of where subscriptions are left, nor for the
attempts to join tiles; and a `min_y` of Unicast for each candidate, in rank-raising updates, too.
"""

from typing import NamedTuple

import numpy as np

__all__ = [
    "CALLS", "CALLS_BY_SUBSCRIPTIONS", "MIN_QUERIES", "RECEIVED", "REDUNDANCY", "RELAXED",
    "STOCK_CALLS", "STOCK_REDUNDANCY", "Printed", "deviation",
]  # fmt: skip

_KS = (1, 2, 5, 10, 15, 20)
RELAXED = "CN-Relax"

# Table I: by k.
RECEIVED = dict(zip(_KS, (444.141, 939.76, 2211.14, 4190.21, 6082.94, 7904.26), strict=True))

# Table II: by ε (or CN-Relax), then by k.
REDUNDANCY: dict[float | str, dict[int, float]] = {
    0.125: dict(zip(_KS, (0, 0, 0, 0.015, 0.0234, 0.034), strict=True)),
    0.25: dict(zip(_KS, (0, 0, 0.027, 0.061, 0.070, 0.080), strict=True)),
    0.5: dict(zip(_KS, (0, 0, 0.11, 0.14, 0.16, 0.17), strict=True)),
    1.0: dict(zip(_KS, (0, 0.16, 0.29, 0.30, 0.32, 0.34), strict=True)),
    RELAXED: dict(zip(_KS, (1440.2, 680.14, 288.49, 151.76, 104.23, 79.98), strict=True)),
}


class Printed(NamedTuple):
    """Calls per event."""

    dense: float  # min_y
    sparse: float
    snap: float
    unicast: float


# Table III: by k, 2 million subscriptions.
CALLS = {
    1: Printed(1.12, 0.72744, 1.2284, 444.141),
    2: Printed(1.73, 1.08988, 2.95254, 1086.44),
    5: Printed(3.57, 2.59596, 12.06538, 2846.1),
    10: Printed(6.60, 5.5568, 40.69192, 5453.64),
    15: Printed(9.63, 8.57692, 84.65234, 8032.39),
    20: Printed(12.63, 11.58048, 143.20416, 10587.4),
}

# Table IV: by the number of subscriptions, k = 10.  The text of the paper that we have is damaged
# here: 200,000 and 800,000, and the leading 4 of 4.784, are our reading of it.
CALLS_BY_SUBSCRIPTIONS = {
    200_000: Printed(6.60, 3.52, 29.87, 545.23),
    800_000: Printed(6.60, 4.784, 37.34, 2181.49),
    2_000_000: CALLS[10],
    4_000_000: Printed(6.60, 5.94188, 42.0509, 10906.4),
    10_000_000: Printed(6.60, 6.26988, 42.86982, 27267.5),
}

# Tables V and VI: Yahoo! Finance.
STOCK_REDUNDANCY: dict[float | str, dict[int, float]] = {
    1.0: dict(zip(_KS, (0, 0.19, 0.25, 0.35, 0.39, 0.38), strict=True)),
    RELAXED: dict(zip(_KS, (706.51, 361.22, 147.13, 72.67, 48.38, 36.11), strict=True)),
}
STOCK_CALLS = {
    1: Printed(np.nan, 0.5, 1.0, 176.01),
    2: Printed(np.nan, 0.5, 2.0, 409.44),
    5: Printed(np.nan, 0.51, 5.05, 1050.48),
    10: Printed(np.nan, 0.54, 10.35, 2278.27),
    15: Printed(np.nan, 0.57, 16.02, 3510.16),
    20: Printed(np.nan, 0.61, 22.18, 4614.24),
}

# Table VII: min queries per event in 1.5 dimensions, Paint-Dense, by k.
MIN_QUERIES = dict(zip((1, 2, 5, 10, 15), (6.35, 11.31, 26.13, 50.48, 74.40), strict=True))


def deviation(measured: float, printed: float | None) -> str:
    """How far a figure is from the printed one.

    >>> deviation(1.05, 1.0), deviation(0.0, 0.0), deviation(3.0, None)
    ('+5.0 %', '0', '-')
    """
    if printed is None or np.isnan(printed):
        return "-"
    if printed == 0:
        return "0" if measured == 0 else "-"
    return f"{100 * (measured / printed - 1):+.1f} %"
