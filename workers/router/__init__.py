"""The router: `events` in, one frame per shard out.

router.py   reads, sends, commits
framing.py  from a batch of records to frames, without Kafka
route_reader.py  follows `routes`               route_table.py  what these let through
"""
