"""The node, of layout `replicated`: all shards in one process, `events` in, match records out.

node.py       all shards in one process, which reads events once these are restored
events.py     reads events, has them answered, writes, commits; in a thread of its own
answering.py  the best of all shards' hits, without Kafka
handover.py   events that routers, matchers and mergers have left on their way
"""
