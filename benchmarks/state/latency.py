"""How long frames wait while a matcher does what it has to do beside them."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.intervals.targets import Row
from benchmarks.measure import micro, repeat
from benchmarks.report import Section, Table
from benchmarks.state.disturbances import (
    BATCHES_S,
    CHANGES_S,
    Changing,
    NewBase,
    Rebase,
    Renewing,
    Snapshots,
    Updates,
    received,
)
from benchmarks.state.lab import EVENTS_A_FRAME, Lab, collection_of, encoded_frames, shard_of
from benchmarks.state.loop import FRAMES_S, Disturbance, Latencies, Loop, measure_latencies
from topics import partials
from workers.process.latency import tune_for_latency
from workers.shard.changes import Changes, read_changes
from workers.shard.rebuild import MOST_TIME
from workers.shard.shard import Shard

__all__ = ["latency"]

_FRAME_SIZES = (10, 100, 1_000)  # events
_AGED = 0.05  # of the subscriptions have changed since the index's base was built
_OLD_SNAPSHOTS_S = 1.0  # so that those written one after the other do not fill Redis


@dataclass(frozen=True)
class Measured:
    what: str
    attributes: int
    most: float  # times the idle p99
    taken: Latencies


def latency(lab: Lab) -> Section:
    measured: list[Measured] = []
    costs: list[list[str]] = []
    for attributes in lab.sizes.attributes:
        bench = _Bench(lab, attributes)
        costs += bench.frame_costs()
        measured += bench.run()
    header = ["", "measured", "target", "", "in plain words"]
    rows = Table(header, [_row(one).cells() for one in measured], prose=4)
    details = Table(
        ["while", "attributes", "idle p50", "idle p99", "p50", "p99", "worst", "times a second"],
        [_cells(one) for one in measured],
        "In microseconds, from when a frame was due to its encoded answer:",
    )
    words = (
        f"{lab.sizes.target:,} subscriptions, {FRAMES_S} frames of {EVENTS_A_FRAME} events a second"
        " at fixed times, each decoded, answered and encoded on one thread, as a matcher's loop"
        " does it, without Kafka. What is done beside them is done by the matcher's own code in"
        " other threads of the process, and over and over, so that every frame falls into it: in"
        " life there are minutes between two snapshots. p99 is that of the quietest of"
        f" {lab.sizes.turns} turns of {lab.sizes.seconds_a_turn:g} s, idle and busy in turn."
        f" {100 * _AGED:.0f} % of the subscriptions have changed since the base; for changes the"
        f" index begins each turn with a new base. Changes are updates, {BATCHES_S} batches of"
        f" {CHANGES_S // BATCHES_S} a second, parsed in a thread and applied between frames."
        " A changing index is renewed when a turn begins, then as often as a matcher does it, for"
        f" {100 * MOST_TIME:g} % of the time."
        " Answers are compared with the idle ones, and after changes with those of a replay."
    )
    cost = Table(
        ["events a frame", "attributes", "CPU, µs", "hits", "frame, bytes", "answer, bytes"],
        costs,
        "One frame when nothing else is done, each figure an event:",
    )
    return Section("state_latency", "Frames during upkeep", words, [rows, details, cost])


class _Bench:
    """One shard, and what is done beside its frames."""

    def __init__(self, lab: Lab, attributes: int) -> None:
        self._lab, self._attributes = lab, attributes
        self._collection = collection_of(attributes, "latency")
        lab.step(f"latency, {attributes} attributes, building the shard")
        self._data = lab.subscriptions(lab.sizes.target, attributes)
        # As a matcher; what it does not have is not gone through in its name either.
        tune_for_latency()
        self._shard = shard_of(self._collection, [self._data.as_changes()])
        count = int(_AGED * lab.sizes.target)
        self._since = Updates.draw(self._data, self._shard.next_offset, count, seed=9)
        messages = received(self._since.records(self._data))
        self._aged = read_changes(messages, self._shard.contract, 1)
        self._shard.apply(self._aged)
        self._asked = encoded_frames(self._data.queries)
        self._loop = Loop(self._shard, self._asked)

    def frame_costs(self) -> list[list[str]]:
        """What an event takes, by how many travel together."""
        rows = []
        for events in _FRAME_SIZES:
            asked = encoded_frames(self._data.queries, events)
            loop = Loop(self._shard, asked)
            cpu = repeat(loop.answers, units=len(asked) * events).best
            answers = loop.answers()
            hits = sum(len(partials.decode(answer).ids) for answer in answers)
            total = len(asked) * events
            sizes = (sum(map(len, asked)) / total, sum(map(len, answers)) / total)
            rows.append(
                [
                    f"{events:,}",
                    f"{self._attributes}",
                    micro(cpu),
                    f"{hits / total:.1f}",
                    *(f"{size:.0f}" for size in sizes),
                ]
            )
        return rows

    def run(self) -> list[Measured]:
        shard, data = self._shard, self._data
        snapshots = {"keep_old_s": _OLD_SNAPSHOTS_S}
        old = self._lab.settings().snapshots.model_copy(update=snapshots)
        context = self._lab.context(self._collection, snapshots=old)
        writing = Snapshots(context, shard)
        measured = [self._measured([writing], most=2)]
        writing.close()
        measured.append(self._measured([NewBase(context, shard, data, self._since)], most=2))
        measured.append(self._measured([Rebase(shard)], most=2))
        changing = Changing(shard, data, self._lab.sizes.seconds_a_turn)
        measured.append(self._measured([changing], most=3))
        measured.append(self._measured([changing, Renewing(shard)], most=3))
        self._check(changing.applied)
        self._lab.flush_redis()
        return measured

    def _measured(self, disturbances: Sequence[Disturbance], most: float) -> Measured:
        what = " and ".join(one.name for one in disturbances)
        self._lab.step(f"latency, {self._attributes} attributes, while {what}")
        sizes = self._lab.sizes
        taken = measure_latencies(
            self._loop, disturbances, sizes.turns, sizes.seconds_a_turn, sizes.patience_s
        )
        return Measured(what, self._attributes, most, taken)

    def _check(self, applied: Sequence[Changes]) -> None:
        """A shard that applied the same in one go has to answer the same."""
        anew: Shard = shard_of(self._collection, [self._data.as_changes(), self._aged, *applied])
        if Loop(anew, self._asked).answers() != self._loop.answers():
            raise RuntimeError("after changes, answers differ from those of a replay")


def _row(one: Measured) -> Row:
    taken = one.taken
    words = (
        f"p99 {micro(taken.busy_p99)} against {micro(taken.idle_p99)} µs idle, p50"
        f" {micro(taken.busy_p50)} and {micro(taken.idle_p50)}"
    )
    if taken.noisy:
        words += "; the machine held up idle frames as well, so this says little"
    what = f"p99 while {one.what}, {one.attributes} attribute{'s' * (one.attributes > 1)}"
    return Row(what, taken.ratio, most=one.most, words=words, unclear=taken.noisy)


def _cells(one: Measured) -> list[str]:
    t = one.taken
    times = (t.idle_p50, t.idle_p99, t.busy_p50, t.busy_p99, t.busy_worst)
    return [one.what, f"{one.attributes}", *map(micro, times), f"{t.times_s:.1f}"]
