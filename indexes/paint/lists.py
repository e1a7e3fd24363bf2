"""The lists of many subscribers, kept right by the messages of a server.

A list is up to k rows of the table of object states, best first: by y, then x, then id.  A message
changes the lists whose ranges lie in its rectangle.  At the end of a group of messages, which is
what one change of an object (or one batch) has brought, every list that shows something else than
before gives one record: what it is now, and what has changed.

    before      [o-3 0.2] [o-7 0.5] [o-9 0.8]       k = 3
    messages    o-3 is gone; o-9 has y = 0.4; o-5 comes with y = 0.9
    now         [o-9 0.4] [o-7 0.5] [o-5 0.9]
    changes     leave o-3 from 0 (removed); move o-9 from 2 to 0; enter o-5 to 2

`as_of`: groups have numbers that ascend, and a list that is as of one ignores those up to it.  So
messages may come again: `applied` is the greatest number so far, and only lists that were computed
before that and came later, the late ones, take a group that is not above it.
"""

from collections.abc import Sequence
from math import inf
from typing import Any, NamedTuple, Self

import numpy as np
from numba import njit

from indexes.id_map import find_many
from indexes.kernels.decorators import bare, fused, inner
from indexes.paint.named import ObjectStates, Painted, joined
from indexes.paint.subscriptions import SubscriptionIndex, rows_inside
from indexes.validation import as_count, as_id_array

__all__ = [
    "DISPLACED", "ENTER", "LEAVE", "LEFT_RANGE", "MOVE", "REMOVED", "UPDATE", "Changed", "Counts",
    "ListArrays", "SubscriberLists",
]  # fmt: skip

LEAVE, ENTER, MOVE, UPDATE = range(4)  # operations
DISPLACED, REMOVED, LEFT_RANGE = range(3)  # why an object leaves
# Fields of `state`; GONE and PLACED are stamps, the last two what `take_counts` gives.
APPLIED, LATE, TOUCHED, GONE, PLACED, RECEIVED, CHANGED = range(7)

_RECORDS, _ENTRIES, _CHANGES = range(3)  # fields of `size`


class _States(NamedTuple):
    """Object states; rows never change."""

    x: np.ndarray  # f8[n]
    y: np.ndarray  # f8[n]
    handle: np.ndarray  # i4[n]  which object


class _Handles(NamedTuple):
    """By object; a value counts where its stamp is the current one."""

    gone_to: np.ndarray  # f8[h]  nan: removed
    gone_stamp: np.ndarray  # i8[h]
    place: np.ndarray  # i4[h]  in the list before
    place_stamp: np.ndarray  # i8[h]


class _Ids(NamedTuple):
    """The ids of objects, as bytes: which of two with the same x and y is better."""

    start: np.ndarray  # i8[h]
    length: np.ndarray  # i8[h]
    arena: np.ndarray  # u1[...]


class _Lists(NamedTuple):
    """By row of the subscription index."""

    entries: np.ndarray  # i4[rows, k]  rows of states
    length: np.ndarray  # i4[rows]
    own_k: np.ndarray  # i4[rows]  how many of them are shown
    as_of: np.ndarray  # i8[rows]
    late: np.ndarray  # b1[rows]
    seq: np.ndarray  # i8[rows]  records so far
    mark: np.ndarray  # i4[rows]  place in `rows` below, if that names the row
    # Lists that messages have changed since the last record, as they were then.
    rows: np.ndarray  # i4[t]
    before: np.ndarray  # i4[t, k]
    before_count: np.ndarray  # i4[t]
    late_rows: np.ndarray  # i4[l]  all late ones, and perhaps others
    state: np.ndarray  # i8[7]


class _Output(NamedTuple):
    row: np.ndarray  # i4[r]
    seq: np.ndarray  # i8[r]
    number: np.ndarray  # i8[r]
    list_count: np.ndarray  # i4[r]
    change_count: np.ndarray  # i4[r]
    entries: np.ndarray  # i4[e]
    changes: np.ndarray  # i4[c, 5]  operation, state, from, to, why
    size: np.ndarray  # i8[3]


class Changed(NamedTuple):
    """Records in the order of their groups."""

    ids: np.ndarray  # i8[r]
    seq: np.ndarray  # i8[r]
    number: np.ndarray  # i8[r]  of the last group that is in
    list_count: np.ndarray  # i4[r]
    change_count: np.ndarray  # i4[r]
    entries: np.ndarray  # i4[sum of list_count]  rows of states
    changes: np.ndarray  # i4[sum of change_count, 5]  operation, state, from, to, why


class Counts(NamedTuple):
    received: int  # messages that lists have taken in, once for each list
    changed: int  # records of lists that messages have changed


class ListArrays(NamedTuple):
    settings: np.ndarray  # i8[2]  k, applied
    ids: np.ndarray  # i8[n]  ascending
    lows: np.ndarray  # f8[n]
    highs: np.ndarray  # f8[n]
    own_k: np.ndarray  # i4[n]
    as_of: np.ndarray  # i8[n]
    late: np.ndarray  # b1[n]
    seq: np.ndarray  # i8[n]
    counts: np.ndarray  # i4[n]
    entries: np.ndarray  # i4[sum of counts]
    x: np.ndarray  # f8[s]  of the object states
    y: np.ndarray  # f8[s]
    handle: np.ndarray  # i4[s]
    id_lengths: np.ndarray  # i4[h]  of the objects
    id_data: np.ndarray  # u1[...]


class SubscriberLists:
    """`least` is the least capacity of what grows."""

    def __init__(self, k: int, least: int = 64) -> None:
        self.k = as_count("k", k, least=1)
        self._least = as_count("least", least, least=1)
        self.index = SubscriptionIndex(capacity=least)
        self.object_ids: list[bytes] = []  # by handle
        self._handle_of: dict[bytes, int] = {}
        self._states = _new_states(self._least)
        self._used_states = 0
        self._live_states = 0  # after they were last looked through
        self.rewritten = 0  # how often the rows of states got other numbers
        self._handles = _new_handles(self._least)
        self._ids = _new_ids(self._least)
        self._lists = _new_lists(0, self.k)
        self._output = _new_output(self._least, self.k)
        self._fit_rows()

    def __len__(self) -> int:
        return len(self.index)

    def __contains__(self, id: int) -> bool:
        return id in self.index

    @property
    def applied(self) -> int:
        """The greatest number of a group so far; -1: none."""
        return int(self._lists.state[APPLIED])

    @property
    def nbytes(self) -> int:
        parts = (*self._states, *self._ids, *self._handles, *self._lists, *self._output)
        return self.index.nbytes + sum(array.nbytes for array in parts) + 150 * len(self.object_ids)

    @property
    def states(self) -> _States:
        """Object states by row; those that no list has any more go at the next `apply`."""
        return self._states

    def subscribe_many(
        self,
        ids: Any,
        lows: Any,
        highs: Any,
        own_ks: Any,
        as_of: int,
        counts: Any,
        entries: np.ndarray,
        objects: ObjectStates,
        seqs: Any = None,
    ) -> None:
        """New lists as of a group: `entries` are rows of `objects`, `counts[i]` for each in turn.

        The first record of a list is its caller's affair, and counted: `seqs`, or 1.
        """
        new = as_id_array(ids)
        states = self.add_states(objects)[entries] if len(entries) else np.empty(0, np.int32)
        self.index.insert_many(new, lows, highs)
        self._fit_rows()
        rows = self._rows_of(new)
        lists = self._lists
        lists.own_k[rows], lists.as_of[rows] = own_ks, as_of
        lists.seq[rows] = 1 if seqs is None else seqs
        lists.mark[rows] = 0
        lists.late[rows] = False
        if as_of < self.applied:
            self._are_late(rows)
        _fill(self._lists, rows, np.asarray(counts, np.int64), states)

    def _are_late(self, rows: np.ndarray) -> None:
        known = self._lists.late_rows[: self._lists.state[LATE]]
        self._lists = self._lists._replace(late_rows=np.append(known, rows).astype(np.int32))
        self._lists.late[rows] = True
        self._lists.state[LATE] += len(rows)

    def unsubscribe_many(self, ids: Any) -> None:
        gone = as_id_array(ids)
        rows = self._rows_of(gone)
        if (rows < 0).any():
            raise KeyError(f"id {gone[rows < 0][0]} is not subscribed; a known one was expected")
        lists = self._lists
        lists.late[rows] = False
        # What was noted of one that is gone must not be taken for its successor's.
        touched = lists.rows[: lists.state[TOUCHED]]
        touched[np.isin(touched, rows)] = -1
        self.index.delete_many(gone)

    def list_of(self, id: int) -> list[tuple[bytes, float, float]]:
        """Id, x and y of the objects that a list has, those that it does not show among them."""
        row = int(self._rows_of(as_id_array([id]))[0])
        if row < 0:
            raise KeyError(f"id {id} is not subscribed; a known one was expected")
        return self.named(self._lists.entries[row, : self._lists.length[row]])

    def entries_of(self, id: int) -> np.ndarray:
        """The rows of states of a list, those that it does not show among them."""
        row = int(self._rows_of(as_id_array([id]))[0])
        return self._lists.entries[row, : self._lists.length[row]].copy()

    def take_counts(self) -> Counts:
        """What messages have done since this was asked last."""
        counts = Counts(*self._lists.state[[RECEIVED, CHANGED]].tolist())
        self._lists.state[[RECEIVED, CHANGED]] = 0
        return counts

    def count_on(self, id: int, seq: int) -> None:
        """The list has had so many records."""
        self._lists.seq[self._rows_of(as_id_array([id]))] = seq

    def tell(self, id: int, number: int) -> Changed:
        """A record of a list, whatever it was before."""
        rows = self._rows_of(as_id_array([id]))
        self._lists.seq[rows] += 1
        held = self.entries_of(id)[: int(self._lists.own_k[rows[0]])]
        count = np.array([len(held)], np.int32)
        seq, none = self._lists.seq[rows].copy(), np.empty((0, 5), np.int32)
        return Changed(
            as_id_array([id]), seq, np.array([number]), count, np.zeros(1, np.int32), held, none
        )

    def set_list(self, id: int, objects: ObjectStates, seq: int) -> None:
        """What a list was at its last record, which had this number."""
        rows = self._rows_of(as_id_array([id]))
        states = self.add_states(objects)[: self.k]
        _fill(self._lists, rows, np.array([len(states)]), states)
        self._lists.seq[rows] = seq

    def named(self, entries: np.ndarray) -> list[tuple[bytes, float, float]]:
        """Id, x and y of object states."""
        s = self._states
        columns = (s.handle[entries].tolist(), s.x[entries].tolist(), s.y[entries].tolist())
        return [(self.object_ids[h], x, y) for h, x, y in zip(*columns, strict=True)]

    def seq_of(self, id: int) -> int:
        return int(self._lists.seq[self._rows_of(as_id_array([id]))[0]])

    def apply(self, painted: Painted, numbers: Any, records: bool = True) -> Changed:
        """Apply groups of messages, of which group i has the number `numbers[i]`.

        Without `records` what is different is noted, and given with the next ones: the net effect.
        Why an object has left is then what was so after one of these groups, not always the last.
        """
        self._forget_states()
        rows = self.add_states(painted.states)
        named = np.asarray(numbers, np.int64)
        gone = np.array([self._handle_of.get(id, -1) for id in painted.gone_ids], np.int32)
        held = gone >= 0
        low, high = painted.outer_low, painted.outer_high
        messages = (
            painted.group,
            rows[painted.state] if len(painted.state) else np.empty(0, np.int32),
            np.where(np.isinf(low), -inf, np.nextafter(low, inf)),
            painted.inner_low,
            painted.inner_high,
            np.where(np.isinf(high), inf, np.nextafter(high, -inf)),
        )
        self._output.size[:] = 0
        self._lists, self._output = _apply(
            self.index.arrays,
            self._lists,
            self._states,
            self._ids,
            self._handles,
            self._output,
            named,
            messages,
            (painted.gone_group[held], gone[held], painted.gone_to[held]),
            records,
        )
        return self._changed()

    def note_gone(self, ids: Sequence[bytes], to: np.ndarray) -> None:
        """Where objects are now, for records that say why they left; nan: removed."""
        self._lists.state[GONE] += 1
        handles = np.array([self._handle_of.get(id, -1) for id in ids], np.int64)
        known = handles >= 0
        self._handles.gone_to[handles[known]] = np.asarray(to, np.float64)[known]
        self._handles.gone_stamp[handles[known]] = self._lists.state[GONE]

    def replace_many(
        self, ids: Any, counts: Any, entries: np.ndarray, objects: ObjectStates, number: int
    ) -> Changed:
        """Other lists, computed anew as of a group, and the records of those that differ."""
        states = self.add_states(objects)[entries] if len(entries) else np.empty(0, np.int32)
        rows = self._rows_of(as_id_array(ids))
        self._lists = _touch(self._lists, rows)
        _fill(self._lists, rows, np.asarray(counts, np.int64), states)
        self._lists.as_of[rows] = number
        self._lists.state[APPLIED] = max(self.applied, number)
        changed = self.flush()
        self._lists.state[CHANGED] -= len(changed.ids)  # no message has changed them
        return changed

    def flush(self) -> Changed:
        """The records that were put off."""
        return self.apply(joined([], []), [])

    def _changed(self) -> Changed:
        out = self._output
        records, entries, changes = out.size.tolist()
        return Changed(
            self.index.arrays.ids[out.row[:records]],
            out.seq[:records].copy(),
            out.number[:records].copy(),
            out.list_count[:records].copy(),
            out.change_count[:records].copy(),
            out.entries[:entries].copy(),
            out.changes[:changes].copy(),
        )

    def add_states(self, objects: ObjectStates) -> np.ndarray:
        """The new rows of these object states."""
        count, first = len(objects.ids), self._used_states
        if first + count > len(self._states.x):
            self._states = _grown(self._states, first + count, first)
        handles = [self._handle_of.setdefault(id, len(self._handle_of)) for id in objects.ids]
        self._name_handles(objects.ids, handles)
        stop = self._used_states = first + count
        for column, given in zip(self._states, (objects.x, objects.y, handles), strict=True):
            column[first:stop] = given
        return np.arange(first, stop, dtype=np.int32)

    def _name_handles(self, ids: Sequence[bytes], handles: Sequence[int]) -> None:
        """Note the ids of objects that are new."""
        had = len(self.object_ids)
        for id, handle in zip(ids, handles, strict=True):
            if handle == len(self.object_ids):
                self.object_ids.append(id)
        if len(self.object_ids) > had:
            self._ids = _with_ids(self._ids, self.object_ids[had:], had)
            if len(self.object_ids) > len(self._handles.place):
                self._handles = _grown(
                    self._handles, len(self.object_ids), len(self._handles.place), zeros=True
                )

    def _forget_states(self) -> None:
        """Give the rows of states that lists hold new numbers, once most are held by none."""
        enough = 2 * self._live_states + 16 * self._least
        if self._used_states < enough or self._lists.state[TOUCHED]:
            return
        live = np.zeros(self._used_states, np.bool_)
        rows = self._rows_of(self.index.to_arrays().ids)
        _mark_states(self._lists, rows, live)
        number = np.cumsum(live) - 1
        _renumber(self._lists, rows, number)
        kept = [column[: self._used_states][live] for column in self._states]
        used, handles = np.unique(kept[2], return_inverse=True)
        ids = [self.object_ids[handle] for handle in used.tolist()]
        kept[2] = handles.astype(np.int32)
        self.object_ids = ids
        self._handle_of = {id: handle for handle, id in enumerate(ids)}
        self._handles = _new_handles(max(self._least, len(ids)))
        self._ids = _with_ids(_new_ids(self._least), ids, 0)
        self._states = _grown(_States(*kept), max(self._least, 2 * len(kept[0])), len(kept[0]))
        self._used_states = self._live_states = len(kept[0])
        self.rewritten += 1

    def _rows_of(self, ids: np.ndarray) -> np.ndarray:
        s = self.index.arrays
        return find_many(s.id_slots, s.ids, ids)

    def _fit_rows(self) -> None:
        capacity, had = len(self.index.arrays.ids), len(self._lists.length)
        if capacity > had:
            grown = _new_lists(capacity, self.k)
            for name in ("entries", "length", "own_k", "as_of", "late", "seq", "mark"):
                getattr(grown, name)[:had] = getattr(self._lists, name)
            kept = ("rows", "before", "before_count", "late_rows", "state")
            old = {name: getattr(self._lists, name) for name in kept} if had else {}
            self._lists = grown._replace(**old)

    def to_arrays(self) -> ListArrays:
        """Nothing may be put off."""
        if self._lists.state[TOUCHED]:
            raise ValueError("got lists with records that are put off, expected `flush` before")
        saved = self.index.to_arrays()
        rows, used = self._rows_of(saved.ids), self._used_states
        lists = self._lists
        counts = lists.length[rows]
        held = np.arange(self.k) < counts[:, None]
        data = b"".join(self.object_ids)
        states = _States(*(column[:used].copy() for column in self._states))
        return ListArrays(
            np.array([self.k, self.applied]),
            saved.ids,
            saved.lows,
            saved.highs,
            lists.own_k[rows],
            lists.as_of[rows],
            lists.late[rows],
            lists.seq[rows],
            counts,
            lists.entries[rows][held],
            states.x,
            states.y,
            states.handle,
            np.array([len(id) for id in self.object_ids], np.int32),
            np.frombuffer(data, np.uint8),
        )

    @classmethod
    def from_arrays(cls, arrays: ListArrays, least: int = 64) -> Self:
        k, applied = arrays.settings.tolist()
        lists = cls(k, least)
        lists._lists.state[APPLIED] = applied
        ids = _cut(arrays.id_data, arrays.id_lengths)
        objects = ObjectStates(
            [ids[handle] for handle in arrays.handle.tolist()], arrays.x, arrays.y
        )
        lists.subscribe_many(
            arrays.ids,
            arrays.lows,
            arrays.highs,
            arrays.own_k,
            applied,
            arrays.counts,
            arrays.entries,
            objects,
            arrays.seq,
        )
        rows = lists._rows_of(arrays.ids)
        lists._lists.as_of[rows] = arrays.as_of
        lists._are_late(rows[arrays.late])
        return lists

    def check(self) -> None:
        """Raise `AssertionError` unless every structural invariant holds."""
        self.index.check()
        assert list(self._handle_of.items()) == [(id, h) for h, id in enumerate(self.object_ids)]
        lists, s = self._lists, self._states
        rows = self._rows_of(self.index.to_arrays().ids)
        assert len(lists.length) >= len(self.index.arrays.ids)
        assert set(rows[lists.late[rows]].tolist()) <= set(
            lists.late_rows[: lists.state[LATE]].tolist()
        )
        for row in rows.tolist():
            held = lists.entries[row, : lists.length[row]]
            assert 0 <= lists.length[row] <= self.k
            assert 1 <= lists.own_k[row] <= self.k
            assert lists.seq[row] >= 1
            assert (held < self._used_states).all()
            assert np.isfinite(s.y[held]).all()
            keys = [(y, x, id) for id, x, y in self.named(held)]
            assert keys == sorted(keys)
            assert len(set(s.handle[held].tolist())) == len(held), "each object once"


def _cut(data: np.ndarray, lengths: np.ndarray) -> list[bytes]:
    ends, whole = np.cumsum(lengths), data.tobytes()
    starts = ends - lengths
    return [whole[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]


def _new_states(capacity: int) -> _States:
    x, y = np.empty((2, capacity))
    return _States(x, y, np.empty(capacity, np.int32))


def _new_handles(capacity: int) -> _Handles:
    return _Handles(
        np.empty(capacity),
        np.zeros(capacity, np.int64),
        np.empty(capacity, np.int32),
        np.zeros(capacity, np.int64),
    )


def _new_ids(capacity: int) -> _Ids:
    return _Ids(
        np.zeros(capacity, np.int64), np.zeros(capacity, np.int64), np.empty(capacity, np.uint8)
    )


def _with_ids(ids: _Ids, new: Sequence[bytes], had: int) -> _Ids:
    """The same with those of further objects, behind the `had` that are there."""
    used = int(ids.start[had - 1] + ids.length[had - 1]) if had else 0
    data = np.frombuffer(b"".join(new), np.uint8)
    start, length, arena = ids
    if had + len(new) > len(start):
        capacity = 2 * (had + len(new))
        start, length = np.resize(start, capacity), np.resize(length, capacity)
    if used + len(data) > len(arena):
        arena = np.resize(arena, 2 * (used + len(data)))
    sizes = np.array([len(id) for id in new], np.int64)
    length[had : had + len(new)] = sizes
    start[had : had + len(new)] = used + np.cumsum(sizes) - sizes
    arena[used : used + len(data)] = data
    return _Ids(start, length, arena)


def _new_lists(capacity: int, k: int) -> _Lists:
    return _Lists(
        entries=np.empty((capacity, k), np.int32),
        length=np.zeros(capacity, np.int32),
        own_k=np.empty(capacity, np.int32),
        as_of=np.empty(capacity, np.int64),
        late=np.zeros(capacity, np.bool_),
        seq=np.empty(capacity, np.int64),
        mark=np.zeros(capacity, np.int32),
        rows=np.empty(1, np.int32),
        before=np.empty((1, k), np.int32),
        before_count=np.empty(1, np.int32),
        late_rows=np.empty(1, np.int32),
        state=np.array([-1, 0, 0, 1, 0, 0, 0]),  # stamps of handles begin with 0
    )


def _new_output(records: int, k: int) -> _Output:
    return _Output(
        row=np.empty(records, np.int32),
        seq=np.empty(records, np.int64),
        number=np.empty(records, np.int64),
        list_count=np.empty(records, np.int32),
        change_count=np.empty(records, np.int32),
        entries=np.empty(records * k, np.int32),
        changes=np.empty((records * k, 5), np.int32),
        size=np.zeros(3, np.int64),
    )


def _grown(columns: Any, least: int, used: int, zeros: bool = False) -> Any:
    """The same columns with half as much room again, and for `least` at least."""
    had = len(columns[0])
    capacity = max(least, had + had // 2)
    make = np.zeros if zeros else np.empty
    new = [make((capacity, *column.shape[1:]), column.dtype) for column in columns]
    for column, old in zip(new, columns, strict=True):
        column[:used] = old[:used]
    return type(columns)(*new)


@njit(cache=True)
def _fill(lists, rows, counts, states):
    at = 0
    for i in range(len(rows)):
        lists.length[rows[i]] = counts[i]
        for j in range(counts[i]):
            lists.entries[rows[i], j] = states[at]
            at += 1


@njit(cache=True)
def _touch(lists, rows):
    """Note what the lists are, for the next records."""
    for row in rows:
        lists = _note(lists, row)
    return lists


@njit(cache=True)
def _mark_states(lists, rows, live):
    for row in rows:
        for j in range(lists.length[row]):
            live[lists.entries[row, j]] = True


@njit(cache=True)
def _renumber(lists, rows, number):
    for row in rows:
        for j in range(lists.length[row]):
            lists.entries[row, j] = number[lists.entries[row, j]]


@njit(cache=True, nogil=True)
def _apply(s, lists, states, ids, handles, out, numbers, messages, gone, records):
    """Groups one after the other; returns the lists and the output, whose arrays may have grown."""
    group, state, low_min, low_max, high_min, high_max = messages
    gone_group, gone_handle, gone_to = gone
    at, gone_at = 0, 0
    if len(numbers) == 0 and records:
        out = _write_records(s, lists, states, handles, out, -1)
    for g in range(len(numbers)):
        number = numbers[g]
        if lists.state[TOUCHED] == 0:  # nobody will ask any more why an object left before
            lists.state[GONE] += 1
        wanted = number > lists.state[APPLIED] or lists.state[LATE] > 0
        while gone_at < len(gone_group) and gone_group[gone_at] == g:
            if wanted:
                handles.gone_to[gone_handle[gone_at]] = gone_to[gone_at]
                handles.gone_stamp[gone_handle[gone_at]] = lists.state[GONE]
            gone_at += 1
        while at < len(group) and group[at] == g:
            if wanted and low_min[at] <= low_max[at] and high_min[at] <= high_max[at]:
                lists = _tell(
                    s, lists, states, ids, number, state[at],
                    low_min[at], low_max[at], high_min[at], high_max[at],
                )  # fmt: skip
            at += 1
        if records:
            out = _write_records(s, lists, states, handles, out, number)
        if lists.state[LATE] > 0:
            _catch_up(lists, number)
        lists.state[APPLIED] = max(lists.state[APPLIED], number)
    return lists, out


@inner
def _tell(s, lists, states, ids, number, state, low_min, low_max, high_min, high_max):
    """Apply a message to the lists in its rectangle."""
    handle = states.handle[state]
    for row in rows_inside(s, low_min, low_max, high_min, high_max):
        if number <= lists.as_of[row] or (number <= lists.state[APPLIED] and not lists.late[row]):
            continue
        lists.state[RECEIVED] += 1
        lists = _note(lists, row)
        _change_list(lists, states, ids, row, handle, state)
    return lists


@inner
def _note(lists, row):
    """Keep a list as it was at its last record."""
    mark, touched = lists.mark[row], lists.state[TOUCHED]
    if mark < touched and lists.rows[mark] == row:
        return lists
    if touched == len(lists.rows):
        lists = _more_touched(lists)
    lists.rows[touched] = row
    lists.before_count[touched] = lists.length[row]
    for j in range(lists.length[row]):
        lists.before[touched, j] = lists.entries[row, j]
    lists.mark[row] = touched
    lists.state[TOUCHED] += 1
    return lists


@inner
def _more_touched(lists):
    had, k = lists.before.shape
    rows, before = np.empty(2 * had, np.int32), np.empty((2 * had, k), np.int32)
    count = np.empty(2 * had, np.int32)
    rows[:had], before[:had], count[:had] = lists.rows, lists.before, lists.before_count
    return _Lists(
        lists.entries, lists.length, lists.own_k, lists.as_of, lists.late, lists.seq, lists.mark,
        rows, before, count, lists.late_rows, lists.state,
    )  # fmt: skip


@bare
def _change_list(lists, states, ids, row, handle, state):
    """Take the object out, if the list has it, and in again where it belongs; the worst may go."""
    k, count = lists.entries.shape[1], lists.length[row]
    at = 0
    while at < count and states.handle[lists.entries[row, at]] != handle:
        at += 1
    if at < count:
        count -= 1
        for j in range(at, count):
            lists.entries[row, j] = lists.entries[row, j + 1]
    y = states.y[state]
    if y < np.inf:
        at = count
        while at > 0 and _is_behind(states, ids, lists.entries[row, at - 1], state):
            at -= 1
        if at < k:
            last = count if count < k else k - 1
            for j in range(last, at, -1):
                lists.entries[row, j] = lists.entries[row, j - 1]
            lists.entries[row, at] = state
            count = last + 1
    lists.length[row] = count


@bare
def _is_behind(states, ids, entry, state):
    """Whether the object of an entry comes after that of a state: by y, then x, then id."""
    if states.y[entry] != states.y[state]:
        return states.y[entry] > states.y[state]
    if states.x[entry] != states.x[state]:
        return states.x[entry] > states.x[state]
    one, other = states.handle[entry], states.handle[state]
    for i in range(min(ids.length[one], ids.length[other])):
        a, b = ids.arena[ids.start[one] + i], ids.arena[ids.start[other] + i]
        if a != b:
            return a > b
    return ids.length[one] > ids.length[other]


@bare
def _catch_up(lists, number):
    """Late lists are as of this group, and late no more once they have what the others have."""
    done = number >= lists.state[APPLIED]
    for i in range(lists.state[LATE]):
        row = lists.late_rows[i]
        if lists.late[row]:
            lists.as_of[row] = max(lists.as_of[row], number)
            lists.late[row] = not done
    if done:
        lists.state[LATE] = 0


@inner
def _write_records(s, lists, states, handles, out, number):
    for t in range(lists.state[TOUCHED]):
        row = lists.rows[t]
        if row < 0:
            continue
        old = min(lists.before_count[t], lists.own_k[row])
        new = min(lists.length[row], lists.own_k[row])
        if not _is_same(lists, states, t, row, old, new):
            out = _more_output(out, old + new)
            # A group that comes again may bring what was put off.
            known = lists.as_of[row] if lists.late[row] else lists.state[APPLIED]
            at = max(number, known)
            _write_record(s, lists, states, handles, out, at, t, row, old, new)
    lists.state[TOUCHED] = 0
    return out


@bare
def _is_same(lists, states, t, row, old, new):
    if old != new:
        return False
    for j in range(new):  # noqa: SIM110 (compiled code has no generators)
        if not _is_equal(states, lists.before[t, j], lists.entries[row, j]):
            return False
    return True


@fused
def _is_equal(states, one, other):
    """Whether two states are of one object, and say the same."""
    return one == other or (
        states.handle[one] == states.handle[other]
        and states.x[one] == states.x[other]
        and states.y[one] == states.y[other]
    )


@inner
def _more_output(out, wanted):
    records, entries, changes = out.size[_RECORDS], out.size[_ENTRIES], out.size[_CHANGES]
    if (
        records < len(out.row)
        and entries + wanted <= len(out.entries)
        and changes + wanted <= len(out.changes)
    ):
        return out
    most, more = 2 * len(out.row), 2 * len(out.entries) + wanted
    row, seq, number = np.empty(most, np.int32), np.empty(most, np.int64), np.empty(most, np.int64)
    list_count, change_count = np.empty(most, np.int32), np.empty(most, np.int32)
    row[:records], seq[:records], number[:records] = (
        out.row[:records], out.seq[:records], out.number[:records],
    )  # fmt: skip
    list_count[:records] = out.list_count[:records]
    change_count[:records] = out.change_count[:records]
    all_entries = np.empty(more, np.int32)
    all_entries[:entries] = out.entries[:entries]
    all_changes = np.empty((2 * len(out.changes) + wanted, 5), np.int32)
    all_changes[:changes] = out.changes[:changes]
    return _Output(row, seq, number, list_count, change_count, all_entries, all_changes, out.size)


@bare
def _write_record(s, lists, states, handles, out, number, t, row, old, new):
    """The list as it is, and what takes the one before to it."""
    record, entry = out.size[_RECORDS], out.size[_ENTRIES]
    first_change = out.size[_CHANGES]
    lists.seq[row] += 1
    lists.state[PLACED] += 1
    stamp = lists.state[PLACED]
    for j in range(new):
        out.entries[entry + j] = lists.entries[row, j]
        handle = states.handle[lists.entries[row, j]]
        handles.place[handle] = j
        handles.place_stamp[handle] = stamp
    for i in range(old):
        held = lists.before[t, i]
        if handles.place_stamp[states.handle[held]] != stamp:
            _write_change(
                out, LEAVE, held, i, -1, _why(s, lists, handles, row, states.handle[held])
            )
    lists.state[PLACED] += 1
    stamp = lists.state[PLACED]
    for i in range(old):
        handle = states.handle[lists.before[t, i]]
        handles.place[handle] = i
        handles.place_stamp[handle] = stamp
    # Those that are as they were keep their order; of the others, those that fit between.
    behind = -1  # the last place before of those that stay
    for j in range(new):
        held = lists.entries[row, j]
        handle = states.handle[held]
        if handles.place_stamp[handle] != stamp:
            _write_change(out, ENTER, held, -1, j, 0)
            continue
        i = handles.place[handle]
        if _is_equal(states, lists.before[t, i], held):
            behind = max(behind, i)
        elif i > behind and not _passes_one(lists, states, handles, stamp, t, row, i, j, new):
            _write_change(out, UPDATE, held, -1, j, 0)
            behind = i
        else:
            _write_change(out, MOVE, held, i, j, 0)
    out.row[record], out.seq[record], out.number[record] = row, lists.seq[row], number
    out.list_count[record] = new
    out.change_count[record] = out.size[_CHANGES] - first_change
    out.size[_RECORDS] += 1
    out.size[_ENTRIES] += new
    lists.state[CHANGED] += 1


@bare
def _passes_one(lists, states, handles, stamp, t, row, i, j, new):
    """Whether an unchanged object behind place j of the list was before place i."""
    for later in range(j + 1, new):
        held = lists.entries[row, later]
        handle = states.handle[held]
        i_later = handles.place[handle] if handles.place_stamp[handle] == stamp else i
        if i_later < i and _is_equal(states, lists.before[t, i_later], held):
            return True
    return False


@bare
def _write_change(out, operation, state, old, new, why):
    change = out.changes[out.size[_CHANGES]]
    change[0], change[1], change[2], change[3], change[4] = operation, state, old, new, why
    out.size[_CHANGES] += 1


@bare
def _why(s, lists, handles, row, handle):
    """Why an object has left."""
    if handles.gone_stamp[handle] != lists.state[GONE]:
        return DISPLACED
    to = handles.gone_to[handle]
    if np.isnan(to):
        return REMOVED
    bucket, place = s.place[row, 0], s.place[row, 1]
    inside = s.points[bucket, 0, place] <= to <= s.points[bucket, 1, place]
    return DISPLACED if inside else LEFT_RANGE
