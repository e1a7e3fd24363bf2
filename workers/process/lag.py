"""How far a worker is behind the end of the partitions it reads: in records, and in seconds."""

import time
from collections.abc import Callable

from prometheus_client import Gauge


class PartitionLag:
    """Publishes the lag of one topic, partition by partition.

    The oldest record that is missing came after the latest one that was taken up, and after the
    last moment at which none was missing: so long at most it has waited.
    """

    def __init__(
        self,
        records: Gauge,
        seconds: Gauge,
        labels: tuple[str, ...],
        now: Callable[[], float] = time.time,
    ) -> None:
        """The last label of both gauges is the partition, `labels` are those before it."""
        self._records, self._seconds, self._labels, self._now = records, seconds, labels, now
        self._since: dict[int, float] = {}  # by partition: no missing record is older
        self._shown: set[int] = set()

    def took(self, partition: int, written_at: float) -> None:
        """The latest record taken up has this timestamp, in seconds."""
        self._since[partition] = max(written_at, self._since.get(partition, 0.0))

    def measure(self, partition: int, position: int, end: int) -> None:
        """The next record to be taken up, and the one that does not exist yet."""
        behind = max(0, end - position)
        if not behind:
            self._since[partition] = self._now()
        seconds = self._now() - self._since[partition] if partition in self._since else 0.0
        labels = (*self._labels, str(partition))
        self._records.labels(*labels).set(behind)
        self._seconds.labels(*labels).set(max(0.0, seconds) if behind else 0.0)
        self._shown.add(partition)

    def forget(self, partition: int) -> None:
        """Another worker has it now."""
        self._since.pop(partition, None)
        if partition in self._shown:
            self._shown.discard(partition)
            for gauge in (self._records, self._seconds):
                gauge.remove(*self._labels, str(partition))
