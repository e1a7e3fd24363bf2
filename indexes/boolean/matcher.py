"""`BooleanMatcher`: a BE*-tree fed in batches that name their attributes and strings.

Whoever parses records has checked the predicates already; objects of the class `Predicate` are
made by those who write predicates by hand.
"""

import copy
from collections.abc import Sequence
from typing import Any, Protocol, Self

import numpy as np

from indexes.boolean.batches import (
    BETWEEN,
    IN,
    KIND_OF,
    MOST_COLUMNS,
    NOT_IN,
    Batch,
    BooleanArrays,
)
from indexes.boolean.be_star_tree import BEStarTree
from indexes.boolean.events import EncodedEvents
from indexes.boolean.predicates import Predicate
from indexes.boolean.vocabulary import UNKNOWN, Vocabulary
from indexes.forking import forked
from indexes.hits import HitTable

__all__ = ["BooleanMatcher", "Expressions", "NamedEvents", "Term"]

_FEW_STRINGS = 100_000
_FEW_COLUMNS = MOST_COLUMNS // 8


class Term(Protocol):
    """A predicate known to be right: see `Predicate` for what that means."""

    @property
    def attribute(self) -> str: ...
    @property
    def op(self) -> str: ...
    @property
    def value(self) -> Any: ...
    @property
    def weight(self) -> float: ...


Expressions = Sequence[Sequence[Sequence[Term]]] | np.ndarray
"""Of each expression its alternatives, of each of them the terms; or an array of such objects."""


class NamedEvents(Protocol):
    """Event i has the entries starts[i] to starts[i + 1]; names and strings travel with them."""

    @property
    def starts(self) -> np.ndarray: ...  # i8[m + 1]
    @property
    def values(self) -> np.ndarray: ...  # f8[e]  a number, or the position of a string
    @property
    def weights(self) -> np.ndarray: ...  # f8[e]
    @property
    def columns(self) -> np.ndarray: ...  # i4[e]  a position in `names`
    @property
    def names(self) -> Sequence[tuple[str, bool]]: ...  # attribute, whether of strings
    @property
    def strings(self) -> Sequence[tuple[int, str]]: ...  # position in `names`, string


class BooleanMatcher:
    """It keeps itself in order while it changes, so it has no base.

    Only attributes and strings that no subscription names any more stay, until the tree is built
    anew.  Attributes beyond `MOST_COLUMNS` have no place: conjunctions that name them match nothing
    until they are inserted again, for one subscription too many must not stop all others.
    """

    delta_share = 0.0

    def __init__(self) -> None:
        self._tree = BEStarTree()
        self._size_at_first = 0, 0  # columns, strings

    def __len__(self) -> int:
        return len(self._tree)

    @property
    def nbytes(self) -> int:
        return self._tree.nbytes

    @property
    def is_worn(self) -> bool:
        """Whether most attributes or strings that it has learnt may be of no use any more."""
        columns, strings = self._tree._vocabulary.size
        at_first, strings_at_first = self._size_at_first
        return (
            strings > 4 * strings_at_first + _FEW_STRINGS or columns > 4 * at_first + _FEW_COLUMNS
        )

    def insert_many(self, ids: np.ndarray, expressions: Expressions) -> None:
        """Add new ids, each with its alternatives."""
        new = self._tree._require_new(ids)
        fitting = _fitting(expressions, self._tree._vocabulary)
        batch, alternatives = compile_expressions(fitting, self._tree._vocabulary)
        starting = np.zeros(len(batch.counts), np.bool_)
        starting[np.cumsum(alternatives) - alternatives] = True
        self._tree._insert_batch(np.repeat(new, alternatives), batch, starting)

    def delete_many(self, ids: np.ndarray) -> None:
        self._tree.delete_many(ids)

    def top_k_many(self, events: NamedEvents, k: int) -> HitTable:
        return self._tree.top_k_many(encode_named(events, self._tree._vocabulary), k)

    def ids(self) -> np.ndarray:
        """Ascending."""
        store = self._tree._store
        return np.unique(store.rows.ids[store.live()])

    def fork(self) -> Self:
        """A copy for another thread; its rows copy themselves array by array as well."""
        twin = forked(self, [self._tree._store])
        twin._tree._store = copy.deepcopy(self._tree._store)
        return twin

    def rebase(self) -> None:
        """Build the tree anew."""
        self._tree = BEStarTree.from_arrays(self._tree.to_arrays())
        self._size_at_first = self._tree._vocabulary.size

    @property
    def is_stale(self) -> bool:
        """Whether it will soon set itself in order on its own: never, that is done in steps."""
        return False

    def refresh(self) -> None:
        """Nothing is out of order but what `rebase()` mends."""

    def replace_base(self, trees: Sequence[Any], since: int) -> None:
        raise ValueError("got a base when none was expected: Boolean expressions have none")

    def check(self) -> None:
        self._tree.check()

    def to_arrays(self) -> BooleanArrays:
        return self._tree.to_arrays()

    @classmethod
    def from_arrays(cls, arrays: BooleanArrays) -> Self:
        matcher = cls()
        matcher._tree.insert_arrays(arrays)
        matcher._size_at_first = matcher._tree._vocabulary.size
        return matcher


def _fitting(expressions: Expressions, vocabulary: Vocabulary) -> Expressions:
    """The expressions with conjunctions that match nothing in the place of those without columns.

    One column is kept for what these ask for.
    """
    terms = sum(len(conjunction) for expression in expressions for conjunction in expression)
    if len(vocabulary) + terms < MOST_COLUMNS:
        return expressions
    new: set[tuple[str, bool]] = set()
    nothing = (Predicate("", "=", 0.0), Predicate("", "=", 1.0))

    def fitted(conjunction: Sequence[Term]) -> Sequence[Term]:
        wanted = {(term.attribute, _is_text(term.value)) for term in conjunction}
        wanted = {one for one in wanted if vocabulary.new_columns([one])} - new
        if len(vocabulary) + len(new) + len(wanted) >= MOST_COLUMNS:
            return nothing if wanted else conjunction
        new.update(wanted)
        return conjunction

    return [[fitted(conjunction) for conjunction in expression] for expression in expressions]


def _is_text(value: Any) -> bool:
    return type(value[0] if isinstance(value, tuple | list) else value) is str


def compile_expressions(
    expressions: Expressions, vocabulary: Vocabulary
) -> tuple[Batch, np.ndarray]:
    """All alternatives as columns, and how many each expression has.

    What they name is added to the vocabulary.
    """
    conjunctions = [conjunction for expression in expressions for conjunction in expression]
    alternatives = np.array([len(expression) for expression in expressions], np.int64)
    return _compile(conjunctions, vocabulary), alternatives


def _compile(conjunctions: Sequence[Sequence[Term]], vocabulary: Vocabulary) -> Batch:
    columns: list[int] = []
    kinds: list[int] = []
    weights: list[float] = []
    firsts: list[float] = []
    seconds: list[float] = []
    lists: list[float] = []
    for conjunction in conjunctions:
        for term in conjunction:
            kind, value = KIND_OF[term.op], term.value
            second = 0.0
            if kind == BETWEEN:
                column = vocabulary.column(term.attribute, False)
                value, second = value
            elif kind in (IN, NOT_IN):
                column = vocabulary.column(term.attribute, type(value[0]) is str)
                if type(value[0]) is str:
                    value = [float(vocabulary.code(column, string)) for string in value]
                members = sorted(set(value))
                value, second = len(lists), len(members)
                lists += members
            else:
                is_text = type(value) is str
                column = vocabulary.column(term.attribute, is_text)
                value = vocabulary.code(column, value) if is_text else value
            columns.append(column)
            kinds.append(kind)
            weights.append(term.weight)
            firsts.append(value)
            seconds.append(second)
    return Batch(
        np.array([len(conjunction) for conjunction in conjunctions], np.int64),
        np.array(columns, np.int32),
        np.array(kinds, np.uint8),
        np.array(weights, np.float64),
        np.array(firsts, np.float64),
        np.array(seconds, np.float64),
        np.array(lists, np.float64),
    )


def encode_named(events: NamedEvents, vocabulary: Vocabulary) -> EncodedEvents:
    """In the columns and codes of this vocabulary, without what it does not know."""
    known = [
        (vocabulary.texts if is_text else vocabulary.numbers).get(name, -1)
        for name, is_text in events.names
    ]
    codes = [
        float(vocabulary.codes[known[place]].get(string, UNKNOWN)) if known[place] >= 0 else UNKNOWN  # type: ignore[union-attr]
        for place, string in events.strings
    ]
    columns = np.array(known, np.int32)[events.columns] if known else events.columns
    values = events.values
    if codes:
        is_text = np.array([is_text for _, is_text in events.names])[events.columns]
        values = values.copy()
        values[is_text] = np.array(codes)[values[is_text].astype(np.int64)]
    kept = columns >= 0
    starts = np.append(0, np.cumsum(kept))[events.starts]
    return EncodedEvents(
        starts,
        columns[kept],
        values[kept],
        events.weights[kept],
        vocabulary.size,
        vocabulary.stamp,
    )
