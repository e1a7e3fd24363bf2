"""Code that runs in the driver, once per batch or run.

    collection_job   what the jobs share: a collection's topics, base store and subscriptions
    bases            `sopt-bases`, a stream: plan the batch → tasks.build_bases → announce, drop old
    announcements    records of `bases` about new bases; drops those that nobody needs any more
    paint            `paint-batch`, a stream: tasks.read_changes → one step of a painter → zones
    world_changes    what a batch brings to a painter's world, from what the tasks have read
    batch_painter    the world, and what it says to the zones of each batch
    zone_voice       records of `messages` on their way, and the wait for what zones do with them
    backfill         `backfill`, a batch: states of the shards → tasks.match_events, piece by piece
    pieces           which events a backfill matches, in which pieces, and how far it is
    checkpoints      whose a checkpoint is, and which offsets a batch has
    topic_admin      whether topics are as declared; up to where dead letters are written

What touches every record is in `tasks/`.
"""
