"""How many events come."""

import time


class Rate:
    """Events a second, smoothed over about half a second."""

    def __init__(self) -> None:
        self.per_s = 0.0
        self._at = time.monotonic()

    def saw(self, events: int) -> None:
        now = time.monotonic()
        elapsed, self._at = max(now - self._at, 1e-6), now
        weight = min(1.0, elapsed / 0.5)
        self.per_s += weight * (events / elapsed - self.per_s)
