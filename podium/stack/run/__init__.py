"""The local stack while it runs.

    stack          Kafka and Redis on free ports, and workers beside them: the context manager
    supervisor     starts children, starts them again when they die, stops them in reverse order
    child          one process: its session, its log file, its end
    guard          a process that outlives its supervisor and leaves nothing running
    broker         the Kafka broker's files and command; redis_server is that of Redis
    fleet          which workers a collection needs
    ports          free ports on the loopback address
    folder         data, logs, and the files by which other commands find a stack
    control        stopping a stack from another process, and leaving one in the background

`stack` → `supervisor` → `child`, with `guard` beside them in case the supervisor is killed.
"""
