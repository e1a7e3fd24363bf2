"""Whether a collection whose shards are apart would fit into every node, by what they take now."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import psutil

from podium.stack.run import ports
from podium.stack.run.folder import ProcessRecord
from podium.stack.status.metrics import samples_at

# While an index is renewed there are two of it.
TIMES_INDEX = 2
# Of this machine's memory, what a node may take for a replicated layout to be worth a word.
SHARE_OF_MEMORY = 0.25


@dataclass(frozen=True)
class LayoutRow:
    """A collection of layout `sharded`."""

    collection: str
    subscriptions: int
    index_bytes: int  # of all shards

    @property
    def node_bytes(self) -> int:
        return TIMES_INDEX * self.index_bytes

    @property
    def fits(self) -> bool:
        return self.node_bytes <= SHARE_OF_MEMORY * psutil.virtual_memory().total

    @property
    def line(self) -> str:
        return (
            f"{self.collection}: with `layout: replicated` an event is answered in one hop instead"
            f" of three; each node would take up to {self.node_bytes / 1e6:,.0f} MB for its"
            f" {self.subscriptions:,} subscriptions"
        )


def sharded_collections(processes: Iterable[ProcessRecord]) -> list[LayoutRow]:
    """What the matchers among these processes hold, by collection; none that do not answer."""
    sums: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for process in processes:
        if process.labels.get("role") == "matcher" and process.port is not None:
            sums_of_one = sums[process.labels["collection"]]
            for sample in samples_at(f"{ports.HOST}:{process.port}", "podium_") or []:
                sums_of_one[sample.name] += sample.value
    return [
        LayoutRow(name, int(found["podium_subscriptions"]), int(found["podium_index_bytes"]))
        for name, found in sorted(sums.items())
        if "podium_index_bytes" in found
    ]
