"""Runs of members, entries and directories: taken in a few sizes, given back, taken again.

Sizes are the multiples of 8 to 64; from there each doubling is parted by eight.  Free runs of one
size are chained through their first place.
"""

import numpy as np

from indexes.boolean.tree_layout import ENTRY_RUNS, MEMBERS, ROW, USED_M
from indexes.kernels import NIL
from indexes.kernels.decorators import bare


@bare
def class_of(room):
    if room <= 64:
        return (room + 7) // 8 - 1
    step, at = 8, 7
    while 16 * step < room:
        step *= 2
        at += 8
    return at + (room - 8 * step + step - 1) // step


@bare
def room_of(size_class):
    if size_class < 8:
        return 8 * (size_class + 1)
    doublings, eighths = (size_class - 8) // 8, (size_class - 8) % 8
    return (8 << doublings) * (9 + eighths)


@bare
def take_run(t, kind, room):
    """A run for at least so many; its first place."""
    at = class_of(room)
    start = t.free[kind, at]
    if start != NIL:
        if kind == MEMBERS:
            t.free[kind, at] = np.int64(t.m_record[start, ROW]) - 1
        elif kind == ENTRY_RUNS:
            t.free[kind, at] = t.e_node[start]
        else:
            t.free[kind, at] = t.d_node[start]
        return start
    start = t.state[USED_M + kind]
    t.state[USED_M + kind] += room_of(at)
    return start


@bare
def give_run(t, kind, start, room):
    if room == 0:
        return
    at = class_of(room)
    if kind == MEMBERS:
        t.m_record[start, ROW] = np.uint32(t.free[kind, at] + 1)
    elif kind == ENTRY_RUNS:
        t.e_node[start] = t.free[kind, at]
    else:
        t.d_node[start] = t.free[kind, at]
    t.free[kind, at] = start
