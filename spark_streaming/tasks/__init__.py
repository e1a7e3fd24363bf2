"""Code that runs in Spark's tasks.

    build_bases      records of `subscriptions` → states and SOPT-R-trees in the base store
    match_events     records of `events` + states of the shards → match records
    read_changes     records of `objects` and `subscriptions` → changes of a painter's world
    shard_state      the live subscriptions of one shard, and the fold of records into them
    worker_process   what a task leaves behind so that the next one starts quickly

A task has no settings and no session: a plan, sent with the code, says all that it has to know.
"""
