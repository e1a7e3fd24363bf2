"""The invariant of runs: in use or free, they lie side by side, and arrays reach beyond them."""

import numpy as np

from indexes.boolean.masks import CHUNK
from indexes.boolean.tree_layout import (
    C_ARRAYS,
    D_ARRAYS,
    DEPTH,
    DIRECTORY,
    E_ARRAYS,
    E_COUNT,
    E_ROOM,
    E_START,
    ENTRIES,
    ENTRY_RUNS,
    M_ARRAYS,
    MEMBERS,
    P_ARRAYS,
    PARENT,
    PDIR,
    PDIR_COUNT,
    PDIR_ROOM,
    ROOM,
    ROOT,
    ROW,
    SEGMENT,
    START,
    START_ROOM,
    USED_C,
    USED_M,
    USED_P,
    Tree,
)
from indexes.boolean.tree_runs import room_of
from indexes.kernels import NIL

_room_of = getattr(room_of, "py_func", room_of)  # kernels of kernels have no way in from Python


def check_runs(tree: Tree) -> None:
    # Codes are read by chunks, the last of which may reach beyond what is used.
    beyond = ((C_ARRAYS, 0), (P_ARRAYS, 0), (M_ARRAYS, CHUNK), (E_ARRAYS, CHUNK), (D_ARRAYS, 0))
    used = [*tree.state[[USED_C, USED_P]], *tree.state[USED_M:][:3]]
    for (names, more), count in zip(beyond, used, strict=True):
        for name in names:
            assert count + more <= len(getattr(tree, name)), name
    # First words are tested by blocks, whether or not a member has them any more.
    assert (tree.m_first >> 16).max(initial=0) <= len(tree.at_root)
    c, p = tree.c[: used[0]], tree.p[: used[1]]
    c, p = c[c[:, DEPTH] != NIL], p[p[:, ROOT] != NIL]
    at_root = p[p[:, PARENT] == 0]
    assert (c[:, PDIR_COUNT] <= c[:, PDIR_ROOM]).all()
    assert (c[:, E_COUNT] <= c[:, E_ROOM]).all()
    assert (at_root[:, ENTRIES] <= at_root[:, START_ROOM]).all()
    entries = np.concatenate((c[:, [E_START, E_ROOM]], at_root[:, [START, START_ROOM]]))
    _check_kind(tree, MEMBERS, c[:, [SEGMENT, ROOM]], tree.m_record[:, ROW].astype(np.int64) - 1)
    _check_kind(tree, ENTRY_RUNS, entries, tree.e_node)
    _check_kind(tree, DIRECTORY, c[:, [PDIR, PDIR_ROOM]], tree.d_node)


def _check_kind(tree: Tree, kind: int, in_use: np.ndarray, chained: np.ndarray) -> None:
    runs = [(int(start), int(room)) for start, room in in_use if room]
    for size_class, first in enumerate(tree.free[kind].tolist()):
        while first != NIL:
            runs.append((first, int(_room_of(size_class))))
            first = int(chained[first])
    end = 0
    for start, room in sorted(runs):
        assert start == end
        end += room
    assert end == tree.state[USED_M + kind]
