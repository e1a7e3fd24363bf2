"""`RowStore`: the rows of an index: appended, released, laid out anew (see `row_words`)."""

import numpy as np

from indexes.boolean.batches import IN, NOT_IN, Batch
from indexes.boolean.narrow import count_wide
from indexes.boolean.row_words import (
    ALONE,
    ALTERNATIVE,
    DEAD,
    DEAD_LISTS,
    LISTS,
    MOST_ROWS,
    SHARED_SHIFT,
    SIZE_MASK,
    WORDS,
    Rows,
    append_rows,
    copy_rows,
    export_rows,
    release_rows,
)
from indexes.id_map import check_slots, empty_slots, find_many, link_many
from indexes.kernels import NIL
from indexes.row_table import LIVE, USED, check_rows, live_rows, new_state

_FEW_DEAD = 4096  # words, or places of lists, that are not worth closing gaps for


def _empty() -> Rows:
    words = np.zeros(0)
    return Rows(
        ids=np.empty(0, np.int64),
        start=np.zeros(0, np.int32),
        meta=words.view(np.uint32),
        reals=words,
        lists=np.zeros(0),
        state=new_state(further=4),
    )


class RowStore:
    def __init__(self, few_dead: int = _FEW_DEAD) -> None:
        self.rows = _empty()
        self._slots = empty_slots(0)
        self._few_dead = few_dead

    def __len__(self) -> int:
        return int(self.rows.state[LIVE])

    def __deepcopy__(self, memo: dict[int, object]) -> "RowStore":
        """A copy whose metas and reals are, again, views of the same words."""
        copy = RowStore(self._few_dead)
        copied = Rows(*(array.copy() for array in self.rows))
        copy.rows = copied._replace(meta=copied.reals.view(np.uint32))
        copy._slots = self._slots.copy()
        return copy

    @property
    def nbytes(self) -> int:
        owned = (self.rows.ids, self.rows.start, self.rows.reals, self.rows.lists, self.rows.state)
        return sum(array.nbytes for array in owned) + self._slots.nbytes

    @property
    def capacity(self) -> int:
        return len(self.rows.ids)

    def live(self) -> np.ndarray:
        """The rows in use, ascending."""
        return live_rows(self.rows.ids, self.rows.state)

    def find(self, ids: np.ndarray) -> np.ndarray:
        """The first row of each id, or -1."""
        return find_many(self._slots, self.rows.ids, ids)

    def sizes(self, rows: np.ndarray) -> np.ndarray:
        """How many predicates each row has."""
        return (self.rows.meta[2 * self.rows.start[rows].astype(np.int64)] & SIZE_MASK).astype(
            np.int64
        )

    def append(self, ids: np.ndarray, batch: Batch, starting: np.ndarray) -> np.ndarray:
        """Rows for conjunctions; those not `starting` are alternatives of the id before them."""
        if len(self) + len(ids) > MOST_ROWS:
            raise ValueError(f"got {len(self) + len(ids)} rows when at most {MOST_ROWS} fit")
        self._reserve(len(ids), *_needed(batch))
        rows = np.empty(len(ids), np.int32)
        append_rows(self.rows, self._slots, ids, starting, batch, rows)
        return rows

    def release(self, rows: np.ndarray) -> None:
        """Forget rows; whoever asks releases all rows of an id."""
        release_rows(self.rows, self._slots, rows)
        state = self.rows.state
        worn = state[DEAD] > self._few_dead and 2 * state[DEAD] > state[WORDS]
        # Both are copied then: for the sake of lists alone, only if they are as much as the rest.
        lists = int(state[DEAD_LISTS])
        if worn or (lists > self._few_dead and 2 * lists > max(state[LISTS], state[WORDS])):
            self.compact()

    def compact(self) -> None:
        """Close the gaps that released rows left; rows keep their numbers."""
        live = self.live()
        state = self.rows.state.copy()
        state[[WORDS, LISTS, DEAD, DEAD_LISTS]] = 0
        self._copy(self.rows.ids, state, live, live)

    def renumber(self, rows: np.ndarray) -> np.ndarray:
        """Lay all live rows out in the order given, numbered from 0; return old number -> new.

        Rows that are read together then lie together.
        """
        ids, numbers = np.zeros(self.capacity, np.int64), np.arange(len(rows), dtype=np.int32)
        ids[: len(rows)] = self.rows.ids[rows]
        new = np.full(self.capacity, NIL, np.int32)
        new[rows] = numbers
        state = new_state(further=4)
        state[[USED, LIVE]] = len(rows)
        self._copy(ids, state, rows, numbers)
        self._slots = empty_slots(len(self._slots) * 4 // 5)
        link_many(self._slots, self.rows.ids, numbers[self._shared(numbers) != ALTERNATIVE])
        return new

    def _copy(
        self, ids: np.ndarray, state: np.ndarray, rows: np.ndarray, numbers: np.ndarray
    ) -> None:
        """Lay all live rows out in the order given, under the numbers given."""
        old = self.rows
        reals = np.zeros(int(old.state[WORDS] - old.state[DEAD]))
        new = Rows(
            ids=ids,
            start=np.zeros(self.capacity, np.int32),
            meta=reals.view(np.uint32),
            reals=reals,
            lists=np.zeros(int(old.state[LISTS] - old.state[DEAD_LISTS])),
            state=state,
        )
        copy_rows(old, new, rows, numbers)
        self.rows = new

    def export(self, rows: np.ndarray) -> Batch:
        """The conjunctions of rows, each in the order given."""
        counts = self.sizes(rows)
        total, most = int(counts.sum()), int(self.rows.state[LISTS])
        columns, kinds = np.empty(total, np.int32), np.empty(total, np.uint8)
        weights, firsts, seconds = np.empty(total), np.empty(total), np.zeros(total)
        lists = np.empty(most)
        used = export_rows(self.rows, rows, columns, kinds, weights, firsts, seconds, lists)
        return Batch(counts, columns, kinds, weights, firsts, seconds, lists[:used].copy())

    def check(self, rows_of: dict[int, list[int]]) -> None:
        """Raise `AssertionError` unless every invariant holds; `rows_of` are the alternatives."""
        live, r = self.live(), self.rows
        assert (self.sizes(live) > 0).all()
        assert np.shares_memory(r.meta, r.reals) or not len(r.reals)
        later = {row for rows in rows_of.values() for row in rows[1:]}
        firsts = np.array([row for row in live.tolist() if row not in later], np.int32)
        check_slots(self._slots, r.ids, firsts)
        assert {row for rows in rows_of.values() for row in rows} == set(
            live[self._shared(live) != ALONE].tolist()
        )
        check_rows(r.ids, r.state)
        words, lists = _needed(self.export(live))
        assert r.state[WORDS] == r.state[DEAD] + words <= len(r.reals)
        assert r.state[LISTS] == r.state[DEAD_LISTS] + lists <= len(r.lists)

    def _shared(self, rows: np.ndarray) -> np.ndarray:
        return self.rows.meta[2 * self.rows.start[rows].astype(np.int64)] >> SHARED_SHIFT

    def _reserve(self, rows: int, words: int, lists: int) -> None:
        r, state = self.rows, self.rows.state
        needed = int(state[LIVE]) + rows
        reals = grown(r.reals, state[WORDS] + words)
        self.rows = r._replace(
            ids=grown(r.ids, needed),
            start=grown(r.start, needed),
            meta=reals.view(np.uint32),
            reals=reals,
            lists=grown(r.lists, state[LISTS] + lists),
        )
        if 5 * needed > 4 * len(self._slots):
            spare = needed // 2 if state[LIVE] else 0
            self._slots = empty_slots(needed + spare)
            live = self.live()
            firsts = live[self._shared(live) != ALTERNATIVE]
            link_many(self._slots, self.rows.ids, firsts)


def _needed(batch: Batch) -> tuple[int, int]:
    """Words, and places in `lists`, that a batch takes."""
    wide = count_wide(batch)
    listed = int(((batch.kinds == IN) | (batch.kinds == NOT_IN)).sum())
    words = int((batch.counts // 2 + 1).sum()) + 2 * len(batch.kinds) + wide
    return words, len(batch.lists) + listed


def grown(array: np.ndarray, needed: int) -> np.ndarray:
    """A copy with room for at least so much, or the array itself if it has that."""
    if needed <= len(array):
        return array
    size = max(int(needed), len(array) + len(array) // 8 + 8) if len(array) else int(needed)
    copy = np.zeros(size, array.dtype)
    copy[: len(array)] = array
    return copy
