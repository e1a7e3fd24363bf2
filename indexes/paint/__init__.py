"""Range top-k subscriptions: "keep me the k best objects in my range" (the Paint paper).

Objects are points (x, y), a lower y is better.  A subscription is a range of x.  A server turns an
update of an object into few messages, each for a rectangle of subscriptions, at a cost that has to
do with the messages and not with the subscribers; a subscriber keeps its list by `TopKList`.

    objects         the objects by x and by (y, x): first_k, min_y, top_k
    subscriptions   the ranges as points (low, high): snap, inside
    regions         where an object is among the k best: staircases, cut into tiles
    painting        from an update to its messages: the kernels
    server          PaintDense (knows the objects), PaintSparse (knows the subscriptions, too)
    batch           PaintBatch: many updates, each subscriber with the fewest messages
    baselines       Unicast, CNRelax: what one would do instead
    messages        Message, MessageTable; TopKList, the subscriber's side

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
from indexes.paint.messages import Message, MessageTable, TopKList, reaches
from indexes.paint.objects import ObjectIndex
from indexes.paint.server import PaintDense, PaintSparse
from indexes.paint.subscriptions import SubscriptionIndex

__all__ = [
    "CNRelax", "Message", "MessageTable", "ObjectIndex", "PaintBatch", "PaintDense", "PaintSparse",
    "SubscriptionIndex", "TopKList", "Unicast", "reaches",
]  # fmt: skip
