"""Range top-k subscriptions: "keep me the k best objects in my range" (the Paint paper).

Objects are points (x, y), a lower y is better.  A subscription is a range of x.  A server turns an
update of an object into few messages, each for a rectangle of subscriptions, at a cost that has to
do with the messages and not with the subscribers; a subscriber keeps its list by `TopKList`.

    objects         the objects by x and by (y, x): first_k, min_y, top_k
    subscriptions   the ranges as points (low, high): snap, inside
    regions         where an object is among the k best: staircases, cut into tiles
    painting        from an update to its messages: the kernels
    server          PaintDense (knows the objects), PaintSparse (knows the subscriptions, too)
    servers         PaintServers: the objects on several servers, each with a slice of x
    one_and_half    PaintOneAndHalf, Box: subscriptions with a least z beside the range of x
    batch           PaintBatch: many updates, each subscriber with the fewest messages
    baselines       Unicast, CNRelax: what one would do instead
    messages        Message, MessageTable; TopKList and NamedTopKList, the subscriber's side
    axis            cells of x, for objects that share one
    named           NamedPaint: objects with ids and any x, as a topic has them
    named_slices    the same with the objects in slices of x that paint a batch together
    keys            the subscriptions by their keys
    world           World: all that a painter knows, and what each zone has to hear
    lists           SubscriberLists: the lists of many subscribers, and what changes in them

One update, step by step, with k = 1 and objects (1, 10), (2, 20), (3, 30): object 2 goes to 40.
Its influence region was low in (1, 2], high >= 2: whoever has 2 and not 1.  That region is told
(2, 40).  The sweep from 20 to 40 meets object 3 at 30, which is told to those of the region whose
range has 3, too: two messages, however many subscribers there are.

>>> server = PaintDense(k=1)
>>> server.load([(1, 10), (2, 20), (3, 30)])
>>> for message in server.update(2, 20, 40):
...     print(*message)
2.0 2.0 1.0 inf 2.0 40.0
2.0 3.0 1.0 inf 3.0 30.0
"""

from indexes.paint.baselines import CNRelax, Unicast
from indexes.paint.batch import PaintBatch
from indexes.paint.lists import Changed, ListArrays, SubscriberLists
from indexes.paint.messages import Message, MessageTable, NamedTopKList, TopKList, reaches
from indexes.paint.named import (
    FirstLists,
    NamedPaint,
    NamedPaintArrays,
    ObjectStates,
    Painted,
)
from indexes.paint.objects import ObjectIndex
from indexes.paint.one_and_half import Box, BoxCalls, BoxTable, PaintOneAndHalf
from indexes.paint.server import PaintDense, PaintSparse
from indexes.paint.servers import PaintServers, Slice, SlicedObjects
from indexes.paint.subscriptions import SubscriptionIndex

__all__ = [
    "Box", "BoxCalls", "BoxTable", "CNRelax", "Changed", "FirstLists", "ListArrays", "Message",
    "MessageTable", "NamedPaint", "NamedPaintArrays", "NamedTopKList", "ObjectIndex",
    "ObjectStates", "PaintBatch", "PaintDense", "PaintOneAndHalf", "PaintServers", "PaintSparse",
    "Painted", "Slice", "SlicedObjects", "SubscriberLists", "SubscriptionIndex", "TopKList",
    "Unicast", "reaches",
    "warm_up",
]  # fmt: skip


def warm_up() -> None:
    """Compile what a painter and a zone call, or load it."""
    none = [float("nan")]
    for form in ("dense", "sparse"):
        server = NamedPaint(2, form)
        server.subscribe_many([1, 2], [0, 1], [5, 6])
        server.subscribe_many(range(3, 103), range(100), range(100, 200))  # tables grow
        server.put_many([b"a", b"b", b"c"], [1, 2, 2], [3, 2, 1])
        first = server.first_lists([0], [5])
        server.put_many([b"a", b"b"], [1, 2], [1, 3])
        server.put_batch([b"a", b"b"], [4, 2], [2, *none])
        NamedPaint.from_arrays(server.to_arrays()).unsubscribe_many([1])
    lists = SubscriberLists(2, least=1)
    lists.subscribe_many([1], [0], [5], [2], 0, first.counts, first.states, first.objects)
    lists.apply(server.put_many([b"a"], [4], [9]), [1])
    lists.apply(server.put_many([b"a"], [4], [1]), [1], records=False)
    lists.flush()
    columns = (first.counts, first.states, first.objects)
    for id in (2, 3):
        lists.subscribe_many([id], [0], [5], [2], 0, *columns)
    for number in range(2, 40):  # until states that no list has are forgotten
        lists.apply(server.put_many([b"a"], [4], [number]), [number])
    SubscriberLists.from_arrays(lists.to_arrays()).unsubscribe_many([1])
