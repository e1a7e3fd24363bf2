"""How a worker keeps what it does beside them from holding frames up."""

import ctypes
import gc
import os
import sys
import threading

# Objects made, less those gone, before Python looks for cycles among the youngest.  A batch of
# records is tens of thousands of them, none in a cycle; Python's own 700 would cost as much time
# as parsing them.
_YOUNG_OBJECTS = 100_000

# What glibc's malloc.h calls its options.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
_NEVER = 2**31 - 1
_MOST_FROM_HEAP = 32 * 1024 * 1024  # bytes of an array; glibc takes no more

# Of 19: it gets a tenth of a processor that others want as well, not nothing.
_NICENESS = 10


def keep_calm() -> None:
    """To be called once, when everything is imported and warmed up."""
    gc.set_threshold(_YOUNG_OBJECTS, *gc.get_threshold()[1:])
    gc.collect()
    gc.freeze()  # what is there by now stays; going through it would hold up every frame
    _keep_memory()


def _keep_memory() -> None:
    """What an index took that is gone serves the next one.

    It would go back to the system otherwise, in one go that holds everything up, and page by page
    it would be asked for again: by a copy of the index, which changes wait for.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # other systems have none
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, 1)  # memory of a thread's own arena is given back regardless
        mallopt(_M_MMAP_THRESHOLD, _MOST_FROM_HEAP)
        mallopt(_M_TRIM_THRESHOLD, _NEVER)


def give_way() -> None:
    """To be called once by a thread whose work may wait, as that for a snapshot may."""
    if sys.platform == "linux":  # elsewhere threads have no priorities of their own
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
