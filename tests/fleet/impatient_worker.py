"""`python -m tests.fleet.impatient_worker` is `podium`, but waits for nothing.

A matcher gives a partition half a minute to become known, and a test that names none would wait;
and it says every two seconds how far a replay is, which by then may be over.
"""

from podium.cli import main
from workers.matcher import frame_queue
from workers.shard import feed

if __name__ == "__main__":
    frame_queue._NO_PARTITION_S = 1.0
    feed._PROGRESS_EVERY_S = 0.0
    main()
