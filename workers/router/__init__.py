"""The router: `events` in, one frame per shard out.

router.py    reads, sends, commits
framing.py   from a batch of records to frames, without Kafka
rate.py      how many events come, which their linger follows
tokens.py    refuses events that wait for what nobody has written
progress.py  what a router or a node tells its successor, in the metadata of its commits
routes.py    follows `routes`, and which shards these let an event go to
"""
