"""What all indexes of Boolean expressions share: verbs, names, rows and ids.

A subclass says how rows are found: see `structure`.
"""

import itertools
import sys
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from indexes import validation
from indexes.boolean.arrays import adopt_names, canonical_arrays, named_columns
from indexes.boolean.batches import (
    Batch,
    BooleanArrays,
    compile_batch,
    require_capacity,
    require_columns,
)
from indexes.boolean.events import UNSTAMPED, EncodedEvents, Event, encode_events
from indexes.boolean.explanation import Explanation, explain_conjunctions
from indexes.boolean.predicates import Predicate, as_conjunction
from indexes.boolean.rows import RowStore
from indexes.boolean.structure import Structure
from indexes.boolean.vocabulary import Vocabulary
from indexes.hits import Hit, HitTable, empty_table, hits_of
from indexes.id_map import ABSENT

Conjunction = Sequence[Predicate]
Events = Sequence[Event] | EncodedEvents


class BooleanIndex(Structure):
    """Conjunctions of predicates by id; an id may have alternatives, of which the best counts."""

    def __init__(self) -> None:
        self._vocabulary = Vocabulary()
        self._store = RowStore()
        self._alternatives: dict[int, list[int]] = {}  # id -> its rows, where there are several
        self._counted = np.zeros(4, np.int64)

    def __len__(self) -> int:
        spare = sum(len(rows) - 1 for rows in self._alternatives.values())
        return len(self._store) - spare

    @property
    def nbytes(self) -> int:
        others = sys.getsizeof(self._alternatives) + self._counted.nbytes
        others += sum(sys.getsizeof(rows) for rows in self._alternatives.values())
        return self._store.nbytes + self._vocabulary.nbytes + self._structure_nbytes + others

    @property
    def visited(self) -> int:
        """How many subscriptions all queries so far have looked at."""
        return int(self._counted[0])

    @property
    def evaluated(self) -> int:
        """How many of them were evaluated exactly, predicate by predicate."""
        return int(self._counted[1])

    def insert(self, id: int, predicates: Conjunction) -> None:
        self.insert_many([id], [predicates])

    def insert_many(self, ids: ArrayLike, conjunctions: Sequence[Conjunction]) -> None:
        """Add new ids, all of them or, where one argument is refused, none."""
        new = self._require_new(ids)
        parsed = [as_conjunction(conjunction) for conjunction in conjunctions]
        if len(parsed) != len(new):
            raise ValueError(
                f"got {len(new)} ids, {len(parsed)} conjunctions when equal lengths were expected"
            )
        self._insert(new, parsed, np.ones(len(new), np.bool_))

    def insert_any(self, id: int, alternatives: Sequence[Conjunction]) -> None:
        """Add an id that matches when one of its conjunctions does, with the best score."""
        new = self._require_new([id])
        if isinstance(alternatives, Predicate) or not hasattr(alternatives, "__iter__"):
            raise ValueError(
                f"alternatives: got {alternatives!r} when a list of conjunctions was expected"
            )
        parsed = [as_conjunction(conjunction) for conjunction in alternatives]
        if not parsed:
            raise ValueError("alternatives: got none when at least one was expected")
        starting = np.zeros(len(parsed), np.bool_)
        starting[0] = True
        self._insert(np.repeat(new, len(parsed)), parsed, starting)

    def insert_arrays(self, arrays: BooleanArrays) -> None:
        """Add what `to_arrays` of another index gave; quicker than predicates one by one."""
        ids = validation.as_id_array(arrays.ids, distinct=False)
        starting = np.ones(len(ids), np.bool_)
        starting[1:] = ids[1:] != ids[:-1]
        self._require_new(ids[starting])
        require_columns(named_columns(arrays), self._vocabulary)
        batch = adopt_names(arrays, self._vocabulary)
        self._insert_batch(ids, batch, starting)

    def delete(self, id: int) -> None:
        self.delete_many([id])

    def delete_many(self, ids: ArrayLike) -> None:
        """Forget ids, all of them or, where one is not indexed, none."""
        known = validation.as_id_array(ids)
        firsts = self._store.find(known)
        unknown = known[firsts == ABSENT]
        if len(unknown):
            raise KeyError(f"id {unknown[0]} is not indexed; an indexed id was expected")
        rows = firsts
        if self._alternatives:
            shared = [id for id in known.tolist() if id in self._alternatives]
            more = [row for id in shared for row in self._alternatives.pop(id)[1:]]
            rows = np.concatenate((firsts, np.array(more, np.int32)))
        self._remove(rows)
        self._store.release(rows)
        if 4 * len(self._store) < self._store.capacity - 64:
            self._start_anew()

    def match(self, event: Event) -> list[int]:
        return self.match_many([event])[0]

    def match_many(self, events: Events) -> list[list[int]]:
        """The ids that match each event, ascending; one compiled call for all events."""
        starts, ids = self._matches(self.encode(events))
        return [ids[a:b].tolist() for a, b in itertools.pairwise(starts)]

    def top_k(self, event: Event, k: int) -> list[Hit]:
        k = validation.as_count("k", k)
        return hits_of(self.top_k_many([event], min(k, len(self))), 0)

    def top_k_many(self, events: Events, k: int) -> HitTable:
        """The k best matches of each event, one compiled call for all of them."""
        k = validation.as_count("k", k)
        encoded = self.encode(events)
        table = empty_table(len(encoded.starts) - 1, k)
        if k and len(self._store):
            self._rank(encoded, table)
        return table

    def encode(self, events: Events) -> EncodedEvents:
        """Events ready to be matched; encode a batch once to match it again and again."""
        if not isinstance(events, EncodedEvents):
            return encode_events(events, self._vocabulary)
        if events.stamp not in (UNSTAMPED, self._vocabulary.stamp):
            raise ValueError(
                "events: got a batch encoded for another index, or before this one was set in"
                " order after deletions, when one for its present columns was expected; encode it"
                " again"
            )
        if events.size != self._vocabulary.size:
            raise ValueError(
                f"events: got a batch encoded for {events.size} columns and strings when"
                f" {self._vocabulary.size} were expected; encode it again"
            )
        return events

    def explain(self, id: int, event: Event) -> Explanation:
        """Which predicates held, which failed, and what each adds to the score."""
        row = int(self._store.find(np.array([validation.as_id(id)]))[0])
        if row == ABSENT:
            raise KeyError(f"id {id} is not indexed; an indexed id was expected")
        encode_events([event], self._vocabulary)  # refuses what no event can have
        rows = np.array(self._alternatives.get(id, [row]), np.int32)
        return explain_conjunctions(id, self._store.export(rows), self._vocabulary, event)

    def check(self) -> None:
        """Raise `AssertionError` unless every structural invariant holds."""
        self._store.check(self._alternatives)
        for id, rows in self._alternatives.items():
            assert len(rows) > 1
            assert (self._store.rows.ids[rows] == id).all()
        self._check_structure()

    def to_arrays(self) -> BooleanArrays:
        live = self._store.live()
        # Of equal ids, alternatives, the order of insertion counts.
        if self._alternatives:
            place = np.zeros(self._store.capacity, np.int64)
            for rows in self._alternatives.values():
                place[rows] = np.arange(len(rows))
            live = live[np.lexsort((place[live], self._store.rows.ids[live]))]
        else:
            live = live[np.argsort(self._store.rows.ids[live], kind="stable")]
        return canonical_arrays(
            self._store.rows.ids[live], self._store.export(live), self._vocabulary
        )

    @classmethod
    def from_arrays(cls, arrays: BooleanArrays, **options: Any) -> Self:
        index = cls(**options)
        index.insert_arrays(arrays)
        return index

    @classmethod
    def build(cls, ids: ArrayLike, conjunctions: Sequence[Conjunction], **options: Any) -> Self:
        """All subscriptions at once, which is quicker than one after another."""
        index = cls(**options)
        index.insert_many(ids, conjunctions)
        return index

    def _require_new(self, ids: ArrayLike) -> np.ndarray:
        new = validation.as_id_array(ids)
        known = new[self._store.find(new) != ABSENT]
        if len(known):
            raise KeyError(f"id {known[0]} is already indexed; delete it first")
        return new

    def _insert(
        self, ids: np.ndarray, conjunctions: list[list[Predicate]], starting: np.ndarray
    ) -> None:
        require_capacity(conjunctions, self._vocabulary)
        self._insert_batch(ids, compile_batch(conjunctions, self._vocabulary), starting)

    def _insert_batch(self, ids: np.ndarray, batch: Batch, starting: np.ndarray) -> None:
        rows = self._store.append(ids, batch, starting)
        for i in np.flatnonzero(~starting).tolist():
            first = i - 1
            rows_of = self._alternatives.setdefault(int(ids[i]), [int(rows[first])])
            rows_of.append(int(rows[i]))
        self._place(rows)

    def _start_anew(self) -> None:
        """Most has been deleted: give the memory back, and forget names that nobody uses."""
        arrays = self.to_arrays()
        self._vocabulary, self._store = Vocabulary(), RowStore()
        self._alternatives = {}
        self._clear_structure()
        self.insert_arrays(arrays)

    def _matches(self, events: EncodedEvents) -> tuple[np.ndarray, np.ndarray]:
        starts = np.zeros(len(events.starts), np.int64)
        ids = np.empty(max(1024, 16 * len(starts)), np.int64)
        done = 0
        while len(self._store) and done < len(starts) - 1:
            done = self._collect(events, done, starts, ids)
            if done < len(starts) - 1:
                # No event has more matches than there are rows: room for one is progress.
                more = np.empty(int(starts[done]) + len(ids) + len(self._store), np.int64)
                more[: starts[done]] = ids[: starts[done]]
                ids = more
        return starts, ids
