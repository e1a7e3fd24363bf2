"""The node, of layout `replicated`: all shards in one process, `events` in, match records out.

node.py       the process: restores all shards, then has events read until it is told to stop
events.py     reads events, has them answered, writes, commits; in a thread of its own
answering.py  the best of all shards' hits, without Kafka
handover.py   events that routers, matchers and mergers have left on their way
"""
