"""The painter: turns changes of objects into messages for the zones that keep the lists.

painter.py        the worker: what it reads, in which order, and what it writes
subscriptions.py  reads all partitions of `subscriptions`

`topics.zones` has what it says to zones and hears of them.
"""
