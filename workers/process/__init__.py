"""What every worker process has, whatever its role.

context.py       settings, names, clients, and the patience to wait for broker and topics
health.py        `/livez`, `/readyz`, `/metrics`        metrics.py  what is counted
records.py       the one safe way to read a topic: what cannot be read is stepped over
group_reader.py  reading as a member of a group: assignment, commits (router, merger)
faust_app.py     a Faust app as this fleet needs it
partitions.py    the partitions that Faust has given to a worker (matcher, zone)
topic_watch.py   notices topics that were made anew
object_lag.py    how far painters and zones are behind `objects`
latency.py       background work does not delay frames
"""
