"""The fleet: the processes that match events with subscriptions.

kinds.py     which roles work for which kind: the pipeline as data
main.py      starts a process of any role      warm_up.py  compiles what it will call
process/     what every process has: context, health, metrics, readers of topics
router/      events → frames, one per shard     matcher/  frames → partials, from its shards
merger/      partials → matches
shard/       one shard of a matcher: index, feed of subscriptions, rebuilds
snapshots/   shards in Redis                    routing/  which shards an event can miss
"""
