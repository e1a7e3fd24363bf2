"""What of a partials partition is out, as metadata of the offset that a merger commits for it.

A frame that is not complete holds the offset up, and answers to frames that are out may lie behind
it.  A successor reads those again; and a matcher answers again what it had not committed when its
shards were moved.  By the marks both are known for repeats.

    base64 of zlib of {"v": 1, "passed": [[partition, epoch, last, [shard, ...]], ...],
                               "ahead": [[partition, epoch, first, last, [shard, ...]], ...]}

`partition` is of the events topic.  What is `passed` is out up to that frame, as far as these
shards took part; `ahead` are frames that are out although one that came before them is not.
"""

import base64
import zlib
from collections import defaultdict
from collections.abc import Iterable
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from topics.frames import FrameId

__all__ = ["NOTHING", "Mark", "MergeProgress", "Progress", "covers"]

Progress = tuple[int, int]  # events partition, shard
Mark = tuple[int, int]  # epoch and last offset of a frame

NOTHING: Mark = (-1, -1)

_VERSION = 1
# The default of a broker's offset.metadata.max.bytes, less the topic's id that goes before.
_MOST_BYTES = 4096 - 64


class MergeProgress(NamedTuple):
    passed: dict[Progress, Mark]
    ahead: dict[FrameId, tuple[int, ...]]  # the shards that took part

    def has(self, name: FrameId, shards: Iterable[int]) -> bool:
        """Whether a frame in which these take part is out."""
        marks = (self.passed.get((name.partition, shard), NOTHING) for shard in shards)
        return name in self.ahead or all(covers(mark, name) for mark in marks)

    def encode(self) -> str:
        """As many as fit: of what is left out, a successor may repeat answers."""
        marks = self
        while len(text := marks._encoded()) > _MOST_BYTES:
            marks = marks._fewer()
        return text

    def _fewer(self) -> "MergeProgress":
        """Half of those ahead, which are out for the time of a hold-up only; then of the others."""
        if self.ahead:
            return self._replace(ahead=_half(self.ahead))
        return self._replace(passed=_half(self.passed))

    def _encoded(self) -> str:
        shards = defaultdict(list)
        for (partition, shard), mark in self.passed.items():
            shards[partition, *mark].append(shard)
        document = {
            "v": _VERSION,
            "passed": [[*place, sorted(some)] for place, some in shards.items()],
            "ahead": [[*name, some] for name, some in self.ahead.items()],
        }
        return base64.b64encode(zlib.compress(msgspec.json.encode(document))).decode()

    @classmethod
    def decode(cls, text: str) -> "MergeProgress":
        """None at all where other tools, or another version, have committed something else."""
        try:
            found = msgspec.json.decode(zlib.decompress(base64.b64decode(text)), type=_Document)
        except (ValueError, zlib.error):  # msgspec's and base64's errors are the first
            return cls({}, {})
        if found.v != _VERSION:
            return cls({}, {})
        passed = {
            (partition, shard): (epoch, last)
            for partition, epoch, last, shards in found.passed
            for shard in shards
        }
        return cls(passed, {FrameId(*name): tuple(shards) for *name, shards in found.ahead})


def covers(mark: Mark, name: FrameId) -> bool:
    epoch, last = mark
    return epoch >= name.epoch and last >= name.last


def _half(marks: dict[Any, Any]) -> dict[Any, Any]:
    return dict(islice(marks.items(), len(marks) // 2))


class _Document(msgspec.Struct):
    v: int
    passed: list[tuple[int, int, int, list[int]]] = []
    ahead: list[tuple[int, int, int, int, list[int]]] = []
