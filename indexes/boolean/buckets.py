"""`Buckets`: each subscription under its rarest equality predicate, the rest verified.

Layout: a bucket is a run of `members`, doubled when it is full; bucket 0 is for subscriptions
without an equality, and is read for every event.  A member has, beside its row, the tests of two
further predicates, so that most are rejected without looking the row up.  `found` counts how often
an equality occurs, which says how rare it is.
"""

import numpy as np

from indexes.boolean.batches import EQ
from indexes.boolean.bucket_members import (
    USED_BUCKETS,
    Keys,
    Members,
    add_members,
    count_equalities,
    drop_members,
    link_all,
    move_all,
)
from indexes.boolean.bucket_search import collect, rank
from indexes.boolean.events import EncodedEvents
from indexes.boolean.index import BooleanIndex
from indexes.boolean.rows import grown
from indexes.hits import HitTable
from indexes.kernels import NIL

__all__ = ["Buckets"]


class Buckets(BooleanIndex):
    def __init__(self, spare: int = 1024) -> None:
        """Room for so many buckets that are not there yet is kept."""
        super().__init__()
        self._spare = spare
        self._clear_structure()

    def _clear_structure(self) -> None:
        integers = (np.zeros(1, np.int32) for _ in range(2))
        self._keys = Keys(
            np.full(4, NIL, np.int32),
            np.full(1, NIL, np.int32),
            np.zeros(1),
            np.zeros(1, np.int32),
            np.zeros(1, np.int64),
            *integers,
        )
        self._members = Members(
            np.zeros(0, np.int32),
            np.zeros((0, 2), np.int32),
            np.zeros((0, 2)),
            np.zeros((0, 2)),
            np.zeros(0, np.int32),
            np.array([1, 0, 0]),
        )

    def _place(self, rows: np.ndarray) -> None:
        r, m = self._store.rows, self._members
        self._members = m._replace(homes=grown(m.homes, self._store.capacity))
        predicates = int(self._store.sizes(rows).sum())
        self._reserve_keys(int(m.state[USED_BUCKETS]) + predicates)
        count_equalities(self._keys, self._members.state, r, rows, 1)
        done = 0
        while done < len(rows):
            done = add_members(self._keys, self._members, r, rows, done)
            if done < len(rows):
                self._repack(len(rows) - done)
        used = int(self._members.state[USED_BUCKETS])
        # Fewer were new than there might have been.
        if len(self._keys.columns) > 2 * used + self._spare:
            short = {name: getattr(self._keys, name)[:used].copy() for name in Keys._fields[1:]}
            self._keys = Keys(np.full(2 * used, NIL, np.int32), **short)
            link_all(self._keys, used)

    def _remove(self, rows: np.ndarray) -> None:
        drop_members(self._keys, self._members, rows)
        count_equalities(self._keys, self._members.state, self._store.rows, rows, -1)

    def _reserve_keys(self, buckets: int) -> None:
        keys = {name: grown(getattr(self._keys, name), buckets) for name in Keys._fields[1:]}
        slots = self._keys.slots
        if 5 * buckets > 4 * len(slots):
            slots = np.full(2 * buckets, NIL, np.int32)
        self._keys = Keys(slots, **keys)
        if slots[0] == NIL and (slots == NIL).all():
            link_all(self._keys, int(self._members.state[USED_BUCKETS]))

    def _repack(self, more: int) -> None:
        """Lay all buckets out anew, without the runs that were outgrown, and with room."""
        used = int(self._members.state[USED_BUCKETS])
        live = int(self._keys.rooms[:used].sum())
        room = live + live // 4 + 2 * int(self._keys.rooms[:used].max()) + 2 * more + 64
        old = self._members
        runs = {
            name: np.zeros((room, *getattr(old, name).shape[1:]), getattr(old, name).dtype)
            for name in Members._fields[:4]
        }
        self._members = old._replace(**runs)
        move_all(self._keys, old, self._members)

    def _rank(self, events: EncodedEvents, table: HitTable) -> None:
        columns = len(self._vocabulary)
        rank(self._keys, self._members, self._store.rows, events, columns, table, self._counted)

    def _collect(
        self, events: EncodedEvents, first: int, starts: np.ndarray, ids: np.ndarray
    ) -> int:
        columns = len(self._vocabulary)
        return collect(
            self._keys, self._members, self._store.rows, events, columns, first, starts, ids,
            self._counted,
        )  # fmt: skip

    @property
    def _structure_nbytes(self) -> int:
        return sum(array.nbytes for array in (*self._keys, *self._members))

    def _check_structure(self) -> None:
        k, m = self._keys, self._members
        used, seen = int(m.state[USED_BUCKETS]), []
        for bucket in range(used):
            assert 0 <= k.sizes[bucket] <= k.rooms[bucket]
            own = m.rows[k.starts[bucket] : k.starts[bucket] + k.sizes[bucket]]
            assert (m.homes[own] == bucket).all()
            seen += own.tolist()
        assert sorted(seen) == self._store.live().tolist()
        assert sorted(k.slots[k.slots != NIL].tolist()) == list(range(1, used))
        batch = self._store.export(self._store.live())
        equal = batch.kinds == EQ
        assert k.found[1:used].sum() == equal.sum()
