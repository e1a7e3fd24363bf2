"""How a worker keeps what it does beside them from holding frames up."""

import gc
import os
import sys
import threading

# Objects made, less those gone, before Python looks for cycles among the youngest.  A batch of
# records is tens of thousands of them, none in a cycle; Python's own 700 would cost as much time
# as parsing them.
_YOUNG_OBJECTS = 100_000

# Of 19: it gets a tenth of a processor that others want as well, not nothing.
_NICENESS = 10


def keep_calm() -> None:
    """To be called once, when everything is imported and warmed up."""
    gc.set_threshold(_YOUNG_OBJECTS, *gc.get_threshold()[1:])
    gc.collect()
    gc.freeze()  # what is there by now stays; going through it would hold up every frame


def give_way() -> None:
    """To be called once by a thread whose work may wait, as that for a snapshot may."""
    if sys.platform == "linux":  # elsewhere threads have no priorities of their own
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
