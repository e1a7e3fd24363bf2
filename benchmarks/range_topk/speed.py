"""The painter and a zone by themselves: everything but Kafka."""

import time
from typing import NamedTuple

import numpy as np

from benchmarks.intervals.targets import Row
from benchmarks.range_topk.lab import AT_ONCE, Changes, Crowd, K, Lab, Sizes
from benchmarks.report import Section, Table
from indexes.paint.named import ObjectStates, Painted
from topics import messages as codec
from topics.messages import ZoneRecord
from topics.zones.steps import message_records

__all__ = ["speed"]


class Painting(NamedTuple):
    seconds: float  # of the painter's CPU
    messages: int
    records: list[bytes]


def speed(lab: Lab) -> Section:
    sizes, rows, table = lab.sizes, [], []
    for count in sizes.subscriptions:
        crowd = Crowd(lab)
        lab.step(f"{count:,} subscriptions")
        crowd.subscribe(count)
        crowd.open_zone()
        paint(crowd, crowd.changes(sizes.updates))  # warm
        painting = paint(crowd, crowd.changes(sizes.updates))
        lab.step(f"{count:,} subscriptions, the zone")
        applied, changed = _applied(crowd, painting)
        written, lists = _written(crowd)
        table.append(
            [
                f"{count:,}",
                f"{sizes.updates / painting.seconds:,.0f}",
                f"{painting.messages / sizes.updates:.2f}",
                f"{changed / sizes.updates:.1f}",
                f"{changed / max(1, painting.messages):.1f}",
                f"{changed / applied:,.0f}",
                f"{lists / written:,.0f}",
            ]
        )
        if count == sizes.subscriptions[-1]:
            rows.append(
                Row(f"painter, updates, {count:,} subscriptions", sizes.updates / painting.seconds,
                    least=5_000, unit="/s", words="to the bytes of its records")
            )  # fmt: skip
            rows.append(
                Row("zone, list changes applied", changed / applied, least=200_000, unit="/s",
                    words=f"{1e6 * applied / changed:.2f} µs each, of decoded messages")
            )  # fmt: skip
            rows.append(Row("zone, records of lists made", lists / written, unit="/s",
                            words="lists and changes as JSON, without sending them"))  # fmt: skip
    rows.append(_growth(lab))
    words = (
        f"{sizes.objects:,} uniform objects, subscribers of ranges of {100 * sizes.width:g} % of"
        f" the axis with k = {K}, PaintSparse, {sizes.updates:,} updates to a new y, {AT_ONCE:,} at"
        " once. CPU time. A naive service sends one message per list that an update changes: that"
        " is the column of changed lists beside that of messages. Cost of subscribers that are not"
        f" affected: {sizes.affected:,} subscribers are near the updates, all others elsewhere; the"
        f" best of {sizes.turns} turns with few and many, one after the other."
    )
    if sizes != Sizes():
        words += " **The targets are for other sizes.**"
    header = ["subscriptions", "updates/s", "messages per update", "changed lists per update",
              "changed lists per message", "list changes applied/s", "records made/s"]  # fmt: skip
    tables = [
        Table(["", "measured", "target", "", "in plain words"], [r.cells() for r in rows], prose=4),
        Table(header, table, "Painter and zone by the number of subscriptions."),
    ]
    return Section("range_topk_speed", "Range top-k lists: painter and zone", words, tables)


def paint(crowd: Crowd, changes: Changes) -> Painting:
    records, told_of, seconds = [], 0, 0.0
    for start in range(0, len(changes.ids), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        numbers = crowd.numbers(len(changes.ids[part]))
        began = time.process_time()
        told = crowd.world.put(changes.ids[part], changes.xs[part], changes.ys[part], numbers)
        for messages in told.values():
            told_of += len(messages.group)
            made = message_records(crowd.header(), messages, int(numbers[-1]) + 1)
            records += [codec.encode(record) for record in made]
        seconds += time.process_time() - began
    return Painting(seconds, told_of, records)


def _applied(crowd: Crowd, painting: Painting) -> tuple[float, int]:
    """Seconds, and list changes, for the lists alone."""
    seconds, changed = 0.0, 0
    for data in painting.records:
        record = codec.decode(data)
        painted = _painted(record)
        began = time.process_time()
        changed += len(crowd.zone.lists.apply(painted, record.messages.numbers).ids)
        seconds += time.process_time() - began
    return seconds, changed


def _written(crowd: Crowd) -> tuple[float, int]:
    """Seconds from the bytes of messages to those of lists, and how many lists."""
    painting = paint(crowd, crowd.changes(AT_ONCE))
    began, lists = time.process_time(), 0
    for data in painting.records:
        lists += len(crowd.zone.take(codec.decode(data)))
    return time.process_time() - began, lists


def _growth(lab: Lab) -> Row:
    sizes = lab.sizes
    lab.step("subscribers that are not affected")
    crowds = {}
    for count in (sizes.affected, sizes.subscriptions[-1]):
        crowds[count] = Crowd(lab)
        crowds[count].subscribe(sizes.affected, 0.0, 0.1)
        if count > sizes.affected:
            crowds[count].subscribe(count - sizes.affected, 0.2, 1.0)
    best = dict.fromkeys(crowds, np.inf)
    for _ in range(sizes.turns + 1):
        for count, crowd in crowds.items():
            took = paint(crowd, crowd.changes(sizes.updates, most_x=0.1)).seconds / sizes.updates
            best[count] = min(best[count], took)
    few, many = best.values()
    words = f"{1e6 * many:.1f} against {1e6 * few:.1f} µs per update"
    name = f"painter, {sizes.subscriptions[-1]:,} against {sizes.affected:,} subscriptions"
    return Row(f"{name}, the others not affected", many / few, most=1.3, words=words)


def _painted(record: ZoneRecord) -> Painted:
    states, m = record.states, record.messages
    ids = [id or b"" for id in states.ids.unpack()]
    return Painted(
        m.group.astype(np.int64),
        m.state,
        m.inner_low,
        m.inner_high,
        m.outer_low,
        m.outer_high,
        ObjectStates(ids, states.x, states.y),
        m.gone_group.astype(np.int64),
        [id or b"" for id in m.gone_ids.unpack()],
        m.gone_to,
    )
