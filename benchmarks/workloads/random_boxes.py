"""The workload of the covering paper, §V.A.

A box is a random segment in each attribute: its two ends are drawn evenly.  A command unsubscribes
a random live subscription with probability `unsubscribes`, and else subscribes a new one.  Ends
are whole numbers of `[0, 2**16 - 1]`, where the paper leaves the number of bits open.
"""

from dataclasses import dataclass

import numpy as np

from indexes.covering import Commands

__all__ = ["GREATEST", "RandomBoxes", "boxes", "commands"]

GREATEST = 2**16 - 1


@dataclass(frozen=True)
class RandomBoxes:
    attributes: int
    commands: int = 60_000
    unsubscribes: float = 0.15
    live: int = 0  # subscriptions that come before the first command
    seed: int = 0


def boxes(count: int, attributes: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Lows and highs, f8[count, attributes] each."""
    ends = np.sort(rng.integers(0, GREATEST + 1, (2, count, attributes)), axis=0)
    return ends[0].astype(np.float64), ends[1].astype(np.float64)


def commands(workload: RandomBoxes) -> Commands:
    """First those that make `live` subscriptions, then as many commands as asked for."""
    rng = np.random.default_rng(workload.seed)
    count = workload.live + workload.commands
    subscribes = rng.random(count) >= workload.unsubscribes
    subscribes[: workload.live] = True
    drawn = rng.random(count)
    ids, new = np.empty(count, np.int64), 0
    live: list[int] = []
    for i in range(count):
        subscribes[i] |= not live
        if subscribes[i]:
            ids[i] = new
            live.append(new)
            new += 1
        else:
            at = int(drawn[i] * len(live))
            ids[i], live[at] = live[at], live[-1]
            live.pop()
    lows, highs = boxes(count, workload.attributes, rng)
    return Commands(ids, lows, highs, subscribes)
