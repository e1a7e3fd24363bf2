"""Made-up ads and visitors: the same seed gives the same records, byte for byte.

Ads want people of an age, mostly also of a credit score and with a number of visits, and bid in
cents, so that equal bids are common. No ad wants anybody under 18: those few visitors get no match.
"""

from typing import NamedTuple

import numpy as np

ATTRIBUTES = ("age", "credit_score", "visits")
OLDEST, BEST_CREDIT, MOST_VISITS = 90, 850, 40
FIRST_AD = 100_000
NEW_AD, NEW_BID, UNSUBSCRIBED = "new ad", "new bid", "unsubscribed"

Record = tuple[bytes, bytes | None]  # key, value
Rng = np.random.Generator


class Script(NamedTuple):
    """Everything that the demo sends, in the order in which it is sent."""

    first_ads: list[Record]
    changes: list[Record]  # sent while visitors come
    kinds: list[str]  # NEW_AD, NEW_BID or UNSUBSCRIBED
    visitors: list[Record]


def write_script(ads: int, visitors: int, seed: int) -> Script:
    """Three quarters of the ads first; the rest, and some churn of the first, as changes.

    No ad is changed twice, so a change never overtakes another.
    """
    rng = np.random.default_rng(seed)
    keys = [b"ad-%d" % (FIRST_AD + number) for number in range(ads)]
    wheres, bids = _wheres(ads, rng), _bids(ads, rng)
    every = [(key, _ad(*ad)) for key, *ad in zip(keys, wheres, bids, strict=True)]
    first, churned = ads * 3 // 4, ads // 40
    touched = rng.permutation(first)[: 2 * churned].tolist()
    rebid, gone = touched[:churned], touched[churned:]
    changes: list[tuple[str, Record]] = [
        *((NEW_AD, ad) for ad in every[first:]),
        *(
            (NEW_BID, (keys[i], _ad(wheres[i], bid)))
            for i, bid in zip(rebid, _bids(churned, rng), strict=True)
        ),
        *((UNSUBSCRIBED, (keys[i], None)) for i in gone),
    ]
    shuffled = [changes[i] for i in rng.permutation(len(changes)).tolist()]
    return Script(
        first_ads=list(every[:first]),
        changes=[record for _, record in shuffled],
        kinds=[kind for kind, _ in shuffled],
        visitors=_visitors(visitors, rng),
    )


def visitor_key(number: int) -> bytes:
    return b"visitor-%d" % number


def visitor_number(key: bytes | None) -> int:
    """
    >>> visitor_number(b"visitor-1042")
    1042
    """
    prefix, _, number = (key or b"").partition(b"-")
    if prefix != b"visitor" or not number.isdigit():
        raise ValueError(f"got key {key!r}, expected one such as {visitor_key(1042)!r}")
    return int(number)


def _ad(where: str, bid: str) -> bytes:
    return f'{{"where":{{{where}}},"score":{bid}}}'.encode()


def _bids(count: int, rng: Rng) -> list[str]:
    """Many low, few high, none above 9.99."""
    cents = 1 + (998 * rng.random(count) ** 4).astype(int)
    return [f"{cent // 100}.{cent % 100:02d}" for cent in cents.tolist()]


def _wheres(count: int, rng: Rng) -> list[str]:
    return [
        ",".join(interval for interval in intervals if interval)
        for intervals in zip(
            _ages(count, rng), _credit_scores(count, rng), _visits(count, rng), strict=True
        )
    ]


def _ages(count: int, rng: Rng) -> list[str]:
    lows = 18 + (57 * rng.beta(1.3, 2.2, count)).astype(int)
    highs = lows + rng.integers(1, 13, count)
    return _intervals("age", lows, highs, open_ended=rng.random(count) < 0.02)


def _credit_scores(count: int, rng: Rng) -> list[str]:
    lows = 300 + 10 * rng.integers(0, 53, count)
    highs = np.minimum(BEST_CREDIT, lows + 10 * rng.integers(1, 8, count))
    open_ended = (rng.random(count) < 0.1) & (lows >= 600)
    return _intervals("credit_score", lows, highs, open_ended, rng.random(count) < 0.04)


def _visits(count: int, rng: Rng) -> list[str]:
    lows = np.minimum(rng.geometric(0.15, count), 15)
    highs = lows + rng.integers(0, 5, count)
    return _intervals("visits", lows, highs, rng.random(count) < 0.5, rng.random(count) < 0.1)


def _intervals(
    attribute: str,
    lows: np.ndarray,
    highs: np.ndarray,
    open_ended: np.ndarray,
    absent: np.ndarray | None = None,
) -> list[str]:
    """One member of the JSON object `where` for each row, or nothing."""
    absent = np.zeros(len(lows), bool) if absent is None else absent
    return [
        "" if left_out else f'"{attribute}":[{low},{"null" if no_end else high}]'
        for low, high, no_end, left_out in zip(
            lows.tolist(), highs.tolist(), open_ended.tolist(), absent.tolist(), strict=True
        )
    ]


def _visitors(count: int, rng: Rng) -> list[Record]:
    ages = 18 + (70 * rng.beta(1.5, 2.6, count)).astype(int)
    minors = rng.random(count) < 0.004
    ages[minors] = rng.integers(13, 18, np.count_nonzero(minors))
    scores = np.clip(rng.normal(640, 90, count).astype(int), 300, BEST_CREDIT)
    unknown = rng.random(count) < 0.03
    visits = np.minimum(rng.geometric(0.18, count), MOST_VISITS)
    columns = zip(ages.tolist(), scores.tolist(), unknown.tolist(), visits.tolist(), strict=True)
    return [
        (
            visitor_key(number),
            b'{"age":%d,%b"visits":%d}'
            % (age, b"" if no_score else b'"credit_score":%d,' % score, visit),
        )
        for number, (age, score, no_score, visit) in enumerate(columns, 1)
    ]
