"""The matcher: answers frames from the shards that it holds.

matcher.py      shards come and go with the partitions that Faust assigns
frame_queue.py  the frames of one shard, answered in order, sent in order
"""
