"""Process tuning so that background work (snapshots, rebuilds) does not delay frames."""

import ctypes
import gc
import logging
import os
import platform
import sys
import threading

log = logging.getLogger(__name__)

# Objects made, less those gone, before Python looks for cycles among the youngest.  A batch of
# records is tens of thousands of them, none in a cycle; Python's own 700 would cost as much time
# as parsing them.
_YOUNG_OBJECTS = 100_000

# What glibc's malloc.h calls its options.
_M_TRIM_THRESHOLD, _M_MMAP_MAX, _M_ARENA_MAX = -1, -4, -8
_NEVER = -1

# Of 19: it gets a tenth of a processor that others want as well, not nothing.
_NICENESS = 10

_SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}  # the number of the system call
_RESET_ON_FORK = 0x01
_SHORTEST_TURN_NS = 100_000


class _SchedAttr(ctypes.Structure):
    """What sched_setattr(2) takes, in its first version."""

    _fields_ = (
        ("size", ctypes.c_uint32),
        ("policy", ctypes.c_uint32),
        ("flags", ctypes.c_uint64),
        ("nice", ctypes.c_int32),
        ("priority", ctypes.c_uint32),
        ("runtime", ctypes.c_uint64),
        ("deadline", ctypes.c_uint64),
        ("period", ctypes.c_uint64),
    )


def tune_for_latency() -> None:
    """To be called once, by the thread that answers, when all is imported and warmed up."""
    gc.set_threshold(_YOUNG_OBJECTS, *gc.get_threshold()[1:])
    gc.collect()
    gc.freeze()  # what is there by now stays; going through it would hold up every frame
    _keep_memory()
    if sys.platform == "linux":
        _take_short_turns()


def _keep_memory() -> None:
    """What an index took that is gone serves the next one.

    It would go back to the system otherwise, in one go that holds everything up, and page by page
    it would be asked for again: by a copy of the index, which changes wait for.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # other systems have none
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, 1)  # memory of a thread's own arena is given back regardless
        mallopt(_M_MMAP_MAX, 0)  # that of large arrays would be, too
        mallopt(_M_TRIM_THRESHOLD, _NEVER)


def _take_short_turns() -> None:
    """The calling thread, but none that it starts, does not wait for the end of others' turns.

    A processor may be busy with a snapshot, or with another process, when a frame comes.  Since
    Linux 6.12 whoever wakes up takes it over only from one that asked for longer turns than itself;
    otherwise the frame waits up to 4 ms.  Earlier versions take no notice of this.
    """
    number = _SCHED_SETATTR.get(platform.machine())
    if number is None or os.sched_getscheduler(0) != os.SCHED_OTHER:
        return
    wanted = _SchedAttr(
        size=ctypes.sizeof(_SchedAttr),
        policy=os.SCHED_OTHER,
        flags=_RESET_ON_FORK,
        nice=os.getpriority(os.PRIO_PROCESS, 0),
        runtime=_SHORTEST_TURN_NS,
    )
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(number, 0, ctypes.byref(wanted), 0) != 0:  # a sandbox may forbid it
        log.info("no short turns of the processor: %s", os.strerror(ctypes.get_errno()))


def lower_priority() -> None:
    """To be called once by a thread whose work may wait, as that for a snapshot may."""
    if sys.platform == "linux":  # elsewhere threads have no priorities of their own
        own = os.getpriority(os.PRIO_PROCESS, 0)
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), min(own + _NICENESS, 19))
