"""The objects of a collection in slices, one a task: stored, changed, asked and painted there.

A task loads its slice as it was, does its work, and stores it under a name that says what it is as
of; so a task that is done again does the same.  Where slices paint together they run at the same
time (a barrier stage), and ask each other by `slice_calls`.
"""

import base64
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark import BarrierTaskContext, TaskContext
from pyspark.sql import DataFrame, SparkSession

from indexes.paint import FirstLists, NamedPaintArrays, ObjectStates, Painted
from indexes.paint.named_slices import NamedSlice, part_of
from spark_streaming.tasks.slice_calls import RemoteSlice, SliceServer
from spark_streaming.tasks.worker_process import keep_quick
from storage import array_blob
from storage.base_store import BaseStore
from topics import worlds
from topics.codecs.byte_strings import ByteStrings
from topics.worlds import WorldName

_ROWS = "slice int, answer binary"
_SCHEMA = pa.schema([("slice", pa.int32()), ("answer", pa.binary())])
_ANSWER = b"PSLA", 1
_SAMPLE = 64  # x of a slice's objects, by which slices are cut anew


class SlicesAt(NamedTuple):
    """Where slices are stored: those of a world, or of a step on the way to it."""

    world: WorldName
    step: int | None
    boundaries: tuple[float, ...]

    @property
    def slices(self) -> int:
        return len(self.boundaries) + 1

    def name(self, number: int) -> str:
        return self.world.slice(number, self.step)

    def layout(self, k: int, epsilon: float | None, number: int) -> dict[str, Any]:
        return {"k": k, "epsilon": epsilon, "boundaries": list(self.boundaries), "slice": number}


class Listing(NamedTuple):
    """Whose first lists are asked for."""

    lows: np.ndarray
    highs: np.ndarray


class Changes(NamedTuple):
    """Objects that come, change or (y = nan) go."""

    ids: list[bytes]
    x: np.ndarray
    y: np.ndarray
    aloud: bool  # whether subscribers are to hear of it


class SlicePlan(NamedTuple):
    """What the tasks have to know.  Holds secrets: never log it."""

    k: int
    epsilon: float | None
    store: str
    token: bytes
    before: SlicesAt | None  # None: there are no objects yet
    after: SlicesAt | None  # None: they stay as they are
    work: Listing | Changes | None  # None: they are stored under the other name

    @property
    def at(self) -> SlicesAt:
        found = self.after or self.before
        assert found is not None
        return found

    @property
    def together(self) -> bool:
        return isinstance(self.work, Changes) and self.work.aloud


class Answer(NamedTuple):
    """Of one slice."""

    objects: int
    sample: np.ndarray  # f8[]  ascending x, evenly among its objects
    lists: FirstLists | None
    painted: Painted | None


def slice_answers(spark: SparkSession, plan: SlicePlan) -> list[Answer]:
    """Do the work of a plan, and say what came of it, by slice."""
    count = plan.at.slices
    numbers: DataFrame = spark.range(0, count, 1, count)
    rows = numbers.mapInArrow(
        lambda batches: _work(batches, plan), _ROWS, barrier=plan.together
    ).collect()
    by_number = {row["slice"]: bytes(row["answer"]) for row in rows}
    return [_decoded(by_number[number]) for number in range(count)]


# In a task.

# The slice that this process had last: the next task often wants the same.  No more than one, as
# slices are made so that one has room.
_kept: tuple[str, NamedSlice] | None = None


def _work(batches: Iterable[pa.RecordBatch], plan: SlicePlan) -> Iterator[pa.RecordBatch]:
    global _kept
    for _ in batches:  # its only row is the number of the slice, as is the task's
        pass
    context = TaskContext.get()
    assert context is not None
    number = context.partitionId()
    store = BaseStore.open(plan.store)
    part = _slice(store, plan, number)
    lists = painted = None
    match plan.work:
        case Listing(lows, highs):
            lists = part.first_lists(lows, highs)
        case Changes(ids, x, y, aloud=False):
            part.take_in(ids, x, y)
        case Changes(ids, x, y):
            painted = _put_together(part, plan, number)
    if plan.after is not None:
        arrays = part.to_arrays()._asdict()
        layout = plan.after.layout(plan.k, plan.epsilon, number)
        store.put(plan.after.name(number), worlds.encode(plan.after.world, layout, arrays))
    _kept = (plan.at.name(number), part)
    answer = _encoded(part, lists, painted)
    keep_quick()
    yield pa.RecordBatch.from_pylist([{"slice": number, "answer": answer}], _SCHEMA)


def _slice(store: BaseStore, plan: SlicePlan, number: int) -> NamedSlice:
    """The slice as it was, in the boundaries that it will have."""
    global _kept
    kept, _kept = _kept, None  # it is about to change, or to make room
    before, boundaries = plan.before, plan.at.boundaries
    is_cut_anew = before is not None and before.boundaries != boundaries
    if before is not None and not is_cut_anew and kept and kept[0] == before.name(number):
        return kept[1]
    part = NamedSlice(plan.k, plan.epsilon, boundaries, number)
    if before is not None:
        for old in range(before.slices) if is_cut_anew else (number,):
            layout = before.layout(plan.k, plan.epsilon, old)
            stored = worlds.decode(before.world, layout, store.get(before.name(old)))
            wanted = {name: stored[name] for name in NamedPaintArrays._fields}
            arrays = NamedPaintArrays(**wanted)
            part.restore(part_of(arrays, boundaries, number) if is_cut_anew else arrays)
    return part


def _put_together(part: NamedSlice, plan: SlicePlan, number: int) -> Painted:
    assert isinstance(plan.work, Changes)
    stage = BarrierTaskContext.get()
    others = _Stage(stage)
    host = stage.getTaskInfos()[number].address.rpartition(":")[0]
    server = SliceServer(part.held, host, plan.token)
    asked: list[RemoteSlice] = []
    try:
        addresses = others.gather(server.address.encode())
        asked = [RemoteSlice(address.decode(), plan.token) for address in addresses]
        ids, x, y, _ = plan.work
        return part.put_together(ids, x, y, asked, others)
    finally:
        for one in asked:
            one.close()
        server.close()


class _Stage:
    """The tasks of a barrier stage."""

    def __init__(self, context: BarrierTaskContext) -> None:
        self._context = context

    def gather(self, mine: bytes) -> list[bytes]:
        given = self._context.allGather(base64.b64encode(mine).decode())
        return [base64.b64decode(one) for one in given]


# Answers.


def _encoded(part: NamedSlice, lists: FirstLists | None, painted: Painted | None) -> bytes:
    x = np.sort(part.to_arrays().x)
    chosen = np.linspace(0, len(x) - 1, min(_SAMPLE, len(x))).astype(np.int64)
    arrays = {"objects": np.array([part.objects]), "sample": x[chosen]}
    if lists is not None:
        arrays |= {"counts": lists.counts, "entries": lists.states}
        arrays |= _of_states("listed", lists.objects)
    if painted is not None:
        arrays |= {f"painted.{name}": getattr(painted, name) for name in _PAINTED}
        arrays |= _of_states("painted", painted.states)
        arrays |= _of_ids("gone", painted.gone_ids)
    return b"".join(array_blob.encode(*_ANSWER, {}, arrays))


_PAINTED = (
    *("group", "state", "inner_low", "inner_high", "outer_low", "outer_high"),
    *("gone_group", "gone_to"),
)


def _decoded(answer: bytes) -> Answer:
    _, arrays = array_blob.decode(*_ANSWER, answer)
    lists = painted = None
    if "counts" in arrays:
        lists = FirstLists(arrays["counts"], arrays["entries"], _states(arrays, "listed"))
    if "painted.group" in arrays:
        columns = {name: arrays[f"painted.{name}"] for name in _PAINTED}
        painted = Painted(
            **columns, states=_states(arrays, "painted"), gone_ids=_ids(arrays, "gone")
        )
    return Answer(int(arrays["objects"][0]), arrays["sample"], lists, painted)


def _of_states(name: str, states: ObjectStates) -> dict[str, np.ndarray]:
    return _of_ids(name, states.ids) | {f"{name}.x": states.x, f"{name}.y": states.y}


def _states(arrays: dict[str, np.ndarray], name: str) -> ObjectStates:
    return ObjectStates(_ids(arrays, name), arrays[f"{name}.x"], arrays[f"{name}.y"])


def _of_ids(name: str, ids: Sequence[bytes]) -> dict[str, np.ndarray]:
    packed = ByteStrings.pack(ids)
    return {f"{name}.lengths": packed.lengths, f"{name}.ids": packed.data}


def _ids(arrays: dict[str, np.ndarray], name: str) -> list[bytes]:
    packed = ByteStrings(arrays[f"{name}.lengths"], arrays[f"{name}.ids"])
    return [id or b"" for id in packed.unpack()]
