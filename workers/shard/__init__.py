"""One shard of a matcher: a partition of `subscriptions`, indexed.

shard.py      the index and the ids, how they change, how they answer a frame
service.py    the owner: feed, snapshots, rebuilds and routes of one shard
feed.py       keeps the shard in step with its partition: reads and applies
changes.py    from records to what changes
key_table.py  subscription ids ↔ offsets, which are the ids of the index
rebuild.py    a better index, announced by the Spark job or built here, swapped in
"""
