"""Nodes of a BE*-tree come and go: c-nodes with their entries, p-nodes in their directories."""

import numpy as np
from numba import njit

from indexes.boolean.tree_layout import (
    C_FIELDS,
    CARD_LEVELS,
    COLUMN,
    COUNT,
    DEPTH,
    DIRECTORY,
    E_COUNT,
    E_ROOM,
    E_START,
    ENTRIES,
    ENTRY,
    ENTRY_RUNS,
    FREE_C,
    FREE_P,
    GREATEST,
    GROUPS,
    LEAST,
    LEFT,
    LONGEST,
    MEMBERS,
    MOST_DEPTH,
    NOBODY,
    OTHERS,
    OVER,
    P_FIELDS,
    PARENT,
    PDIR,
    PDIR_COUNT,
    PDIR_ROOM,
    PNODE,
    RIGHT,
    ROOM,
    ROOT,
    SEGMENT,
    SPREAD,
    START,
    START_ROOM,
    USED_C,
    USED_P,
    Tree,
    blank_tree,
    copy_entry,
    word_of,
)
from indexes.boolean.tree_runs import class_of, give_run, room_of, take_run
from indexes.kernels import NIL
from indexes.kernels.decorators import bare, fused


def new_tree(c: int, p: int, entries: int, directory: int, members: int) -> Tree:
    """A root with nothing in it, and room for so many of each."""
    tree = blank_tree(c, p, entries, directory, members)
    make_root(tree)
    return tree


@njit(cache=True)
def make_root(t):
    new_c(t, NIL, 0)


@bare
def forget_weights(t, node):
    for level in range(CARD_LEVELS):
        t.cards[node, LEAST + level], t.cards[node, GREATEST + level] = NOBODY, 0
    t.cards[node, OTHERS], t.heaviest[node] = 0, -1.0
    for group in range(GROUPS):
        t.caps[node, group], t.floors[node, group] = 0, NOBODY


@bare
def _set_path(t, node, pnode, depth):
    """Columns on the way from the root: those of the parent, and the p-node's own."""
    for level in range(CARD_LEVELS):
        t.paths[node, level] = 0
        if level + 1 < depth:
            t.paths[node, level] = t.paths[t.p[pnode, PARENT], level]
        elif level + 1 == depth:
            t.paths[node, level] = t.p[pnode, COLUMN] + 1


@bare
def new_c(t, pnode, depth):
    """An empty c-node that belongs to a p-node; its entry is added by `add_entry`."""
    node = t.state[FREE_C]
    if node != NIL:
        t.state[FREE_C] = t.c[node, OVER]
    else:
        node = t.state[USED_C]
        t.state[USED_C] += 1
    for field in range(C_FIELDS):
        t.c[node, field] = 0
    t.c[node, PNODE], t.c[node, DEPTH] = pnode, depth
    t.c[node, LEFT] = t.c[node, RIGHT] = t.c[node, OVER] = NIL
    for level in range(MOST_DEPTH):
        t.own[node, level, 0] = t.total[node, level, 0] = 255
        t.own[node, level, 1] = t.total[node, level, 1] = 0
    t.best[node] = t.top[node] = -1.0
    t.oldest[node], t.lost[node] = np.iinfo(np.int64).max, 0
    t.printed[node] = t.alike[node] = False
    forget_weights(t, node)
    t.cards[node, SPREAD] = 0
    _set_path(t, node, pnode, depth)
    return node


@bare
def free_c(t, node):
    give_run(t, MEMBERS, t.c[node, SEGMENT], t.c[node, ROOM])
    give_run(t, DIRECTORY, t.c[node, PDIR], t.c[node, PDIR_ROOM])
    give_run(t, ENTRY_RUNS, t.c[node, E_START], t.c[node, E_ROOM])
    t.c[node, COUNT] = t.c[node, ROOM] = t.c[node, PDIR_COUNT] = t.c[node, PDIR_ROOM] = 0
    t.c[node, DEPTH] = NIL
    t.c[node, OVER] = t.state[FREE_C]
    t.state[FREE_C] = node


@fused
def entries_of(t, pnode):
    """Start, room and length of the run that has the entries of a p-node."""
    parent = t.p[pnode, PARENT]
    if parent == 0:
        return t.p[pnode, START], t.p[pnode, START_ROOM], t.p[pnode, ENTRIES]
    return t.c[parent, E_START], t.c[parent, E_ROOM], t.c[parent, E_COUNT]


@fused
def _set_entries(t, pnode, start, room, count):
    parent = t.p[pnode, PARENT]
    if parent == 0:
        t.p[pnode, START], t.p[pnode, START_ROOM], t.p[pnode, ENTRIES] = start, room, count
    else:
        t.c[parent, E_START], t.c[parent, E_ROOM], t.c[parent, E_COUNT] = start, room, count


@bare
def _longer(t, start, room, count, more):
    """A run of entries with room for so many more: the same one, or its copy."""
    if count + more <= room:
        return start, room
    longer = room_of(class_of(count + more))
    to = take_run(t, ENTRY_RUNS, longer)
    for i in range(count):
        copy_entry(t, start + i, to + i)
    give_run(t, ENTRY_RUNS, start, room)
    return to, longer


@bare
def add_entry(t, node):
    """Give a c-node its place among the buckets of its p-node; it admits nothing as yet."""
    p = t.c[node, PNODE]
    start, room, count = entries_of(t, p)
    start, room = _longer(t, start, room, count, 1)
    _set_entries(t, p, start, room, count + 1)
    t.state[LONGEST] = max(t.state[LONGEST], count + 1)
    t.c[node, ENTRY] = count
    t.e_node[start + count] = node
    show_bounds(t, node)


@bare
def drop_entry(t, node):
    """The last bucket takes the place of the one that goes."""
    p, at = t.c[node, PNODE], t.c[node, ENTRY]
    start, room, count = entries_of(t, p)
    hole, last = start + at, start + count - 1
    copy_entry(t, last, hole)
    t.c[t.e_node[hole], ENTRY] = at
    _set_entries(t, p, start, room, count - 1)


@bare
def show_bounds(t, node):
    """Copy the bounds of a c-node's own members to its entry."""
    p = t.c[node, PNODE]
    if p != NIL:
        at, level = entries_of(t, p)[0] + t.c[node, ENTRY], t.c[node, DEPTH] - 1
        low, high = np.int64(t.own[node, level, 0]), np.int64(t.own[node, level, 1])
        t.e_word[at] = word_of(np.int64(t.p[p, COLUMN]), low, high)
        t.e_low[at], t.e_high[at], t.alike[node] = low, high, low == high
        t.e_top[at] = t.top[node]


@bare
def make_room_for_p(t, parent, more):
    """Room for so many more p-nodes of a c-node by one run, not by one longer than another."""
    count = t.c[parent, PDIR_COUNT]
    if count + more > t.c[parent, PDIR_ROOM]:
        room = room_of(class_of(count + more))
        old, start = t.c[parent, PDIR], take_run(t, DIRECTORY, room)
        for i in range(count):
            t.d_column[start + i], t.d_node[start + i] = t.d_column[old + i], t.d_node[old + i]
        give_run(t, DIRECTORY, old, t.c[parent, PDIR_ROOM])
        t.c[parent, PDIR], t.c[parent, PDIR_ROOM] = start, room
    if parent != 0:
        start, room = t.c[parent, E_START], t.c[parent, E_ROOM]
        start, room = _longer(t, start, room, t.c[parent, E_COUNT], more)
        t.c[parent, E_START], t.c[parent, E_ROOM] = start, room


@bare
def new_p(t, parent, column):
    """A p-node in the p-directory of a c-node, with one empty bucket."""
    pnode = t.state[FREE_P]
    if pnode != NIL:
        t.state[FREE_P] = t.p[pnode, PARENT]
    else:
        pnode = t.state[USED_P]
        t.state[USED_P] += 1
    for field in range(P_FIELDS):
        t.p[pnode, field] = 0
    t.p[pnode, COLUMN], t.p[pnode, PARENT] = column, parent
    t.p_top[pnode] = -1.0
    make_room_for_p(t, parent, 1)
    at = t.c[parent, PDIR] + t.c[parent, PDIR_COUNT]
    t.d_column[at], t.d_node[at] = column, pnode
    t.c[parent, PDIR_COUNT] += 1
    if parent == 0:
        t.at_root[column] = pnode
    root = new_c(t, pnode, t.c[parent, DEPTH] + 1)
    t.p[pnode, ROOT] = root
    add_entry(t, root)
    return pnode


@bare
def drop_p(t, pnode):
    """Take a p-node, whose last bucket is gone, out of its p-directory."""
    parent = t.p[pnode, PARENT]
    start, count = t.c[parent, PDIR], t.c[parent, PDIR_COUNT]
    for at in range(start, start + count):
        if t.d_node[at] == pnode:
            last = start + count - 1
            t.d_column[at], t.d_node[at] = t.d_column[last], t.d_node[last]
            break
    t.c[parent, PDIR_COUNT] -= 1
    if parent == 0:
        t.at_root[t.p[pnode, COLUMN]] = NIL
    if parent == 0:
        give_run(t, ENTRY_RUNS, t.p[pnode, START], t.p[pnode, START_ROOM])
    t.p[pnode, ROOT], t.p[pnode, ENTRIES], t.p[pnode, START_ROOM] = NIL, 0, 0
    t.p[pnode, PARENT] = t.state[FREE_P]
    t.state[FREE_P] = pnode
