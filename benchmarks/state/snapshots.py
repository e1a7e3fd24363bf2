"""Snapshots: how long they take, and how large they are."""

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.intervals.targets import Row
from benchmarks.report import Plot, Section, Table
from benchmarks.state.lab import (
    Lab,
    Subscriptions,
    collection_of,
    empty_shard,
    encoded_frames,
    shard_of,
)
from configs.collection import Collection
from topics import frames, partials
from workers.shard.shard import Shard
from workers.snapshots import Expected, Snapshot, SnapshotHead, SnapshotStore, Written

__all__ = ["snapshots"]

_FEW, _MANY = 3, 5  # repetitions: few where one takes seconds
_COMPARED = 5  # frames that the shard and the restored one both answer

STEPS = ("gather", "write", "read", "restore")


@dataclass(frozen=True)
class Taken:
    subscriptions: int
    attributes: int
    wall: dict[str, list[float]]  # by step
    cpu: dict[str, list[float]]  # of this process; Redis has its own
    snapshot_bytes: int
    id_bytes: int
    index_bytes: int  # in memory, with the ids

    def best(self, *steps: str) -> float:
        """Of the whole: the quickest repetition of all these steps together."""
        return min(map(sum, zip(*(self.wall[step] for step in steps), strict=True)))

    def worst(self, *steps: str) -> float:
        return max(map(sum, zip(*(self.wall[step] for step in steps), strict=True)))

    @property
    def bytes_each(self) -> float:
        return (self.snapshot_bytes - self.id_bytes) / self.subscriptions


def snapshots(lab: Lab) -> Section:
    taken = [
        _measured(lab, count, attributes)
        for attributes in lab.sizes.attributes
        for count in lab.sizes.snapshots
    ]
    header = ["attributes", "subscriptions", *(f"{step}, s" for step in STEPS)]
    header += ["gather + write, s", "read + restore, s", "MB", "bytes each", "in memory, each"]
    rows = [_cells(one) for one in taken]
    words = (
        "One shard of kind ranked, ids such as `ad-1234567`, a Redis on this machine. `gather` is"
        " the shard as arrays, `write` the upload and the swap of the pointer, `read` the download"
        " with every checksum verified, `restore` the shard made of it. Wall time, the best of"
        f" {_MANY} ({_FEW} above {lab.sizes.target:,}). `bytes each` are the snapshot's, without"
        " the ids' own; `in memory` are the arrays of index and ids, all that there is. The"
        f" restored shard answered {_COMPARED} frames as the first one did."
    )
    targets = [row for one in taken if one.subscriptions == lab.sizes.target for row in _rows(one)]
    target_table = Table(
        ["", "measured", "target", "", "in plain words"], [row.cells() for row in targets], prose=4
    )
    sizes = lab.sizes.snapshots
    lines = {
        f"{what}, {d} attribute{'s' * (d > 1)}": [
            one.best(*steps) for one in taken if one.attributes == d
        ]
        for d in lab.sizes.attributes
        for what, steps in (("gather + write", STEPS[:2]), ("read + restore", STEPS[2:]))
    }
    plot = Plot("state_snapshots", "subscriptions", "seconds", sizes, lines, log_x=True)
    tables = [target_table, Table(header, rows), _cpu_table(taken)]
    return Section("state_snapshots", "Snapshots of a shard", words, tables, [plot])


def _measured(lab: Lab, count: int, attributes: int) -> Taken:
    lab.step(f"snapshots, {count:,} subscriptions, {attributes} attributes")
    collection = collection_of(attributes)
    data = lab.subscriptions(count, attributes)
    asked = encoded_frames(data.queries)[:_COMPARED]
    repetitions = _MANY if count <= lab.sizes.target else _FEW
    clock = _Clock()
    with lab.redis() as client:
        store = SnapshotStore(client, "podium", collection.name, keep_old_s=1)
        written, index_bytes, expected = _write(store, collection, data, asked, clock, repetitions)
        for _ in range(repetitions):
            snapshot = clock.time("read", store.read, 0, Expected.of(collection, None))
            restored = empty_shard(collection)
            clock.time("restore", _restore, restored, collection, snapshot)
    if _answers(restored, asked) != expected:
        raise RuntimeError("a shard and the one restored from its snapshot answer differently")
    lab.flush_redis()
    id_bytes = sum(map(len, data.keys))
    sizes = (written.bytes, id_bytes, index_bytes)
    return Taken(count, attributes, clock.wall, clock.cpu, *sizes)


def _write(
    store: SnapshotStore,
    collection: Collection,
    data: Subscriptions,
    asked: list[bytes],
    clock: "_Clock",
    repetitions: int,
) -> tuple[Written, int, list[bytes]]:
    """What was written, the shard's size in memory and its answers; the shard itself goes."""
    shard = shard_of(collection, [data.as_changes()])
    epoch = store.claim(shard.number)
    for _ in range(repetitions):
        snapshot = clock.time("gather", _gathered, collection, shard)
        written = clock.time("write", store.write, snapshot, epoch)
    return written, shard.nbytes, _answers(shard, asked)


class _Clock:
    def __init__(self) -> None:
        self.wall: dict[str, list[float]] = {step: [] for step in STEPS}
        self.cpu: dict[str, list[float]] = {step: [] for step in STEPS}

    def time(self, step: str, work: Callable[..., Any], *arguments: Any) -> Any:
        gc.collect()
        cpu, wall = time.process_time(), time.perf_counter()
        made = work(*arguments)
        self.wall[step].append(time.perf_counter() - wall)
        self.cpu[step].append(time.process_time() - cpu)
        return made


def _gathered(collection: Collection, shard: Shard) -> Snapshot:
    head = SnapshotHead(
        collection.name,
        collection.kind,
        collection.attributes,
        shard.number,
        "",
        shard.next_offset,
        len(shard),
        time.time(),
        "",
    )
    return Snapshot(head, shard.to_arrays())


def _restore(shard: Shard, collection: Collection, snapshot: Snapshot) -> None:
    shard.restore(snapshot.arrays, snapshot.head.next_offset)
    shard.open()


def _answers(shard: Shard, asked: list[bytes]) -> list[bytes]:
    return [partials.encode(shard.answer(frames.decode(frame))) for frame in asked]


def _cells(one: Taken) -> list[str]:
    steps = [f"{one.best(step):.2f}" for step in STEPS]
    sums = [f"{one.best(*STEPS[:2]):.2f}", f"{one.best(*STEPS[2:]):.2f}"]
    sizes = [f"{one.snapshot_bytes / 1e6:.1f}", f"{one.bytes_each:.1f}"]
    in_memory = f"{one.index_bytes / one.subscriptions:.0f}"
    return [f"{one.attributes}", f"{one.subscriptions:,}", *steps, *sums, *sizes, in_memory]


def _rows(one: Taken) -> list[Row]:
    which = f"{one.subscriptions:,}, {one.attributes} attribute{'s' * (one.attributes > 1)}"

    def seconds(what: str, steps: tuple[str, ...], most: float) -> Row:
        each = ", ".join(f"{step} {one.best(step):.2f}" for step in steps)
        words = f"{each}; together {one.worst(*steps):.2f} at worst"
        return Row(f"{what} of {which}", one.best(*steps), most=most, words=words, unit=" s")

    size = f"{one.snapshot_bytes / 1e6:.1f} MB, of which {one.id_bytes / 1e6:.1f} are the ids"
    return [
        seconds("snapshot", STEPS[:2], 2),
        Row(f"snapshot of {which}, bytes each", one.bytes_each, most=64, words=size, unit=" bytes"),
        seconds("restore", STEPS[2:], 10),
    ]


def _cpu_table(taken: list[Taken]) -> Table:
    rows = [
        [
            f"{one.attributes}",
            f"{one.subscriptions:,}",
            *(f"{min(one.cpu[step]):.2f} / {max(one.wall[step]):.2f}" for step in STEPS),
        ]
        for one in taken
    ]
    caption = "CPU seconds of this process at best, and wall time at worst:"
    return Table(["attributes", "subscriptions", *STEPS], rows, caption)
