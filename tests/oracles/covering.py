"""Covering the slow way: the definition that the suites compare with.

Nothing of ours is imported here.  A box is a pair of sequences, `lows` and `highs`, closed.
"""

from collections.abc import Sequence

Ends = Sequence[float]


def contains(outer: tuple[Ends, Ends], inner: tuple[Ends, Ends]) -> bool:
    """Whether one box covers another; equal boxes cover each other."""
    starts = all(o <= i for o, i in zip(outer[0], inner[0], strict=True))
    return starts and all(o >= i for o, i in zip(outer[1], inner[1], strict=True))


class Boxes:
    """Every live box is compared with every query; `live` is in the order of arrival.

    >>> boxes = Boxes()
    >>> boxes.insert(7, [0, 0], [9, 9])
    >>> boxes.covers([1, 1], [9, 2])
    {7}
    >>> boxes.stab([3, None])
    False
    """

    def __init__(self) -> None:
        self.live: dict[int, tuple[list[float], list[float]]] = {}

    def insert(self, id: int, lows: Ends, highs: Ends) -> None:
        self.live[id] = ([float(low) for low in lows], [float(high) for high in highs])

    def delete(self, id: int) -> None:
        del self.live[id]

    def covers(self, lows: Ends, highs: Ends) -> set[int]:
        return {id for id, box in self.live.items() if contains(box, (lows, highs))}

    def stab(self, values: Sequence[float | None]) -> bool:
        """Whether any box holds an event; None: the event lacks the attribute."""
        everything = float("-inf"), float("inf")
        for lows, highs in self.live.values():
            sides = zip(lows, highs, values, strict=True)
            if all(
                (low, high) == everything if value is None else low <= value <= high
                for low, high, value in sides
            ):
                return True
        return False


class Router(Boxes):
    """What has to be forwarded, without a graph.

    A box is covered by greater ones and by equal ones that are older.  Who is not covered, or is no
    longer, is forwarded, and stays so until it leaves or, with `prune`, until it is covered.
    """

    def __init__(self, prune: bool = False) -> None:
        super().__init__()
        self.prune = prune
        self.forwarded: set[int] = set()

    def uncovered(self) -> set[int]:
        found = set()
        arrived = list(self.live.items())
        for at, (id, box) in enumerate(arrived):
            above = (
                contains(other, box) and (other != box or other_at < at)
                for other_at, (_, other) in enumerate(arrived)
                if other_at != at
            )
            if not any(above):
                found.add(id)
        return found

    def subscribe(self, id: int, lows: Ends, highs: Ends) -> tuple[list[int], list[int]]:
        self.insert(id, lows, highs)
        return self._settle()

    def unsubscribe(self, id: int) -> tuple[list[int], list[int]]:
        self.delete(id)
        return self._settle()

    def _settle(self) -> tuple[list[int], list[int]]:
        before = self.forwarded
        kept = set() if self.prune else before & self.live.keys()
        self.forwarded = kept | self.uncovered()
        return sorted(self.forwarded - before), sorted(before - self.forwarded)
