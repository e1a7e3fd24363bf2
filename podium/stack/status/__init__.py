"""What is said about a stack, from its folder, its workers' health and Kafka.

    report    every process, and how far the consumer groups are behind: `podium status`
    lag       how far one group is behind
    bases     the newest base of every shard
    zones     how far each zone of a collection of lists is
    jobs      Spark jobs beside the stack: how one makes itself known, what its metrics say
    display   all of it on a terminal

`report` gathers from `lag`, `bases`, `zones` and `jobs`; `display` shows what it has gathered.
"""
