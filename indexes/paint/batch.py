"""Many updates at once, with the fewest messages that each subscriber can do with.

Only the lists at the end of a batch count.  Let `before` and `after` be an object's influence
regions, among the objects before and after the batch, and `stale` the region that it would have
with its old key among the others' new ones.  A subscriber has to hear of

    a worsened object    in after, and in before where stale: else its old y would stay
    an unchanged one     in after \\ before: it is new to the list
    an improved one      in after: it is new to the list, or has another y

and of nothing else.  (An object that goes has y = inf; one that comes has improved.)  The paper's
Paint-Batch (§IV-A) works event by event instead, and is not exact: a message that it leaves out
because a later event "will" send the object is sometimes never sent.

Order: worsened objects first, the worst new key first, then the others in any order.  Then nothing
that belongs to the final list is ever pushed out, or refused.  For let p be of the final list, with
its new key; it is pushed out only by k entries that are better.  Each entry of the list is then
  - one with its new key: truly better than p;
  - an improved one with its old key: better than p already, so truly better, too;
  - a worsened one with its old key that is told later: its new key is better than that of the
    message at hand, which is better than p's (or is p's own), so truly better;
  - a worsened one with its old key that is never told: not in `stale`, so k final objects are
    better than its old key, and p is one of the k best: it is not better than p.
Fewer than k objects are truly better than p, which is one of the k best.  And what stays is the
final list: an entry with another than its new key is not in `stale`, so k others are better.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from indexes.kernels.sorting import stable_order
from indexes.paint.messages import Message, MessageTable
from indexes.paint.objects import ObjectIndex
from indexes.paint.server import PaintServer, Update, Updates, as_updates, checked
from indexes.validation import as_number_array

__all__ = ["PaintBatch"]


class PaintBatch:
    """Batches for a `PaintDense` or a `PaintSparse`, which is up to date afterwards.

    >>> from indexes.paint import PaintDense
    >>> server = PaintDense(k=1)
    >>> server.load([(1, 10), (2, 20)])
    >>> [(m.x, m.y) for m in PaintBatch(server).update([(1, 10, 30), (1, 30, 10), (2, 20, 5)])]
    [(2.0, 5.0)]
    """

    def __init__(self, server: PaintServer) -> None:
        self.server = server

    def update(self, events: Iterable[Update]) -> list[Message]:
        """The messages of all updates (x, old y, new y) together; `None` is absent."""
        return list(self._paint(as_updates(self.server.objects, events)).messages())

    def update_many(self, xs: ArrayLike, old_ys: ArrayLike, new_ys: ArrayLike) -> MessageTable:
        """As `update`, by columns; nan is absent.

        A message's `event` is the last update of its object, or -1 for one that has none.
        """
        columns = [as_number_array(name, values) for name, values in
                   (("xs", xs), ("old_ys", old_ys), ("new_ys", new_ys))]  # fmt: skip
        return self._paint(checked(self.server.objects, *columns))

    def _paint(self, updates: Updates) -> MessageTable:
        net, last = coalesced(updates)
        existed = np.isfinite(net.old_y)
        updated = ObjectIndex.build(np.column_stack([net.x, net.old_y])[existed])
        worsened = worsened_first(*net)
        improved = np.flatnonzero(net.new_y < net.old_y)
        table = self.server.paint_batch(net, updated, worsened, improved)
        event = np.where(table.event >= 0, last[table.event], -1) if len(last) else table.event
        return table._replace(event=event)


def worsened_first(x: np.ndarray, old_y: np.ndarray, new_y: np.ndarray) -> np.ndarray:
    """The places of the updates that worsen, the worst new key first."""
    worsened = np.flatnonzero(new_y > old_y)
    return worsened[np.lexsort((x[worsened], new_y[worsened]))[::-1]]


def coalesced(updates: Updates) -> tuple[Updates, np.ndarray]:
    """One update per object, from its first y to its last, and the place of the last one.

    Those that change nothing in the end are left out.
    """
    order = stable_order(updates.x)
    x = updates.x[order]
    first = np.append(True, x[1:] != x[:-1]) if len(x) else np.empty(0, bool)
    last = np.append(first[1:], True) if len(x) else first
    net = Updates(x[first], updates.old_y[order][first], updates.new_y[order][last])
    changed = net.old_y != net.new_y
    return Updates(*(column[changed].copy() for column in net)), order[last][changed]
