"""How a worker shares Python's lock among its threads, so that frames do not wait for the others.

A matcher answers frames on one thread, while others parse changes, write snapshots and build
indexes.  What takes long there is compiled and leaves the lock alone; this is about the rest.
"""

import gc
import sys

# How long a thread in Python code may keep another one waiting.  Python's own 5 ms are longer than
# a frame takes; below this, throughput falls, as threads take turns all the time.
SWITCH_S = 0.0005
# Objects made, less those gone, before Python looks for cycles among the youngest.  A batch of
# records is tens of thousands of them, none in a cycle; Python's own 700 would cost as much time
# as parsing them.
_YOUNG_OBJECTS = 100_000


def keep_calm() -> None:
    """To be called once, when everything is imported and warmed up."""
    sys.setswitchinterval(SWITCH_S)
    gc.set_threshold(_YOUNG_OBJECTS, *gc.get_threshold()[1:])
    gc.collect()
    gc.freeze()  # what is there by now stays; going through it would hold up every frame
