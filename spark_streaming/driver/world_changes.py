"""What a batch brings to the world, put together from what the tasks have read."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_streaming.tasks.read_changes import BEGIN, END, OBJECT, REFUSED
from topics.zones.lives import LifeChanges


class WorldChanges(NamedTuple):
    ids: list[bytes]  # of objects, in the order of their records
    x: np.ndarray  # f8[n]
    y: np.ndarray  # f8[n]  nan: gone
    numbers: np.ndarray  # i8[n]
    lives: LifeChanges  # of all shards, by life
    refused: dict[int, int]  # by shard, -1 for objects
    letters: dict[int, int]  # of these, dead letters that were written now

    @property
    def net_objects(self) -> dict[bytes, tuple[float, float]]:
        """The latest of each id, in the order of their records, as a compacted topic has them."""
        latest: dict[bytes, tuple[float, float]] = {}
        for id, x, y in zip(self.ids, self.x.tolist(), self.y.tolist(), strict=True):
            latest.pop(id, None)
            latest[id] = x, y
        return latest


def changes_from(tables: Iterable[pa.Table]) -> WorldChanges:
    rows = pa.concat_tables(tables).sort_by("number")
    objects = rows.filter(pc.equal(rows["what"], OBJECT))
    refused = rows.filter(pc.equal(rows["what"], REFUSED))
    shards, letters = refused["shard"].to_pylist(), refused["k"].to_pylist()
    return WorldChanges(
        objects["key"].to_pylist(),
        objects["low"].to_numpy(),
        objects["high"].to_numpy(),
        objects["number"].to_numpy(),
        _net_lives(rows.filter(pc.is_in(rows["what"], value_set=pa.array([BEGIN, END])))),
        {shard: shards.count(shard) for shard in set(shards)},
        {s: sum(new for at, new in zip(shards, letters, strict=True) if at == s) for s in shards},
    )


def _net_lives(rows: pa.Table) -> LifeChanges:
    """A key is in one shard, so the latest of its records has the greatest number."""
    keys = rows["key"].to_pylist()
    last = {key: row for row, key in enumerate(keys)}
    latest = np.sort(np.fromiter(last.values(), np.int64, len(last)))
    begins = rows["what"].to_numpy()[latest] == BEGIN
    chosen, ended = rows.take(pa.array(latest[begins])), latest[~begins]
    numbers = rows["number"].to_numpy()
    return LifeChanges(
        [keys[row] for row in latest[begins].tolist()],
        chosen["number"].to_numpy(),
        chosen["low"].to_numpy(),
        chosen["high"].to_numpy(),
        chosen["k"].to_numpy(),
        [(keys[row], int(numbers[row])) for row in ended.tolist()],
        {},
    )


NO_CHANGES = WorldChanges(
    [],
    np.empty(0),
    np.empty(0),
    np.empty(0, np.int64),
    LifeChanges([], np.empty(0, np.int64), np.empty(0), np.empty(0), np.empty(0, np.int32), [], {}),
    {},
    {},
)
