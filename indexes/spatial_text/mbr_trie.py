"""`MBRTrie`: a trie of token sets that knows where its subscriptions are (the seed, §3).

To be dynamic it is several tries, the runs, as a log-structured merge tree is several sorted files.
The largest, the base, has the subscriptions in the order of the records, so that those of a node
lie together there; the others have what came since, each at least `_RATIO` times the next;
and the few newest subscriptions are in no trie.  When these are enough, they become a run, together
with the last runs that would be too small; when all but the base is half as much as the base, the
tokens get new keys and everything becomes the base.  A subscription is merged a few times in its
life, so an insertion takes the time of a few insertions into a sorted file.  A deletion leaves a
hole in the places of its run.

The global order has the rarest token first, unless the seed's alphabetical one is asked for.  Then
the children of a frequent token, which most messages have, are only those more frequent still.
"""

import bisect
import itertools
from typing import Any, NamedTuple

import numpy as np

from indexes.hits import HitTable
from indexes.kernels import NIL
from indexes.spatial_text.index import Messages, SpatialTextIndex
from indexes.spatial_text.token_order import (
    BASE_KEY,
    TokenKeys,
    by_first_token,
    curve_grid,
    sort_tokens,
)
from indexes.spatial_text.trie_check import check_run
from indexes.spatial_text.trie_nodes import (
    FIRST_CHILD,
    START,
    STOP,
    Nodes,
    allocate_nodes,
    make_nodes,
)
from indexes.spatial_text.trie_search import (
    COST_BASED,
    PROBE_TOKEN_SET,
    PROBE_TRIE,
    PROBED,
    VERIFIED,
    VISITED,
    Trie,
    match_trie,
    rank_trie,
)

__all__ = ["MBRTrie"]

ALGORITHMS = {
    "probe_token_set": PROBE_TOKEN_SET,
    "probe_trie": PROBE_TRIE,
    "cost_based": COST_BASED,
}
ORDERS = ("rarest_first", "alphabetical")
_RATIO = 4


class _Run(NamedTuple):
    start: int  # its first place
    stop: int
    first_node: int  # its root
    end_node: int


class MBRTrie(SpatialTextIndex):
    """
    >>> trie = MBRTrie()
    >>> trie.insert(1, (25, 0, 30, 20), ["a", "b", "c"])
    >>> trie.insert(4, (20, 10, 28, 18), ["b", "c", "d"])
    >>> trie.match((26, 14, 26, 14), ["b", "c", "d", "e", "f"])
    [4]
    """

    def __init__(
        self,
        algorithm: str = "cost_based",
        order: str = "rarest_first",
        bucket: int = 16,
        loose: int = 512,
        by_place: bool = True,
        within: SpatialTextIndex | None = None,
    ) -> None:
        """At most `bucket` subscriptions need no node each, at most `loose` are in no trie.

        With `by_place` a node's subscriptions are parted by place where that tells more than their
        tokens do; without, by tokens alone as in the seed.
        """
        super().__init__(within)
        self._algorithm = ALGORITHMS[_one_of("algorithm", algorithm, tuple(ALGORITHMS))]
        self._keys = TokenKeys(_one_of("order", order, ORDERS))
        self._bucket = bucket
        self._most_loose = loose
        self._by_place = by_place
        self._counted = np.zeros(3, np.int64)
        self._clear()

    def _clear(self) -> None:
        self._runs: list[_Run] = []
        self._nodes = allocate_nodes(0)
        self._rows = np.empty(0, np.int32)
        self._used = 0  # places; those behind are room
        self._holes = 0
        self._homes = np.empty(0, np.int32)  # by row: its place
        self._root_table = np.empty(0, np.int32)

    @property
    def visited(self) -> int:
        """How many nodes all messages so far have visited."""
        return int(self._counted[VISITED])

    @property
    def probed(self) -> int:
        """How many children, or tokens of messages, were asked for in all."""
        return int(self._counted[PROBED])

    @property
    def verified(self) -> int:
        """How many subscriptions all messages so far have looked at."""
        return int(self._counted[VERIFIED])

    @property
    def run_count(self) -> int:
        return len(self._runs)

    @property
    def structure_nbytes(self) -> int:
        arrays = (*self._nodes, self._rows, self._homes, self._root_table, self._counted)
        return sum(array.nbytes for array in arrays) + self._keys.nbytes

    @property
    def is_worn(self) -> bool:
        """Whether so much has changed since the base was built that a new one pays."""
        base = self._runs[0].stop if self._runs else 0
        changed = self._used - base + self._holes
        return changed > self._most_loose and 2 * changed >= base

    def add_rows(self, rows: np.ndarray) -> None:
        self.take_rows(rows)
        if self.is_worn:
            self.rebuild()
        else:
            self.settle()

    def remove_rows(self, rows: np.ndarray) -> None:
        self._rows[self._homes[rows]] = NIL
        self._holes += len(rows)

    def take_rows(self, rows: np.ndarray) -> None:
        """Answer from new rows, which are in no trie yet."""
        self._keys.learn(self.dictionary.size)
        sort_tokens(self.records.table, self._keys.of, rows)
        if self.records.capacity > len(self._homes):
            self._homes = _longer(self._homes, self.records.capacity)
        used = self._used + len(rows)
        if used > len(self._rows):
            self._rows = _longer(self._rows, used + used // 8)
        self._rows[self._used : used] = rows
        self._homes[rows] = np.arange(self._used, used)
        self._used = used

    def settle(self) -> None:
        """Make a run of the rows that are in none, if these are too many."""
        start = self._runs[-1].stop if self._runs else 0
        if self._used - start <= self._most_loose:
            return
        while len(self._runs) > 1 and _RATIO * (self._used - start) > start - self._runs[-1].start:
            start = self._runs.pop().start
        rows = self._rows[start : self._used]
        live = rows[rows != NIL]
        self._holes -= len(rows) - len(live)
        self._append_run(start, live)

    def rebuild(self) -> None:
        """Give keys anew, make one trie of everything, and lay the records out in its order."""
        self._clear()
        self._keys.renew(self.dictionary.frequencies, self.dictionary.strings())
        live = self.records.live()
        self._homes = np.empty(self.records.capacity, np.int32)
        sort_tokens(self.records.table, self._keys.of, live)
        self._append_run(0, live)
        self.records.rearrange(self._rows)
        self._rows = np.arange(len(live), dtype=np.int32)
        self._homes = self._rows.copy()
        if self._runs:
            self._root_table = np.full(self._keys.highest - BASE_KEY, NIL, np.int32)
            children = np.arange(*self._nodes.heads[0, :2])
            tokens = children[self._nodes.keys[children] >= BASE_KEY]
            self._root_table[self._nodes.keys[tokens] - BASE_KEY] = tokens

    def _append_run(self, start: int, rows: np.ndarray) -> None:
        """Put rows at the places from `start` on, with a trie of their own."""
        self._used = start + len(rows)
        if not len(rows):
            return
        if self._used > len(self._rows):
            self._rows = _longer(self._rows, self._used)
        table, keys, places = self.records.table, self._keys.of, self._rows[: self._used]
        grid = curve_grid(table.boxes, rows)
        places[start:] = by_first_token(table, keys, grid, rows)
        first = self._runs[-1].end_node if self._runs else 0
        new = make_nodes(table, keys, grid, places, start, first, self._bucket, self._by_place)
        self._homes[places[start:]] = np.arange(start, self._used)
        end = first + len(new.keys)
        if not first:
            self._nodes = new
        else:
            if end > len(self._nodes.keys):
                self._nodes = Nodes(*(_longer(a, end + end // 8) for a in self._nodes))
            for mine, its in zip(self._nodes, new, strict=True):
                mine[first:end] = its
        self._runs.append(_Run(start, self._used, first, end))

    def _trie(self) -> Trie:
        self._keys.learn(self.dictionary.size)
        return Trie(
            self._nodes,
            self._rows,
            np.array([run.first_node for run in self._runs], np.int32),
            np.array([self._runs[-1].stop if self._runs else 0, self._used]),
            self._root_table,
            self._keys.of,
            np.array([self._keys.lowest, self._keys.highest]),
        )

    def sorted_keys(self, messages: Messages) -> np.ndarray:
        """The keys of each message's tokens, ascending."""
        owners = np.repeat(np.arange(len(messages.boxes)), np.diff(messages.starts))
        keys = (owners << 32) | self._keys.of[messages.tokens]
        keys.sort()
        return keys.astype(np.int32)

    @property
    def growth(self) -> float:
        """How much there is for each subscription of the base."""
        return self._used / max(1, self._runs[0].stop if self._runs else 0)

    def first_level(self) -> np.ndarray:
        """By token: how many subscriptions of the base it is the first token of."""
        below = np.zeros(self.dictionary.size, np.int32)
        keys = self._keys.of[: len(below)] - BASE_KEY
        based = np.flatnonzero((keys >= 0) & (keys < len(self._root_table)))
        nodes = self._root_table[keys[based]]
        known = based[nodes != NIL]
        heads = self._nodes.heads[nodes[nodes != NIL]]
        below[known] = heads[:, STOP] - heads[:, START]
        return below

    def work_of(self, messages: Messages) -> tuple[int, int]:
        """How many nodes and subscriptions these messages look at; they are not counted."""
        before = self._counted.copy()
        self._match(messages)
        work = self._counted - before
        self._counted[:] = before
        return int(work[VISITED]), int(work[VERIFIED])

    def _match(self, messages: Messages) -> tuple[np.ndarray, np.ndarray]:
        trie = self._trie()
        ids, starts = match_trie(
            trie, self.records.table, messages.boxes, messages.tokens,
            self.sorted_keys(messages), messages.starts, self._algorithm, self._counted,
        )  # fmt: skip
        for a, b in itertools.pairwise(starts.tolist()):
            ids[a:b].sort()
        return ids, starts

    def _rank(self, messages: Messages, table: HitTable) -> None:
        trie = self._trie()
        rank_trie(
            trie, self.records.table, messages.boxes, messages.tokens,
            self.sorted_keys(messages), messages.starts, self._algorithm, table, self._counted,
        )  # fmt: skip

    def check_structure(self) -> None:
        self._keys.check()
        live, rows = self.records.live(), self._rows[: self._used]
        assert sorted(rows[rows != NIL].tolist()) == live.tolist()
        assert (rows[self._homes[live]] == live).all()
        assert self._holes == (rows == NIL).sum()
        starts = [run.start for run in self._runs]
        assert starts == [0, *(run.stop for run in self._runs)][: len(starts)]
        assert self._used - (self._runs[-1].stop if self._runs else 0) <= self._most_loose
        for run in self._runs:
            nodes = Nodes(*(array[run.first_node : run.end_node] for array in self._nodes))
            check_run(self.records.table, self._keys.of, rows, nodes, run.first_node, self._bucket)
        for key in range(len(self._root_table)):
            self._check_root_table(key)

    def _check_root_table(self, key: int) -> None:
        first, end = self._nodes.heads[0, FIRST_CHILD], self._nodes.heads[0, FIRST_CHILD + 1]
        at = first + bisect.bisect_left(self._nodes.keys[first:end].tolist(), BASE_KEY + key)
        there = at < end and self._nodes.keys[at] == BASE_KEY + key
        assert self._root_table[key] == (at if there else NIL)


def _longer(array: np.ndarray, length: int) -> np.ndarray:
    longer = np.empty((length, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


def _one_of(name: str, got: Any, known: tuple[str, ...]) -> str:
    if got not in known:
        raise ValueError(f"{name}: got {got!r} when one of {', '.join(known)} was expected")
    return got
