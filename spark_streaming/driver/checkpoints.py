"""What a checkpoint says: whose it is, and which offsets a batch has.

    podium.json         ours: the collection, topic and layout that the checkpoint is for
    offsets/<batch id>  Spark's, written before the batch runs: "v1", a line of JSON about the batch
                        with `batchTimestampMs`, a line with the end offset of every partition

Both are read with Hadoop's file systems, as Spark itself does.
"""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from pyspark.sql import SparkSession

from spark_streaming.errors import ForeignCheckpoint, JobError

MARKER = "podium.json"
OFFSET_LOG_VERSION = "v1"
KEPT_BATCHES = 100  # in Spark's log, and so in ours

Offsets = dict[int, int]  # by partition


class BatchRange(NamedTuple):
    """The offsets of one batch by partition; a partition without new ones is left out."""

    starts: Offsets
    ends: Offsets
    planned_at_ms: int
    # When the batch before this one was planned: up to then every record has been seen.
    read_until_ms: int | None


class Checkpoint:
    def __init__(self, spark: SparkSession, path: str) -> None:
        self.path = path
        self._jvm = cast("Any", spark._jvm)
        configuration = spark._jsc.hadoopConfiguration()
        self._root: Any = self._jvm.org.apache.hadoop.fs.Path(path)
        self._system = self._root.getFileSystem(configuration)
        # What `_logged` has read, by batch and topic.
        self._batches: dict[tuple[int, str], tuple[Offsets, int]] = {}

    def claim(self, identity: Mapping[str, Any]) -> None:
        """Take a new checkpoint for `identity`, or go on with one that is its own."""
        told = self.read_json(MARKER)
        if told is None:
            if self.has("offsets"):
                raise self._foreign("there is no podium.json in it, so another program's")
            self.write_json(MARKER, identity)
            return
        for field, expected in identity.items():
            got = told.get(field)
            if got != expected:
                raise self._foreign(f"{field}: got {got!r}, expected {expected!r}")

    def read_json(self, name: str) -> Any:
        """What `write_json` wrote, or None."""
        told = self._read(name)
        return None if told is None else json.loads(told)

    def write_json(self, name: str, document: Any) -> None:
        """There as a whole or not at all; a name is written once."""
        self._write(name, json.dumps(document, sort_keys=True))

    def has(self, name: str) -> bool:
        return bool(self._system.exists(self._child(name)))

    def batch_range(self, batch_id: int, topic: str) -> BatchRange:
        ends, planned_at_ms = self._logged(batch_id, topic)
        starts: dict[int, int] = {}
        read_until_ms = None
        if batch_id > 0:
            starts, read_until_ms = self._logged(batch_id - 1, topic)
        moved = {shard: end for shard, end in ends.items() if end > starts.get(shard, 0)}
        return BatchRange(
            {shard: starts.get(shard, 0) for shard in moved}, moved, planned_at_ms, read_until_ms
        )

    def ends(self, batch_id: int, topic: str) -> Offsets:
        """Where a batch ends, in all partitions; nothing for the one before the first."""
        return self._logged(batch_id, topic)[0] if batch_id >= 0 else {}

    def newest(self, log: str) -> int:
        """The last batch in one of Spark's logs, `offsets` or `commits`; -1: none."""
        if not self.has(log):
            return -1
        names = [
            str(file.getPath().getName()) for file in self._system.listStatus(self._child(log))
        ]
        return max((int(name) for name in names if name.isdigit()), default=-1)

    def offset_before(self, batch_id: int, topic: str, shard: int, offset: int) -> int:
        """Where the batch ended that the one up to `offset` went on from; 0 if that was the first.

        A batch that is not in Spark's log any more counts as none.
        """
        for earlier in range(batch_id - 1, -1, -1):
            if (earlier, topic) not in self._batches and not self.has(f"offsets/{earlier}"):
                break
            ends, _ = self._logged(earlier, topic)
            if ends.get(shard, 0) < offset:
                return ends.get(shard, 0)
        return 0

    def _logged(self, batch_id: int, topic: str) -> tuple[Offsets, int]:
        if (batch_id, topic) in self._batches:
            return self._batches[batch_id, topic]
        text = self._read(f"offsets/{batch_id}")
        lines = (text or "").splitlines()
        if len(lines) != 3 or lines[0] != OFFSET_LOG_VERSION:
            raise JobError(
                f"{self.path}/offsets/{batch_id}: got {lines[:1]}, expected the offset log of one"
                f" source, {OFFSET_LOG_VERSION}",
                "use the Spark version that Podium was made for, or remove the checkpoint",
            )
        offsets = json.loads(lines[2])[topic]
        planned_at_ms = json.loads(lines[1])["batchTimestampMs"]
        self._batches.pop((batch_id - KEPT_BATCHES, topic), None)
        logged = {int(shard): end for shard, end in offsets.items()}, planned_at_ms
        self._batches[batch_id, topic] = logged
        return logged

    def _foreign(self, what: str) -> ForeignCheckpoint:
        return ForeignCheckpoint(
            f"checkpoint {self.path} is not this job's: {what}",
            "set another spark.checkpoints, or remove it to start from the beginning of the topic",
        )

    def _child(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self._root, name)

    def _read(self, name: str) -> str | None:
        if not self.has(name):
            return None
        stream = self._system.open(self._child(name))
        try:
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def _write(self, name: str, text: str) -> None:
        unfinished = self._child(f"{name}.new")
        stream = self._system.create(unfinished, True)
        try:
            stream.write(bytearray(text.encode()))
        finally:
            stream.close()
        if not self._system.rename(unfinished, self._child(name)):
            raise JobError(f"{self.path}/{name} was not written", "look at the file system")
