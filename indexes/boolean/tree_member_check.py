"""The invariants of members of a BE*-tree's l-nodes: their tests, and the bounds of weights."""

import numpy as np

from indexes.boolean.batches import EQ
from indexes.boolean.codes import Codes
from indexes.boolean.fingerprints import ANY, fingerprint_of
from indexes.boolean.hints import ANYTHING, hint_of
from indexes.boolean.row_words import COLUMN_MASK, KIND_SHIFT, SIZE_MASK, Rows
from indexes.boolean.tree_groups import factor_of, group_of, mark_of
from indexes.boolean.tree_layout import (
    FOLDS,
    GREATEST,
    LEAST,
    MORE_COLUMNS,
    NOBODY,
    OTHERS,
    SECOND,
    SHARES,
    SPREAD,
    THIRD,
    Tree,
)
from indexes.boolean.tree_local import Local, localise

# Kernels of kernels have no way in from Python.
_factor_of, _group_of, _mark_of, _hint_of = (
    getattr(kernel, "py_func", kernel) for kernel in (factor_of, group_of, mark_of, hint_of)
)


class MemberChecker:
    def __init__(self, tree: Tree, rows: Rows, codes: Codes) -> None:
        self.t, self.r, self.codes = tree, rows, codes
        self.demand = np.ones(len(codes.starts))

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

    def hints(self, at: int, row: int) -> None:
        """A member's hints are of different predicates of its row, or of none."""
        local = self.local(row)
        asked = zip(local.columns.tolist(), local.prints.tolist(), strict=True)
        own = [_hint_of(column, print) for column, print in asked]
        for hint in (self.t.m_hint[at], self.t.m_other[at]):
            if hint != ANYTHING:
                assert hint in own
                own.remove(hint)

    def groups(self, node: int, columns: np.ndarray) -> np.ndarray:
        factor = _factor_of(self.t.cards[node, SPREAD])
        return np.array([_group_of(factor, column) for column in columns], np.int64)

    def marks(self, at: int, groups: np.ndarray) -> None:
        """A member bears the marks of all columns beside those on the card, and no others."""
        marks = {_mark_of(group) for group in groups.tolist()}
        assert self.t.m_beside[at] == sum(marks)

    def local(self, row: int) -> Local:
        rows = np.array([row], np.int32)
        return localise(self.r, self.codes, self.demand, 1, rows, True)

    def predicates(self, row: int) -> list[tuple[int, int, int]]:
        """Column and codes of each predicate of a row, from its operands."""
        local = self.local(row)
        columns, lows, highs = local.columns.tolist(), local.lows.tolist(), local.highs.tolist()
        return list(zip(columns, lows, highs, strict=True))

    def interval(self, row: int, column: int) -> tuple[int, int]:
        own = [(high - low, low, high) for c, low, high in self.predicates(row) if c == column]
        narrowest = min(own, key=lambda interval: interval[0])
        return narrowest[1], narrowest[2]
