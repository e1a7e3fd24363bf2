"""The invariants of a BE*-tree, in plain Python: the definition of the structure."""

import numpy as np

from indexes.boolean.codes import Codes
from indexes.boolean.row_words import Rows
from indexes.boolean.tree_layout import (
    CARD_LEVELS,
    COLUMN,
    COUNT,
    DEPTH,
    E_COUNT,
    E_START,
    ENTRIES,
    ENTRY,
    GROUPS,
    LEFT,
    MOST_DEPTH,
    OTHERS,
    OVER,
    PARENT,
    PDIR,
    PDIR_COUNT,
    PNODE,
    RIGHT,
    ROOM,
    ROOT,
    ROW,
    SEGMENT,
    SIZE,
    START,
    Tree,
    word_of,
)
from indexes.boolean.tree_local import Options
from indexes.boolean.tree_member_check import MemberChecker
from indexes.boolean.tree_run_check import check_runs
from indexes.kernels import NIL

_word_of = getattr(word_of, "py_func", word_of)  # kernels of kernels have no way in from Python


class TreeChecker(MemberChecker):
    def __init__(self, tree: Tree, rows: Rows, codes: Codes, options: Options) -> None:
        super().__init__(tree, rows, codes)
        self.options = options
        self.seen: list[int] = []  # rows
        self.buckets: set[int] = set()

    def c_node(self, node: int, path: list[int]) -> tuple[np.ndarray, float, int]:
        """Check a c-node and all below it; return its own box, greatest weight and members."""
        t, c = self.t, self.t.c[node]
        assert node not in self.buckets
        self.buckets.add(node)
        assert c[DEPTH] == len(path) <= MOST_DEPTH
        assert 0 <= c[COUNT] <= c[ROOM]
        box = self.l_node(node, path)
        best, size = float(t.best[node]), int(c[COUNT])
        directory = range(c[PDIR], c[PDIR] + c[PDIR_COUNT])
        columns = [int(t.d_column[at]) for at in directory]
        assert len(set(columns)) == len(columns)
        assert not set(columns) & set(path)
        for at, column in zip(directory, columns, strict=True):
            pnode = int(t.d_node[at])
            assert t.p[pnode, COLUMN] == column
            assert t.p[pnode, PARENT] == node
            below, top, members = self.p_node(pnode, [*path, column])
            box, best, size = _union(box, below[: len(path)]), max(best, top), size + members
        assert (t.own[node, : len(path)] == box).all()
        assert t.alike[node] == (bool(path) and box[-1, 0] == box[-1, 1])
        assert t.top[node] == best
        return box, best, size

    def l_node(self, node: int, path: list[int]) -> np.ndarray:
        t, c, r = self.t, self.t.c[node], self.r
        box = _nothing(len(path))
        levels = path[:CARD_LEVELS]
        assert (t.paths[node] == np.pad(np.array(levels) + 1, (0, CARD_LEVELS - len(levels)))).all()
        on_levels, of_groups, others = [], [], []
        best, oldest = -1.0, np.iinfo(np.int64).max
        for at in range(c[SEGMENT], c[SEGMENT] + c[COUNT]):
            row = int(t.m_record[at, ROW])
            self.seen.append(row)
            assert t.where[row] == node
            own = np.array([self.interval(row, column) for column in path]).reshape(-1, 2)
            box = _union(box, own)
            if path:
                assert (t.m_low[at], t.m_high[at]) == tuple(own[-1])
            self.prints(node, at, row, path)
            columns, weights = self.weights(row)
            assert t.m_sum[at] >= weights.sum() * (1 - 1e-12)
            best, oldest = max(best, float(t.m_sum[at])), min(oldest, int(r.ids[row]))
            on_levels.append([weights[columns == column].sum() for column in levels])
            beside = ~np.isin(columns, levels)
            groups = self.groups(node, columns[beside])
            of_groups.append(np.full(GROUPS, np.nan))
            of_groups[-1][groups] = np.bincount(groups, weights[beside], GROUPS)[groups]
            others.append(len(groups))
            self.shares(at, row, path)
            self.tests(at, row)
            self.hints(at, row)
            self.marks(at, groups)
        assert t.best[node] == best
        assert t.oldest[node] <= oldest
        if on_levels and best < np.inf:  # where it is infinite, weights are not asked for
            self.bounds(node, np.array(on_levels), np.array(of_groups))
            assert t.cards[node, OTHERS] >= min(255, max(others))
        return box

    def p_node(self, pnode: int, path: list[int]) -> tuple[np.ndarray, float, int]:
        """Check a p-node and its buckets; return their total box, greatest weight and members."""
        t, p = self.t, self.t.p[pnode]
        fields = (p[START], p[ENTRIES]) if p[PARENT] == 0 else t.c[p[PARENT], [E_START, E_COUNT]]
        start, count = int(fields[0]), int(fields[1])
        run = t.e_node[start : start + count].tolist()
        entries = [node for node in run if t.c[node, PNODE] == pnode]
        buckets: list[int] = []
        total, best, size = self.bucket(int(p[ROOT]), NIL, pnode, path, buckets)
        assert sorted(buckets) == sorted(entries)
        for node in entries:
            place = int(t.c[node, ENTRY])
            assert run[place] == node
            word, (low, high) = int(t.e_word[start + place]), t.own[node, len(path) - 1].tolist()
            assert word == _word_of(path[-1], low, high)
            assert (t.e_low[start + place], t.e_high[start + place]) == (low, high)
            assert t.e_top[start + place] == t.top[node]
        assert p[SIZE] == size > 0
        assert t.p_top[pnode] == best
        return total, best, size

    def bucket(
        self, node: int, over: int, pnode: int, path: list[int], buckets: list[int]
    ) -> tuple[np.ndarray, float, int]:
        t, c = self.t, self.t.c[node]
        buckets.append(node)
        assert c[PNODE] == pnode
        assert c[OVER] == over
        total, best, size = self.c_node(node, path)
        sides = []
        for side in (LEFT, RIGHT):
            if c[side] != NIL:
                box, top, members = self.bucket(int(c[side]), node, pnode, path, buckets)
                total, best, size = _union(total, box), max(best, top), size + members
                sides.append(box[-1])
        if len(sides) == 2:  # descendants repel each other
            assert sides[0][1] < sides[1][0] or sides[1][1] < sides[0][0]
        assert size > 0
        assert (t.total[node, : len(path)] == total).all()
        return total, best, size


def check_tree(tree: Tree, rows: Rows, codes: Codes, live: np.ndarray, options: Options) -> None:
    checker = TreeChecker(tree, rows, codes, options)
    checker.c_node(0, [])
    check_runs(tree)
    assert sorted(checker.seen) == live.tolist()
    columns = {int(c): int(p) for c, p in enumerate(tree.at_root) if p != NIL}
    directory = slice(tree.c[0, PDIR], tree.c[0, PDIR] + tree.c[0, PDIR_COUNT])
    at_root = zip(tree.d_column[directory].tolist(), tree.d_node[directory].tolist(), strict=True)
    assert columns == dict(at_root)


def _nothing(levels: int) -> np.ndarray:
    return np.tile(np.array([255, 0]), (levels, 1))


def _union(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.stack((np.minimum(a[:, 0], b[:, 0]), np.maximum(a[:, 1], b[:, 1])), axis=1)
