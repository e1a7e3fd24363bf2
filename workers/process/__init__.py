"""What every worker process has, whatever its role.

context.py       settings, names, clients, and the patience to wait for broker and topics
health.py        `/livez`, `/readyz`, `/metrics`, load  metrics.py  what is counted
records.py       the one safe way to read a topic: what cannot be read is stepped over
group_reader.py  reading as a member of a group: assignment, commits (router, merger)
faust_app.py     a Faust app as this fleet needs it
partitions.py    the partitions that Faust has given to a worker (matcher, zone)
topic_watch.py   notices topics that were made anew
lag.py           how far a worker is behind the partitions it reads
object_lag.py    how far painters and zones are behind `objects`
stages.py        where the time of an event goes: histograms that count events
latency.py       background work does not delay frames
"""
