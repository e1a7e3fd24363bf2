"""The state of a shard, measured: see `__main__`.

    lab            sizes, subscriptions, shards, a stack
    snapshots      how long snapshots take, and how large they are
    replay         restarts of a matcher, with and without a snapshot
    latency        how long frames wait beside other work: `loop` asks, `disturbances` is the work
    merging        what an event costs the merger, by shards
    others         how much of the machine other programs used meanwhile

`python -m benchmarks.state [--quick] [--only NAME] [--out DIR]`
"""
