"""Keys that have unsubscribed, and whose null may still have to be written.

A zone writes the null of a key that it is told of, perhaps much later.  If the key subscribes again
in another zone, that one must not write its list before, or the null would be the key's latest
record.  So a painter remembers whom it told of what, and waits until `progress` says that the zone
is through: its `left` is at the record that unsubscribed, or behind it.

A zone that gets its lists anew looks for all keys that have ended, those of other zones as well,
and writes their nulls at the end of its reset.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np

from topics.messages import place_of
from topics.zones.steps import Leaver

Waits = dict[tuple[int, int], int]
"""By zone and shard: the offset up to which the zone has to be through."""

_NO_ZONE = -1


class _Ended(NamedTuple):
    zone: int  # that was told; `_NO_ZONE`: nobody knows which
    by: int  # what ended it, in the numbers of lives


class GoneKeys:
    def __init__(self, shards: int) -> None:
        self._shards = shards
        self._ended: dict[bytes, _Ended] = {}
        # By zone that gets its lists anew, the positions as of which it does.
        self._resets: dict[int, list[int]] = {}

    def __len__(self) -> int:
        return len(self._ended)

    def add(
        self, leavers: Mapping[int, Iterable[Leaver]], gone: Iterable[tuple[bytes, int]] = ()
    ) -> None:
        """Of those who leave, by zone, the ones that no other life follows.

        `gone` are keys, and what ended them, that may have had a life of which nothing is known.
        """
        for key, by in gone:
            self._ended[key] = _Ended(_NO_ZONE, by)
        for zone, ended in leavers.items():
            for one in ended:
                if not one.follows:
                    self._ended[one.key] = _Ended(zone, one.by)

    def take(self, homes: Mapping[bytes, int]) -> Waits:
        """Forget keys that subscribe, and say who has to be through before their zones are told."""
        waits: Waits = {}
        for key in self._ended.keys() & homes.keys():
            self._wait_for(self._ended.pop(key), waits, homes[key])
        return waits

    def all_waits(self) -> Waits:
        waits: Waits = {}
        for ended in self._ended.values():
            self._wait_for(ended, waits, None)
        return waits

    def _wait_for(self, ended: _Ended, waits: Waits, home: int | None) -> None:
        shard, offset = place_of(ended.by, self._shards)
        zones = {zone for zone, positions in self._resets.items() if offset < positions[shard]}
        for zone in zones | {ended.zone}:
            if zone not in (home, _NO_ZONE):  # in its own zone a key's records are in order
                waits[zone, shard] = max(offset, waits.get((zone, shard), -1))

    def reset(self, zone: int, positions: Sequence[int]) -> None:
        """The zone gets its lists anew as of these positions of `subscriptions`."""
        self._resets[zone] = list(positions)

    def forget(self, left: Callable[[int, int], int]) -> None:
        """Drop keys whose nulls are written: `left` says of zone and shard up to where it is so."""
        self._resets = {
            zone: positions
            for zone, positions in self._resets.items()
            if any(left(zone, shard) < end - 1 for shard, end in enumerate(positions))
        }
        self._ended = {
            key: ended for key, ended in self._ended.items() if not self._is_written(ended, left)
        }

    def _is_written(self, ended: _Ended, left: Callable[[int, int], int]) -> bool:
        waits: Waits = {}
        self._wait_for(ended, waits, None)
        return all(left(zone, shard) >= offset for (zone, shard), offset in waits.items())

    def clear(self) -> None:
        self._ended.clear()

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Resets are left out: they are over, or begin anew, when another painter takes over."""
        keys = sorted(self._ended)
        ended = [self._ended[key] for key in keys]
        return {
            "gone_lengths": np.array([len(key) for key in keys], np.int32),
            "gone_data": np.frombuffer(b"".join(keys), np.uint8),
            "gone_zones": np.array([one.zone for one in ended], np.int32),
            "gone_by": np.array([one.by for one in ended], np.int64),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], shards: int) -> Self:
        gone = cls(shards)
        data, ends = arrays["gone_data"].tobytes(), np.cumsum(arrays["gone_lengths"]).tolist()
        keys = [data[start:end] for start, end in pairwise([0, *ends])]
        columns = (arrays["gone_zones"].tolist(), arrays["gone_by"].tolist())
        gone._ended = dict(zip(keys, map(_Ended, *columns), strict=True))
        return gone
