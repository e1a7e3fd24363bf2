"""`BEStarTree`: weighted Boolean expressions in a tree that adapts to them (Sadoghi and Jacobsen).

See `tree_layout` for the arrays, `tree_settle` and `tree_insert` for growth, `tree_search` for
matching, `tree_feedback` for what the tree learns from events.

Bounds inside the tree are codes that were learnt from the subscriptions.  After the fourfold has
been inserted they are learnt again: a small tree is built anew at once; beside a large one another
grows, by a few rows with every insertion, until it has them all and takes its place.
"""

from collections.abc import Mapping

import numpy as np

from indexes import validation
from indexes.boolean.codes import Codes, extended, learn_codes, no_codes, with_lines
from indexes.boolean.events import EncodedEvents
from indexes.boolean.index import BooleanIndex
from indexes.boolean.predicates import as_number
from indexes.boolean.rows import grown
from indexes.boolean.tree_body import TreeBody
from indexes.boolean.tree_check import check_tree
from indexes.boolean.tree_cut import APPROXIMATE, EXHAUSTIVE
from indexes.boolean.tree_delete import count_columns
from indexes.boolean.tree_feedback import WINDOW, Demand, rows_to_move
from indexes.boolean.tree_layout import Tree
from indexes.boolean.tree_local import Options
from indexes.boolean.tree_search import collect, rank
from indexes.boolean.tree_sifting import PRUNED, READ
from indexes.hits import HitTable
from indexes.kernels.quantile_codes import MOST_BOUNDS

__all__ = ["BEStarTree"]

_SPLITS = {"exhaustive": EXHAUSTIVE, "approximate": APPROXIMATE}
_RELEARN = 4  # times as many rows as the codes were learnt from
_AT_ONCE = 20_000  # rows that are settled anew within one insertion
_HANDFUL = 32  # members whose tests take as long as going to an l-node
_STEP = 4  # rows that move to the next tree with each inserted one


class BEStarTree(BooleanIndex):
    """Conjunctions of weighted predicates, ranked by the sum of weight times event weight.

    `leaf_capacity` is the paper's A, `alpha` the least part of a bucket's members on either side
    of a split, `beta` the growth of a bucket before a new one is put above it, `split` one of
    "exhaustive" and "approximate", `partition` the members below a c-node for which a p-node is
    made, `domains` the least and the greatest number to be expected of attributes.  Answers do
    not depend on them.

    >>> from indexes.boolean import Predicate
    >>> jobs = BEStarTree()
    >>> coast, pay = Predicate("state", "in", ["CA", "NY"], 0.4), Predicate("pay", "<", 45, 0.3)
    >>> jobs.insert(1, [coast, pay])
    >>> jobs.insert(2, [Predicate("hours", ">", 15, 0.5)])
    >>> jobs.top_k({"state": "NY", "pay": (30, 2.0), "hours": 20}, k=2)
    [Hit(id=1, score=1.0), Hit(id=2, score=0.5)]
    """

    def __init__(
        self,
        leaf_capacity: int = 128,
        alpha: float = 0.1,
        beta: float = 4.0,
        split: str = "exhaustive",
        partition: int = 64,
        domains: Mapping[str, tuple[float, float]] | None = None,
    ) -> None:
        super().__init__()
        if split not in _SPLITS:
            raise ValueError(f"split: got {split!r} when one of {list(_SPLITS)} was expected")
        if not 0 < alpha <= 0.5:
            raise ValueError(f"alpha: got {alpha!r} when 0 < alpha <= 0.5 was expected")
        if not beta > 1:
            raise ValueError(f"beta: got {beta!r} when beta > 1 was expected")
        self._options = Options(
            validation.as_count("leaf_capacity", leaf_capacity, least=1),
            float(alpha),
            float(beta),
            _SPLITS[split],
            validation.as_count("partition", partition, least=1),
            handful=_HANDFUL,
            by_size=False,
            prune=True,
        )
        self._domains = _as_domains(domains or {})
        self.relearnt = 0  # how often codes were learnt again for a tree that had grown
        self.reinserted = 0  # rows that feedback has moved
        self._clear_structure()

    def _clear_structure(self) -> None:
        self._body = TreeBody(self._options, no_codes(), 0)
        self._coming: TreeBody | None = None
        self._waiting = np.zeros(0, np.int32)  # rows that the coming tree still lacks
        self._popularity = np.zeros(0, np.int64)  # predicates of each column
        self._demand = Demand()

    @property
    def leaves_read(self) -> int:
        """How many l-nodes all queries so far have read."""
        return int(self._counted[READ])

    @property
    def leaves_pruned(self) -> int:
        """How many l-nodes that an event reached were left out, for their bounds were too low."""
        return int(self._counted[PRUNED])

    @property
    def _tree(self) -> Tree:
        return self._body.tree

    def _place(self, rows: np.ndarray) -> None:
        self._popularity = grown(self._popularity, len(self._vocabulary))
        count_columns(self._store.rows, rows, self._popularity, 1)
        # Building anew is so much quicker that it pays from half as many rows again.
        outgrown = len(self._store) >= _RELEARN * self._body.learnt + 64
        if 2 * len(rows) >= len(self._store) or (outgrown and len(self._store) <= _AT_ONCE):
            self.relearnt += 2 * len(rows) < len(self._store)
            self._rebuild()
            return
        if outgrown and self._coming is None:
            self._begin_next()
        for body in self._bodies:
            if len(self._vocabulary) >= len(body.codes.starts):
                body.codes = extended(body.codes, len(self._vocabulary), self._lines())
            body.insert(self._store, self._weighed(), rows)
        if self._coming is not None:
            self._move_on(_STEP * len(rows) + 64)
        elif self._demand.events >= WINDOW and self._options.prune:
            self._reinsert(2 * len(rows) + 64)

    def _remove(self, rows: np.ndarray) -> None:
        count_columns(self._store.rows, rows, self._popularity, -1)
        for body in self._bodies:
            body.remove(self._store, rows[body.has(rows)])

    def _rank(self, events: EncodedEvents, table: HitTable) -> None:
        columns = len(self._vocabulary)
        rank(
            self._tree, self._store.rows, self._body.codes, events, columns, self._options.prune,
            table, self._counted,
        )  # fmt: skip
        self._demand.meet(events, columns)

    def _collect(
        self, events: EncodedEvents, first: int, starts: np.ndarray, ids: np.ndarray
    ) -> int:
        columns = len(self._vocabulary)
        return collect(
            self._tree, self._store.rows, self._body.codes, events, columns, first, starts, ids,
            self._counted,
        )  # fmt: skip

    @property
    def _structure_nbytes(self) -> int:
        others = self._popularity.nbytes + self._waiting.nbytes + self._demand.nbytes
        return sum(body.nbytes for body in self._bodies) + others

    def _check_structure(self) -> None:
        live, rows = self._store.live(), self._store.rows
        check_tree(self._tree, rows, self._body.codes, live, self._options)
        if self._coming is not None:
            moved = live[self._coming.has(live)]
            check_tree(self._coming.tree, rows, self._coming.codes, moved, self._options)
            assert set(live.tolist()) == {*moved.tolist(), *live[~self._coming.has(live)].tolist()}
            assert np.isin(live[~self._coming.has(live)], self._waiting).all()
        batch = self._store.export(live)
        counts = np.bincount(batch.columns, minlength=len(self._popularity))
        assert (self._popularity == counts).all()

    @property
    def _bodies(self) -> list[TreeBody]:
        return [self._body] if self._coming is None else [self._body, self._coming]

    def _weighed(self) -> np.ndarray:
        """How many subscriptions have each column, weighed by how many events do."""
        return self._popularity * self._demand.shares(len(self._popularity))

    def _rebuild(self) -> None:
        """Learn codes from all rows and settle them at once (BE*-B)."""
        live = self._store.live()
        self._coming, self._waiting = None, np.zeros(0, np.int32)
        self._body = TreeBody(self._options, self._learn(live, len(self._vocabulary)), len(live))
        self._body.build(self._store, self._weighed(), live)
        new = self._body.lay_out(self._store)
        self._alternatives = {id: new[rows].tolist() for id, rows in self._alternatives.items()}

    def _learn(self, live: np.ndarray, columns: int) -> Codes:
        return with_lines(learn_codes(self._store, live, columns), self._lines())

    def _lines(self) -> dict[int, np.ndarray]:
        """For columns with a known domain, what parts it evenly."""
        columns = self._vocabulary.numbers
        return {
            columns[name]: np.linspace(*ends, MOST_BOUNDS)
            for name, ends in self._domains.items()
            if name in columns
        }

    def _begin_next(self) -> None:
        live = self._store.live()
        self._coming = TreeBody(self._options, self._learn(live, len(self._vocabulary)), len(live))
        self._waiting = live
        self.relearnt += 1

    def _move_on(self, most: int) -> None:
        """Insert some of the rows that wait into the coming tree; with the last it takes over."""
        assert self._coming is not None
        rows, self._waiting = self._waiting[:most], self._waiting[most:]
        rows = rows[self._body.has(rows) & ~self._coming.has(rows)]
        self._coming.insert(self._store, self._weighed(), rows)
        if not len(self._waiting):
            self._body, self._coming = self._coming, None

    def _reinsert(self, most: int) -> None:
        """Settle rows anew whose l-nodes have met too many false candidates (§V-B)."""
        rows = rows_to_move(self._tree, self._demand.events, most)
        self._demand.close_window()
        self._body.remove(self._store, rows)
        self._body.insert(self._store, self._weighed(), rows)
        self._tree.lost[:] = 0
        self.reinserted += len(rows)


def _as_domains(given: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    domains = {}
    for name, ends in given.items():
        low, high = (as_number(end, f"domains[{name!r}]") for end in ends)
        if not low < high:
            raise ValueError(f"domains[{name!r}]: got {ends!r} when low < high was expected")
        domains[name] = low, high
    return domains
