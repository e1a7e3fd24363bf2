"""How long a thread's turns on a processor are, as the kernel tells."""

import ctypes
import os
import platform
import re

_SCHED_GETATTR = {"x86_64": 315, "aarch64": 275}
_RUNTIME = 3  # of the struct's 8-byte words
SHORT_NS = 100_000


def turn_ns(thread: int = 0) -> int:
    """0 is the calling thread; the answer is 0 before Linux 6.12, which does not know of turns."""
    attributes = (ctypes.c_uint64 * 7)()
    libc = ctypes.CDLL(None, use_errno=True)
    number = _SCHED_GETATTR[platform.machine()]
    if libc.syscall(number, thread, attributes, ctypes.sizeof(attributes), 0) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return attributes[_RUNTIME]


def expected_short_ns() -> int:
    found = re.match(r"(\d+)\.(\d+)", platform.release())
    assert found, platform.release()
    return SHORT_NS if (int(found[1]), int(found[2])) >= (6, 12) else 0
