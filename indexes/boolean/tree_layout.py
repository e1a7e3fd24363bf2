"""The arrays of a BE*-tree: c-nodes, p-nodes, directories and the members of l-nodes.

A c-node (cluster) holds an l-node, a p-directory and the place of its bucket among the buckets of
its p-node (partition): `left` and `right` never overlap, the c-node's own members lie across
them.  Where the paper keeps bounds as values, they are codes here (see `codes`).

All buckets of a p-node stand one after another in `entries`, so that stabbing them is one pass
over words and not a descent; below the root the buckets of all p-nodes of a c-node share one run.
In the same way the p-nodes of a c-node are a run of `directory`, and the members of an l-node are
runs of bytes (the codes on the c-node's own column, tested many at a time) and of records: three
words for further predicates, and the row.  A word packs column + 1, low and high; column + 1 is 0
where there is nothing to test.

Runs come in sizes of 8 to 64 by 8, then powers of two; freed runs, c-nodes and p-nodes are
chained and used again.  Row 0 of `c` is the root.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from indexes.boolean.rows import NIL, bare, hot

MOST_DEPTH = 8  # levels of partitioning
GROUPS = 64  # of columns, for which an l-node knows least and greatest weights

# Fields of a c-node.
SEGMENT, ROOM, COUNT, LIMIT = 0, 1, 2, 3  # the l-node's run, and the capacity before it is split
PDIR, PDIR_ROOM, PDIR_COUNT = 4, 5, 6
PNODE, LEFT, RIGHT, OVER, ENTRY, DEPTH = 7, 8, 9, 10, 11, 12
E_START, E_ROOM, E_COUNT = 13, 14, 15  # the entries of all its p-nodes, but for the root
C_FIELDS = 16
# Fields of a p-node.
COLUMN, PARENT, START, START_ROOM, ENTRIES, ROOT, SIZE = 0, 1, 2, 3, 4, 5, 6
P_FIELDS = 8
# Fields of `state`.
USED_C, FREE_C, USED_P, FREE_P, USED_M, USED_E, USED_D = 0, 1, 2, 3, 4, 5, 6
LONGEST = 7  # run of entries there has been
MEMBERS, ENTRY_RUNS, DIRECTORY = 0, 1, 2  # kinds of runs
CLASSES = 40
_MOST_CODED = (1 << 16) - 2  # columns that fit a word
NOTHING = (1 << 8) | 255  # a word that every event passes
ROW_BITS = 28  # of a record's last word; above is the number of predicates that neither words nor
ROW_MASK = (1 << ROW_BITS) - 1  # path test, up to MANY
MANY = 15


class Tree(NamedTuple):
    c: np.ndarray  # i4[c-nodes, C_FIELDS]
    own: np.ndarray  # u1[c-nodes, MOST_DEPTH, 2]  box of l-node and p-directory; low > high: none
    total: np.ndarray  # u1[c-nodes, MOST_DEPTH, 2]  with left and right
    best: np.ndarray  # f4[c-nodes]  greatest sum of weights in the l-node
    top: np.ndarray  # f4[c-nodes]  ... and in the p-directory
    oldest: np.ndarray  # i8[c-nodes]  least id in the l-node
    sums: np.ndarray  # u1[c-nodes, GROUPS]  greatest sum of a member's weights in each group, ...
    floors: np.ndarray  # u1[c-nodes, GROUPS]  ... and the least, in parts (1/255) of `best`
    p: np.ndarray  # i4[p-nodes, P_FIELDS]
    p_top: np.ndarray  # f4[p-nodes]
    e_word: np.ndarray  # u4[entries]  column + 1, low and high of a c-node's own members
    e_node: np.ndarray  # i4[entries]
    e_top: np.ndarray  # f4[entries]
    d_column: np.ndarray  # i4[directory]
    d_node: np.ndarray  # i4[directory]
    m_low: np.ndarray  # u1[members]
    m_high: np.ndarray  # u1[members]
    m_sum: np.ndarray  # f4[members]  sum of weights, never too small
    m_record: np.ndarray  # u4[members, 4]
    where: np.ndarray  # i4[rows]  the c-node of each row
    at_root: np.ndarray  # i4[columns]  the root's p-node of each column
    free: np.ndarray  # i4[3, CLASSES]  first free run of each kind and size
    state: np.ndarray  # i8[8]


def new_tree(c: int, p: int, entries: int, directory: int, members: int) -> Tree:
    tree = Tree(
        c=np.zeros((c, C_FIELDS), np.int32),
        own=np.zeros((c, MOST_DEPTH, 2), np.uint8),
        total=np.zeros((c, MOST_DEPTH, 2), np.uint8),
        best=np.zeros(c, np.float32),
        top=np.zeros(c, np.float32),
        oldest=np.zeros(c, np.int64),
        sums=np.zeros((c, GROUPS), np.uint8),
        floors=np.zeros((c, GROUPS), np.uint8),
        p=np.zeros((p, P_FIELDS), np.int32),
        p_top=np.zeros(p, np.float32),
        e_word=np.zeros(entries, np.uint32),
        e_node=np.zeros(entries, np.int32),
        e_top=np.zeros(entries, np.float32),
        d_column=np.zeros(directory, np.int32),
        d_node=np.zeros(directory, np.int32),
        m_low=np.zeros(members, np.uint8),
        m_high=np.zeros(members, np.uint8),
        m_sum=np.zeros(members, np.float32),
        m_record=np.zeros((members, 4), np.uint32),
        where=np.zeros(0, np.int32),
        at_root=np.zeros(0, np.int32),
        free=np.full((3, CLASSES), NIL, np.int32),
        state=np.array([0, NIL, 0, NIL, 0, 0, 0, 0]),
    )
    make_root(tree)
    return tree


@njit(cache=True)
def make_root(t):
    new_c(t, NIL, 0)


@hot
def word_of(column, low, high):
    """A test of a code; a column that does not fit is left to exact evaluation."""
    if column > _MOST_CODED:
        return NOTHING if low <= high else 255 << 8
    return ((column + 1) << 16) | (low << 8) | high


@bare
def class_of(room):
    if room <= 64:
        return (room + 7) // 8 - 1
    size, at = 64, 7
    while size < room:
        size *= 2
        at += 1
    return at


@bare
def room_of(size_class):
    return 8 * (size_class + 1) if size_class < 8 else 64 << (size_class - 7)


@bare
def take_run(t, kind, room):
    """A run for at least so many; its first place."""
    at = class_of(room)
    start = t.free[kind, at]
    if start != NIL:
        if kind == MEMBERS:
            t.free[kind, at] = np.int64(t.m_record[start, 3]) - 1
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
        t.m_record[start, 3] = np.uint32(t.free[kind, at] + 1)
    elif kind == ENTRY_RUNS:
        t.e_node[start] = t.free[kind, at]
    else:
        t.d_node[start] = t.free[kind, at]
    t.free[kind, at] = start


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
    t.oldest[node] = np.iinfo(np.int64).max
    t.sums[node, :] = 0
    t.floors[node, :] = 255
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


@hot
def entries_of(t, pnode):
    """Start, room and length of the run that has the entries of a p-node."""
    parent = t.p[pnode, PARENT]
    if parent == 0:
        return t.p[pnode, START], t.p[pnode, START_ROOM], t.p[pnode, ENTRIES]
    return t.c[parent, E_START], t.c[parent, E_ROOM], t.c[parent, E_COUNT]


@hot
def _set_entries(t, pnode, start, room, count):
    parent = t.p[pnode, PARENT]
    if parent == 0:
        t.p[pnode, START], t.p[pnode, START_ROOM], t.p[pnode, ENTRIES] = start, room, count
    else:
        t.c[parent, E_START], t.c[parent, E_ROOM], t.c[parent, E_COUNT] = start, room, count


@bare
def add_entry(t, node):
    """Give a c-node its place among the buckets of its p-node; it admits nothing as yet."""
    p = t.c[node, PNODE]
    start, room, count = entries_of(t, p)
    if count == room:
        old, old_room = start, room
        room = room_of(class_of(count + 1))
        start = take_run(t, ENTRY_RUNS, room)
        for i in range(count):
            t.e_word[start + i], t.e_node[start + i] = t.e_word[old + i], t.e_node[old + i]
            t.e_top[start + i] = t.e_top[old + i]
        give_run(t, ENTRY_RUNS, old, old_room)
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
    t.e_word[hole], t.e_node[hole], t.e_top[hole] = t.e_word[last], t.e_node[last], t.e_top[last]
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
        t.e_top[at] = t.top[node]


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
    count = t.c[parent, PDIR_COUNT]
    if count == t.c[parent, PDIR_ROOM]:
        room = room_of(class_of(count + 1))
        old, start = t.c[parent, PDIR], take_run(t, DIRECTORY, room)
        for i in range(count):
            t.d_column[start + i], t.d_node[start + i] = t.d_column[old + i], t.d_node[old + i]
        give_run(t, DIRECTORY, old, t.c[parent, PDIR_ROOM])
        t.c[parent, PDIR], t.c[parent, PDIR_ROOM] = start, room
    at = t.c[parent, PDIR] + count
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
