"""One change after the other, and Paint-Batches of them."""

import time

from benchmarks.range_topk.lab import Crowd, Lab
from benchmarks.report import Section, Table
from topics import messages as codec
from topics.zones.steps import message_records

__all__ = ["batches"]


def batches(lab: Lab) -> Section:
    sizes = lab.sizes
    rows = []
    for size in sizes.batches:
        for name, at_once in (("one by one", False), ("Paint-Batch", True)):
            lab.step(f"{name}, {size:,} changes")
            crowd = Crowd(lab)
            crowd.subscribe(sizes.subscriptions[1])
            crowd.open_zone()
            changes = crowd.changes(size)
            numbers = crowd.numbers(size)
            began, sent, lists, nbytes = time.process_time(), 0, 0, 0
            told = crowd.world.put(changes.ids, changes.xs, changes.ys, numbers, at_once=at_once)
            took = time.process_time() - began
            for messages in told.values():
                sent += len(messages.group)
                for record in message_records(crowd.header(), messages, int(numbers[-1]) + 1):
                    data = codec.encode(record)
                    nbytes += len(data)
                    lists += len(crowd.zone.take(codec.decode(data)))
            rows.append(
                [
                    f"{size:,}",
                    name,
                    f"{1e6 * took / size:,.1f}",
                    f"{sent / size:,.2f}",
                    f"{nbytes / size:,.0f}",
                    f"{lists:,}",
                ]
            )
    words = (
        f"{sizes.objects:,} uniform objects, {sizes.subscriptions[1]:,} subscribers of ranges of"
        f" {100 * sizes.width:g} % of the axis, k = 10, PaintSparse; changes to a new y, one object"
        " may change several times. A batch is one group: each list has one record for it, with the"
        " net effect. CPU time of the painter's world, without encoding."
    )
    header = ["changes", "", "µs per change", "messages per change", "bytes per change", "lists"]
    return Section(
        "range_topk_batches", "Range top-k lists in batches", words, [Table(header, rows, prose=1)]
    )
