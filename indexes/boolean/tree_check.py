"""The invariants of a BE*-tree, in plain Python: the definition of the structure."""

import numpy as np

from indexes.boolean.batches import EQ
from indexes.boolean.codes import Codes
from indexes.boolean.fingerprints import ANY, fingerprint_of
from indexes.boolean.kernels import NIL
from indexes.boolean.row_words import COLUMN_MASK, KIND_SHIFT, SIZE_MASK, Rows
from indexes.boolean.tree_groups import factor_of, group_of, mark_of
from indexes.boolean.tree_layout import (
    CARD_LEVELS,
    COLUMN,
    COUNT,
    DEPTH,
    E_COUNT,
    E_START,
    ENTRIES,
    ENTRY,
    FOLDS,
    GREATEST,
    GROUPS,
    LEAST,
    LEFT,
    MORE_COLUMNS,
    MOST_DEPTH,
    NOBODY,
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
    SECOND,
    SEGMENT,
    SHARES,
    SIZE,
    SPREAD,
    START,
    THIRD,
    Tree,
    word_of,
)
from indexes.boolean.tree_local import Options, localise
from indexes.boolean.tree_run_check import check_runs

# Kernels of kernels have no way in from Python.
_word_of, _factor_of, _group_of, _mark_of = (
    getattr(kernel, "py_func", kernel) for kernel in (word_of, factor_of, group_of, mark_of)
)


class TreeChecker:
    def __init__(self, tree: Tree, rows: Rows, codes: Codes, options: Options) -> None:
        self.t, self.r, self.codes, self.options = tree, rows, codes, options
        self.seen: list[int] = []  # rows
        self.buckets: set[int] = set()
        self.demand = np.ones(len(codes.starts))

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
            self.marks(at, groups)
        assert t.best[node] == best
        assert t.oldest[node] <= oldest
        if on_levels and best < np.inf:  # where it is infinite, weights are not asked for
            self.bounds(node, np.array(on_levels), np.array(of_groups))
            assert t.cards[node, OTHERS] >= min(255, max(others))
        return box

    def bounds(self, node: int, on_levels: np.ndarray, of_groups: np.ndarray) -> None:
        """Of members' weights, rows of which are given, on the path and in groups (NaN: none)."""
        t, unit = self.t, float(self.t.heaviest[node]) / 255
        least, greatest = t.cards[node, LEAST:GREATEST], t.cards[node, GREATEST:OTHERS]
        levels = slice(on_levels.shape[1])
        assert (least[levels] * unit <= on_levels.min(axis=0)).all()
        assert (greatest[levels] * unit * (1 + 1e-9) >= on_levels.max(axis=0)).all()
        assert (least[levels] < NOBODY).all()  # or rounding leaves nothing of a sum for others
        had = ~np.isnan(of_groups).all(axis=0)
        assert (t.floors[node, had] * unit <= np.nanmin(of_groups[:, had], axis=0)).all()
        assert (t.caps[node, had] * unit * (1 + 1e-9) >= np.nanmax(of_groups[:, had], axis=0)).all()

    def shares(self, at: int, row: int, path: list[int]) -> None:
        """A member's bound never falls short, whatever the event's weights are."""
        if self.t.m_sum[at] == np.inf:
            return
        t, unit = self.t, float(self.t.m_sum[at]) / 255 * (1 + 1e-9)
        columns, weights = self.weights(row)
        packed = int(t.m_record[at, SHARES])
        own, *tested = ((packed >> shift & 255) * unit for shift in (0, 8, 16, 24))
        assert not path or own >= weights[columns == path[-1]].sum()
        words = self.words(at)
        shares = sorted(zip((word >> 16 for word in words), tested, strict=True))
        left = {column: sorted(weights[columns + 1 == column]) for column, _ in shares}
        for column, share in shares:
            assert share >= (left[column].pop(0) if column else 0.0)
        parts = np.zeros(MORE_COLUMNS + 1)  # by folded column
        for column, share in shares:
            parts[(column - 1) % FOLDS] += share if column else 0.0
        for told in t.m_told[at].tolist():
            parts[told >> 8] += (told & 255) * unit
        beside = ~np.isin(columns, path[-1:])
        missing = np.bincount(columns[beside] % FOLDS, weights[beside], MORE_COLUMNS + 1) - parts
        assert missing[:FOLDS].clip(min=0).sum() <= parts[MORE_COLUMNS] * (1 + 1e-9)

    def prints(self, node: int, at: int, row: int, path: list[int]) -> None:
        """A member's fingerprint is that of an equality on the c-node's own column, if any."""
        wanted, columns = [], self.weights(row)[0].tolist()
        start, size = int(self.r.start[row]), len(columns)
        metas, first = self.r.meta[2 * start + 1 :], start + size // 2 + 1 + size
        for i, column in enumerate(columns):  # equalities come first, and have one operand each
            if path and column == path[-1] and metas[i] >> KIND_SHIFT == EQ:
                wanted.append(fingerprint_of(float(self.r.reals[first + i])))
        assert int(self.t.m_print[at]) in (wanted or [ANY])
        assert self.t.printed[node] or not wanted

    def weights(self, row: int) -> tuple[np.ndarray, np.ndarray]:
        """Columns and weights of a row's predicates."""
        start = int(self.r.start[row])
        size = int(self.r.meta[2 * start]) & SIZE_MASK
        metas, first = self.r.meta[2 * start + 1 : 2 * start + 1 + size], start + size // 2 + 1
        return metas.astype(np.int64) & COLUMN_MASK, self.r.reals[first : first + size]

    def words(self, at: int) -> list[int]:
        second, third = self.t.m_record[at, [SECOND, THIRD]].tolist()
        return [int(self.t.m_first[at]), second, third]

    def tests(self, at: int, row: int) -> None:
        """Every word of a member is the test of a predicate of its row."""
        own = {(column + 1, low, high) for column, low, high in self.predicates(row)}
        for word in self.words(at):
            test = word >> 16, (word >> 8) & 255, word & 255
            assert test in own or test == (0, 1, 255)

    def groups(self, node: int, columns: np.ndarray) -> np.ndarray:
        factor = _factor_of(self.t.cards[node, SPREAD])
        return np.array([_group_of(factor, column) for column in columns], np.int64)

    def marks(self, at: int, groups: np.ndarray) -> None:
        """A member bears the marks of all columns beside those on the card, and no others."""
        marks = {_mark_of(group) for group in groups.tolist()}
        assert self.t.m_beside[at] == sum(marks)

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

    def predicates(self, row: int) -> list[tuple[int, int, int]]:
        """Column and codes of each predicate of a row, from its operands."""
        rows = np.array([row], np.int32)
        local = localise(self.r, self.codes, self.demand, 1, rows, True)
        columns, lows, highs = local.columns.tolist(), local.lows.tolist(), local.highs.tolist()
        return list(zip(columns, lows, highs, strict=True))

    def interval(self, row: int, column: int) -> tuple[int, int]:
        own = [(high - low, low, high) for c, low, high in self.predicates(row) if c == column]
        narrowest = min(own, key=lambda interval: interval[0])
        return narrowest[1], narrowest[2]


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
