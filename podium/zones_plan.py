"""From a file of subscriptions to the bounds between zones."""

from typing import Any, NamedTuple

import numpy as np

from configs import Collection
from indexes.paint.world import quantile_bounds, slices_of
from podium.send.json_lines import open_source, read_lines, record_of
from podium.terminal import Exit, Failure
from topics.codecs.json_record import BadRecord
from topics.subscriptions import RangeContract


class ZonesPlan(NamedTuple):
    bounds: list[float]
    subscriptions: list[int]  # by zone
    skipped: int  # lines that no worker would take

    @property
    def slices(self) -> list[tuple[float, float]]:
        return slices_of(self.bounds)

    def as_json(self) -> dict[str, Any]:
        return {"zone_bounds": self.bounds, "subscriptions": self.subscriptions}


def plan_zones(collection: Collection, file: str, zones: int) -> ZonesPlan:
    """Zones with about equally many of the subscriptions of a file."""
    contract, skipped = RangeContract(k=collection.k), 0
    lows: list[float] = []
    with open_source(file) as source:
        for line in read_lines(source.stream):
            try:
                record = record_of(line.text, "subscriptions")
                lows.append(contract.parse(record.value or b"")[0])
            except (BadRecord, ValueError):
                skipped += 1
    if not lows:
        remedy = "each line is a subscription with an `id`, as `podium send` takes them"
        raise Failure(f"{file}: got no subscription of {collection.name}", remedy, Exit.USAGE)
    bounds = quantile_bounds(np.array(lows), zones)
    homes = np.searchsorted(bounds, lows, side="right")
    return ZonesPlan(bounds, np.bincount(homes, minlength=zones).tolist(), skipped)
