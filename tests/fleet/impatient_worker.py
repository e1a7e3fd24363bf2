"""`python -m tests.fleet.impatient_worker` is `podium`, but soon believes that a partition is none.

A matcher gives a partition half a minute to become known, and a test that names none would wait.
"""

from podium.cli import main
from workers.matcher import frame_queue

if __name__ == "__main__":
    frame_queue._NO_PARTITION_S = 1.0
    main()
