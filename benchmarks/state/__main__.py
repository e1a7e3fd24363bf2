"""The state of a shard, measured: `python -m benchmarks.state`.

Snapshots in Redis, the replay of `subscriptions`, how long frames wait while either, or a new base,
is being dealt with, and what many shards cost the merger.  Starts a Kafka and a Redis of its own.
"""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.script import Experiment, Script, Step, run

if TYPE_CHECKING:
    from benchmarks.report import Section

NAMES = ("snapshots", "replay", "latency", "merging")
PACKAGES = ("numpy", "numba", "redis", "confluent-kafka", "faust-streaming")


def main(arguments: list[str] | None = None) -> int:
    return run(Script("benchmarks.state", __doc__ or "", NAMES, PACKAGES, _open), arguments)


@contextmanager
def _open(quick: bool, step: Step) -> Iterator[Experiment]:
    from benchmarks.state import latency as state_latency
    from benchmarks.state import merging as state_merging
    from benchmarks.state import replay as state_replay
    from benchmarks.state import snapshots as state_snapshots
    from benchmarks.state.lab import QUICK, Lab, Sizes
    from podium.stack import Stack

    experiments = {
        "snapshots": state_snapshots.snapshots,
        "replay": state_replay.replay,
        "latency": state_latency.latency,
        "merging": state_merging.merging,
    }
    with (
        tempfile.TemporaryDirectory(prefix="podium-benchmark-") as folder,
        Stack(Path(folder), say=step) as stack,
    ):
        lab = Lab(QUICK if quick else Sizes(), step, stack)

        def perform(name: str) -> "Section":
            return experiments[name](lab)

        yield perform


if __name__ == "__main__":
    sys.exit(main())
