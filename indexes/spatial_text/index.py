"""`SpatialTextIndex`: what all structures of this family share: verbs, checks, tokens and records.

A structure says how rows are found.  It implements

    add_rows(rows)          these rows of `self.records` are new; answer from them, too
    remove_rows(rows)       do not refer to them any more; they are still there to be read
    rebuild()               set everything in order, as if all rows had come at once
    _match(messages)        ids of each message, ascending, and where each message's begin
    _rank(messages, table)  fill a `HitTable`
    structure_nbytes, check_structure()

and need not think of bad input: what arrives there is right.  An index may be made `within`
another one: it then is a part that shares tokens and records of the whole, and the whole updates it
by the verbs above.
"""

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from indexes import validation
from indexes.hits import Hit, HitTable, empty_table, hits_of
from indexes.spatial_text.records import Columns, Records
from indexes.spatial_text.tokens import (
    TokenDictionary,
    distinct_lists,
    pack_strings,
    unpack_strings,
)

__all__ = ["Messages", "SpatialTextArrays", "SpatialTextIndex"]

Box = Sequence[float]
TokenLists = Sequence[Iterable[str]]


class Messages(NamedTuple):
    """The distinct known tokens of message i are `tokens[starts[i] : starts[i + 1]]`."""

    boxes: np.ndarray  # f8[m, 4]
    tokens: np.ndarray  # i4[t]
    starts: np.ndarray  # i8[m + 1]


class SpatialTextArrays(NamedTuple):
    """The subscriptions by id, tokens by alphabet: equal content gives equal bytes."""

    ids: np.ndarray  # i8[n]  ascending
    boxes: np.ndarray  # f8[n, 4]
    scores: np.ndarray  # f8[n]
    tokens: np.ndarray  # i4[t]  places in the list of words, ascending in each subscription
    starts: np.ndarray  # i8[n + 1]
    letters: np.ndarray  # u1[...]  the words in UTF-8
    word_starts: np.ndarray  # i8[w + 1]


class SpatialTextIndex:
    def __init__(self, within: "SpatialTextIndex | None" = None) -> None:
        self.is_part = within is not None
        self.dictionary: TokenDictionary = (
            TokenDictionary() if within is None else within.dictionary
        )
        self.records: Records = Records() if within is None else within.records

    def __len__(self) -> int:
        return len(self.records)

    @property
    def nbytes(self) -> int:
        return self.dictionary.nbytes + self.records.nbytes + self.structure_nbytes

    def insert(self, id: int, box: Box, tokens: Iterable[str], score: float = 1.0) -> None:
        self.insert_many([id], [box], [tokens], [score])

    def insert_many(
        self,
        ids: ArrayLike,
        boxes: ArrayLike,
        token_lists: TokenLists,
        scores: ArrayLike | None = None,
    ) -> None:
        """Add new ids, all of them or, where one argument is refused, none."""
        new, box = validation.as_id_array(ids), as_boxes(boxes)
        score = np.ones(len(new)) if scores is None else validation.as_score_array(scores)
        self.records.require_new(new)
        lists = distinct_lists(as_lists(token_lists))
        lengths = {"ids": new, "boxes": box, "token lists": lists, "scores": score}
        validation.require_same_length(**lengths)  # type: ignore[arg-type]
        if not all(lists):
            raise ValueError(
                f"tokens: got none for id {new[lists.index({})]} when at least one was expected"
            )
        tokens, starts = self.dictionary.ids_of(lists)
        self._insert(Columns(new, box, tokens, starts, score))

    def insert_columns(
        self,
        ids: ArrayLike,
        boxes: ArrayLike,
        tokens: ArrayLike,
        starts: ArrayLike,
        scores: ArrayLike,
    ) -> None:
        """As `insert_many`, with tokens as numbers that `dictionary.ids_of` gave.

        Those of subscription i are `tokens[starts[i] : starts[i + 1]]`, distinct.
        """
        columns = Columns(
            validation.as_id_array(ids),
            as_boxes(boxes),
            np.ascontiguousarray(tokens, np.int32),
            np.ascontiguousarray(starts, np.int64),
            validation.as_score_array(scores),
        )
        n, boxes, tokens, starts, scores = columns
        validation.require_same_length(ids=n, boxes=boxes, starts=starts[1:], scores=scores)
        if len(n) and not (starts[1:] > starts[:-1]).all():
            raise ValueError("starts: got no tokens when at least one each was expected")
        self.dictionary.require_known(tokens)
        self.records.require_new(n)
        self._insert(columns)

    def _insert(self, columns: Columns) -> None:
        if len(columns.ids):
            columns = Columns(*map(_own, columns))
            self.dictionary.retain(columns.tokens)
            self.add_rows(self.records.add(columns))

    def delete(self, id: int) -> None:
        self.delete_many([id])

    def delete_many(self, ids: ArrayLike) -> None:
        """Forget ids, all of them or, where one is not indexed, none."""
        rows = self.records.find(validation.as_id_array(ids))
        if not len(rows):
            return
        tokens = self.records.tokens_of(rows)
        self.remove_rows(rows)
        self.records.release(rows)
        self.dictionary.release(tokens)
        if 4 * len(self.records) < self.records.capacity - 64:
            self.rebuild()

    def match(self, box: Box, tokens: Iterable[str]) -> list[int]:
        return self.match_many([box], [tokens])[0]

    def match_many(self, boxes: ArrayLike, token_lists: TokenLists) -> list[list[int]]:
        """The ids that match each message, ascending; one compiled call for all messages."""
        ids, starts = self.match_columns(*self.messages(boxes, token_lists))
        return [ids[a:b].tolist() for a, b in itertools.pairwise(starts.tolist())]

    def match_columns(
        self, boxes: np.ndarray, tokens: np.ndarray, starts: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """As `match_many`, with known tokens as numbers, distinct in each message."""
        return self._match(Messages(_own(boxes), _own(tokens), _own(starts)))

    def top_k(self, box: Box, tokens: Iterable[str], k: int) -> list[Hit]:
        k = validation.as_count("k", k)
        return hits_of(self.top_k_many([box], [tokens], min(k, len(self))), 0)

    def top_k_many(self, boxes: ArrayLike, token_lists: TokenLists, k: int) -> HitTable:
        """The k best matches of each message, one compiled call for all of them."""
        k = validation.as_count("k", k)
        return self.top_k_columns(*self.messages(boxes, token_lists), k)

    def top_k_columns(
        self, boxes: np.ndarray, tokens: np.ndarray, starts: np.ndarray, k: int
    ) -> HitTable:
        """As `top_k_many`, with known tokens as numbers, distinct in each message."""
        table = empty_table(len(boxes), validation.as_count("k", k))
        if k and len(self):
            self._rank(Messages(_own(boxes), _own(tokens), _own(starts)), table)
        return table

    def messages(self, boxes: ArrayLike, token_lists: TokenLists) -> Messages:
        """Messages as columns, ready to be matched until subscriptions change."""
        box, lists = as_boxes(boxes), as_lists(token_lists)
        validation.require_same_length(boxes=box, **{"token lists": lists})  # type: ignore[arg-type]
        return Messages(box, *self.dictionary.known_ids(lists))

    def check(self) -> None:
        """Raise `AssertionError` unless every structural invariant holds."""
        self.dictionary.check()
        self.records.check()
        held = self.records.tokens_of(self.records.live())
        counts = np.bincount(held, minlength=len(self.dictionary.frequencies))
        assert (counts == self.dictionary.frequencies).all()
        self.check_structure()

    def to_arrays(self) -> SpatialTextArrays:
        live = self.records.live()
        columns = self.records.export(live[np.argsort(self.records.table.ids[live])])
        used = np.flatnonzero(self.dictionary.frequencies)
        words = sorted((self.dictionary.string(number), number) for number in used.tolist())
        place = np.zeros(self.dictionary.size, np.int32)
        place[[number for _, number in words]] = np.arange(len(words))
        owners = np.repeat(np.arange(len(live)), np.diff(columns.starts))
        tokens = place[columns.tokens]
        tokens = tokens[np.lexsort((tokens, owners))]
        letters, word_starts = pack_strings([word for word, _ in words])
        return SpatialTextArrays(
            columns.ids, columns.boxes, columns.scores, tokens, columns.starts, letters, word_starts
        )

    @classmethod
    def from_arrays(cls, arrays: SpatialTextArrays, **options: Any) -> Self:
        """The index that `to_arrays` was asked for; options as of the constructor."""
        index = cls(**options)
        words = unpack_strings(arrays.letters, arrays.word_starts)
        numbers, _ = index.dictionary.ids_of([words])
        index.insert_columns(
            arrays.ids, arrays.boxes, numbers[arrays.tokens], arrays.starts, arrays.scores
        )
        return index

    @classmethod
    def build(
        cls,
        ids: ArrayLike,
        boxes: ArrayLike,
        token_lists: TokenLists,
        scores: ArrayLike | None = None,
        **options: Any,
    ) -> Self:
        """All subscriptions at once, which is quicker than one after another."""
        index = cls(**options)
        index.insert_many(ids, boxes, token_lists, scores)
        return index

    def add_rows(self, rows: np.ndarray) -> None:
        raise NotImplementedError

    def remove_rows(self, rows: np.ndarray) -> None:
        raise NotImplementedError

    def rebuild(self) -> None:
        raise NotImplementedError

    @property
    def structure_nbytes(self) -> int:
        raise NotImplementedError

    def check_structure(self) -> None:
        raise NotImplementedError

    def _match(self, messages: Messages) -> tuple[np.ndarray, np.ndarray]:
        raise NotImplementedError

    def _rank(self, messages: Messages, table: HitTable) -> None:
        raise NotImplementedError


def _own(array: np.ndarray) -> np.ndarray:
    """The array, or a copy of what cannot be written to: kernels would be compiled again for it."""
    return np.require(array, requirements=["C", "W"])


def as_boxes(boxes: ArrayLike) -> np.ndarray:
    """Boxes as f8[n, 4]; sides may be infinite, but low <= high."""
    try:
        empty = len(boxes) == 0  # type: ignore[arg-type]
    except TypeError as error:
        raise ValueError(f"box: got {boxes!r} when boxes were expected") from error
    if empty:
        return np.empty((0, 4))
    try:
        table = validation.as_table("box", boxes, 4)
    except ValueError as error:
        raise ValueError(f"{error}; a box is (x_low, y_low, x_high, y_high)") from error
    if np.isnan(table).any():
        raise ValueError("box: got nan when a number or an infinite side was expected")
    validation.require_ordered(table[:, 0], table[:, 2], "box: x")
    validation.require_ordered(table[:, 1], table[:, 3], "box: y")
    return table


def as_lists(token_lists: TokenLists) -> Sequence[Iterable[str]]:
    if isinstance(token_lists, str) or not hasattr(token_lists, "__len__"):
        raise ValueError(f"token lists: got {token_lists!r} when lists of strings were expected")
    return token_lists
