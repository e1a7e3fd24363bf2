"""`PlacedIndex`: subscriptions of places, words and conditions, and the best k for each event.

An event goes through three sieves, each in one compiled call for all events:

    the filter       boxes around areas that meet the event's box, and all words that are wanted
    the intervals    of the attributes
    the conditions   the area itself, words of which one or none may be there, phrases, and what a
                     distance leaves of a score

The k best of what is left are its answer.

Its subscriptions are rows.  An area across the antimeridian has two boxes in the filter: the box
`place` of a row is its entry 2 * row + place.
"""

from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numba import njit

from indexes import validation
from indexes.boxes import MOST_ATTRIBUTES, SubscriptionBoxes
from indexes.forking import forked
from indexes.hits import HitTable, empty_table, offer, sort_best_first
from indexes.id_map import ABSENT, IdMap
from indexes.kernels import NIL
from indexes.spatial_text.areas import CIRCLE, hulls, split_boxes
from indexes.spatial_text.conditions import Areas, Conditions, Words
from indexes.spatial_text.conditions import Events as Asked
from indexes.spatial_text.l_filter import LFilter
from indexes.spatial_text.records import Columns as RecordColumns
from indexes.spatial_text.tokens import TokenDictionary, pack_strings, unpack_strings

__all__ = [
    "MOST_PARTS",
    "PlacedArrays",
    "PlacedIndex",
    "axes_of_places",
    "boxes_of_arrays",
    "boxes_of_columns",
]

MOST_PARTS = 2  # of an area
_SOON_STALE = 0.25  # of the subscriptions have changed
_FEW_CHANGES = 20_000  # are set in order in no time
# What the boxes of routes are about: the sides of an area's box.  An event's box meets it where its
# west is not beyond the area's east, and so on; then the attributes.
SIDES = ("east", "west", "north", "south")


class Events(Protocol):
    """The words of event i are those of sequence[starts[i] : starts[i + 1]], in order."""

    starts: np.ndarray  # i8[m + 1]
    boxes: np.ndarray  # f8[m, 4]  on the sphere west > east crosses the antimeridian
    values: np.ndarray  # f8[m, d]  of the attributes, NaN where an event has none
    sequence: np.ndarray  # i4[w]  positions in `vocabulary`
    vocabulary: list[str]


class PlacedArrays(NamedTuple):
    """The subscriptions by id, words by alphabet: equal content gives equal bytes."""

    ids: np.ndarray  # i8[n]  ascending
    scores: np.ndarray  # f8[n]
    lows: np.ndarray  # f8[n, d]
    highs: np.ndarray  # f8[n, d]
    decays: np.ndarray  # f8[n, 4]
    tokens: np.ndarray  # i4[t]  that events must have: places in the list of words, ascending
    token_starts: np.ndarray  # i8[n + 1]
    words: np.ndarray  # i4[w]  of each the words of `any`, of `none` and of the phrase
    word_starts: np.ndarray  # i8[3 n + 1]
    letters: np.ndarray  # u1[...]  the list of words in UTF-8
    letter_starts: np.ndarray  # i8[...]
    shapes: np.ndarray  # i1[n]  and the following: see `conditions.Areas`
    places: np.ndarray  # f8[n, 4]
    corners: np.ndarray  # f8[c, 2]
    rings: np.ndarray  # i8[r + 1]
    pieces: np.ndarray  # i8[p + 1]
    polygons: np.ndarray  # i8[q + 1]


class Columns(NamedTuple):
    """By row, with room behind."""

    ids: np.ndarray  # i8[rows]
    scores: np.ndarray  # f8[rows]
    lows: np.ndarray  # f8[rows, d]  NaN where an attribute is not constrained
    highs: np.ndarray  # f8[rows, d]
    boxes: np.ndarray  # u1[rows]  how many entries of the filter are its


class PlacedIndex:
    """The filter sets itself in order once half of it has changed, which holds answers up; whoever
    looks at `is_stale` can have a fork do it before.
    """

    delta_share, unplaced = 0.0, 0
    is_worn = rebases_itself = False

    def __init__(
        self, attributes: Sequence[str] = (), space: str = "sphere", spare: int = 8
    ) -> None:
        """A column that grows gets at least so much room to spare."""
        self.attributes = tuple(attributes)
        self._is_sphere, self._spare = space == "sphere", spare
        self._filter = LFilter()
        self._conditions = Conditions(self._is_sphere)
        self._words = TokenDictionary()  # of conditions: those of the filter are counted apart
        self._row_of = IdMap(np.int32)
        self._columns = _allocate(0, len(self.attributes))
        self._free = np.empty(0, np.int32)  # rows, of those that there are columns of
        self._in_order, self._changed = 0, 0  # subscriptions when the filter was, and since then

    def __len__(self) -> int:
        return len(self._row_of)

    @property
    def nbytes(self) -> int:
        columns = sum(column.nbytes for column in (*self._columns, self._free))
        parts = (self._filter, self._conditions, self._words, self._row_of)
        return columns + sum(part.nbytes for part in parts)

    def insert_many(
        self,
        ids: np.ndarray,
        areas: np.ndarray,
        words: np.ndarray,
        scores: np.ndarray,
        decays: np.ndarray,
        lows: np.ndarray,
        highs: np.ndarray,
    ) -> None:
        """Add new ids, in the columns that the contract of subscriptions has."""
        new, wanted = validation.as_id_array(ids), words.tolist()
        self._require_new(new)
        tokens, starts = self._filter.dictionary.ids_of([one.all for one in wanted])
        held = _held(wanted, self._words)
        self._add(new, scores, lows, highs, decays, _areas(areas.tolist()), tokens, starts, held)

    def _add(
        self,
        ids: np.ndarray,
        scores: np.ndarray,
        lows: np.ndarray,
        highs: np.ndarray,
        decays: np.ndarray,
        areas: Areas,
        tokens: np.ndarray,
        starts: np.ndarray,
        words: Words,
    ) -> None:
        rows = self._take_rows(ids)
        around = hulls(areas.shapes, areas.places, self._is_sphere)
        parts, owners = split_boxes(around, self._is_sphere)
        c = self._columns
        c.ids[rows], c.scores[rows], c.lows[rows], c.highs[rows] = ids, scores, lows, highs
        c.boxes[rows] = np.bincount(owners, minlength=len(rows))
        tokens, starts = _repeated(tokens, starts, owners)
        self._filter.insert_columns(self._entries(rows), parts, tokens, starts, scores[owners])
        self._conditions.add(rows, areas, words, decays)
        self._words.retain(words.words)
        self._note(len(ids))

    def _require_new(self, ids: np.ndarray) -> None:
        known = ids[self._row_of.get_many(ids) != ABSENT]
        if len(known):
            raise KeyError(f"id {known[0]} is already indexed; delete it first")

    def _take_rows(self, ids: np.ndarray) -> np.ndarray:
        if len(ids) > len(self._free):
            self._grow(len(self) + len(ids))
        rows, self._free = self._free[: len(ids)], self._free[len(ids) :]
        self._row_of.put_many(ids, rows)
        return rows

    def _grow(self, needed: int) -> None:
        old = len(self._columns.ids)
        capacity = needed + (needed // 2 if old else 0) + self._spare
        wider = _allocate(capacity, len(self.attributes))
        for column, before in zip(wider, self._columns, strict=True):
            column[:old] = before
        self._columns = wider
        self._free = np.concatenate((self._free, np.arange(old, capacity, dtype=np.int32)))

    def delete_many(self, ids: np.ndarray) -> None:
        """Forget ids, all of them or, where one is not indexed, none."""
        gone = validation.as_id_array(ids)
        rows = self._row_of.get_many(gone).astype(np.int32)
        if len(unknown := gone[rows == ABSENT]):
            raise KeyError(f"id {unknown[0]} is not indexed; an indexed id was expected")
        self._filter.delete_many(self._entries(rows))
        _, words, _ = self._conditions.export(rows)
        self._conditions.remove(rows)
        self._words.release(words.words)
        self._row_of.remove_many(gone)
        self._columns.ids[rows] = ABSENT
        self._free = np.concatenate((rows, self._free))
        self._note(len(gone))

    def _entries(self, rows: np.ndarray) -> np.ndarray:
        owners = np.repeat(np.arange(len(rows)), self._columns.boxes[rows])
        return MOST_PARTS * rows[owners].astype(np.int64) + _places(owners)

    def ids(self) -> np.ndarray:
        """Every id, ascending."""
        ids = self._columns.ids
        return np.sort(ids[ids != ABSENT])

    def top_k_many(self, events: Events, k: int) -> HitTable:
        """The k best of each event, by score and then by id."""
        k, m = validation.as_count("k", k), len(events.boxes)
        table = empty_table(m, k)
        if not k or not len(self) or not m:
            return table
        boxes, owners = split_boxes(events.boxes, self._is_sphere, with_other_name=True)
        known = _numbers(self._filter.dictionary, events.vocabulary)
        tokens, ends = _distinct(events.starts, events.sequence, known, owners)
        entries, ends = self._filter.match_columns(boxes, tokens, ends)
        c = self._columns
        rows, starts = _rows_of(entries, ends, owners, c.lows, c.highs, events.values)
        scores = c.scores[rows]
        known = _numbers(self._words, events.vocabulary)
        asked = Asked(events.boxes, known[events.sequence], events.starts)
        holds = self._conditions.hold(asked, rows, starts, scores)
        _rank(c.ids[rows], scores, holds, starts, *table)
        return table

    def fork(self) -> Self:
        """A copy for another thread."""
        return forked(self)

    def _note(self, changes: int) -> None:
        self._changed += changes
        if self._changed >= 0.5 * self._in_order:  # as the filter has it
            self._in_order, self._changed = len(self), 0

    @property
    def is_stale(self) -> bool:
        return self._changed > max(_SOON_STALE * self._in_order, _FEW_CHANGES)

    def rebase(self) -> None:
        """Set everything in order, as if all subscriptions had come at once."""
        self._filter.rebuild()
        self._in_order, self._changed = len(self), 0

    refresh = rebase

    def replace_base(self, trees: Sequence[Any], since: int) -> None:
        raise ValueError("got a base when none was expected: places and words have none")

    def to_arrays(self) -> PlacedArrays:
        ids = self.ids()
        rows = self._row_of.get_many(ids).astype(np.int32)
        found = self._first_entries(rows)
        areas, words, decays = self._conditions.export(rows)
        of_filter, of_conditions = self._filter.dictionary.strings(), self._words.strings()
        spelled = sorted({word for word in (*of_filter, *of_conditions) if word is not None})
        place = {word: at for at, word in enumerate(spelled)}
        tokens = _placed(of_filter, place)[found.tokens]
        owners = np.repeat(np.arange(len(rows)), np.diff(found.starts))
        c = self._columns
        return PlacedArrays(
            ids,
            c.scores[rows],
            c.lows[rows],
            c.highs[rows],
            decays,
            tokens[np.lexsort((tokens, owners))],
            found.starts,
            _placed(of_conditions, place)[words.words],
            words.starts,
            *pack_strings(spelled),
            *areas._replace(places=self._places_of(rows, areas, found.boxes)),
        )

    def _first_entries(self, rows: np.ndarray) -> RecordColumns:
        records = self._filter.records
        return records.export(records.find(MOST_PARTS * rows.astype(np.int64)))

    def _places_of(self, rows: np.ndarray, areas: Areas, first: np.ndarray) -> np.ndarray:
        """As they were given: the filter has boxes, and a second one behind the antimeridian."""
        places, records = first.copy(), self._filter.records
        split = np.flatnonzero(self._columns.boxes[rows] == MOST_PARTS)
        second = records.find(MOST_PARTS * rows[split].astype(np.int64) + 1)
        places[split, 2] = records.table.boxes[second, 2]
        circles = areas.shapes == CIRCLE
        places[circles] = areas.places[circles]
        return places

    @classmethod
    def from_arrays(
        cls, attributes: Sequence[str], arrays: Mapping[str, np.ndarray], space: str = "sphere"
    ) -> Self:
        """The index that `to_arrays` was asked for."""
        index, a = cls(attributes, space), PlacedArrays(**arrays)
        spelled = unpack_strings(a.letters, a.letter_starts)
        tokens = _learnt(index._filter.dictionary, spelled, a.tokens)
        words = Words(_learnt(index._words, spelled, a.words), a.word_starts)
        areas = Areas(a.shapes, a.places, a.corners, a.rings, a.pieces, a.polygons)
        shape = (len(a.ids), len(index.attributes))
        lows, highs = a.lows.reshape(shape), a.highs.reshape(shape)
        of_rows = a.ids, a.scores, lows, highs, a.decays.reshape(-1, 4)
        index._add(*of_rows, areas, tokens, a.token_starts, words)
        return index

    def check(self) -> None:
        """Raise `AssertionError` unless every structural invariant holds."""
        c = self._columns
        live = np.flatnonzero(c.ids != ABSENT)
        assert len(live) == len(self)
        assert (self._row_of.get_many(c.ids[live]) == live).all()
        assert sorted([*live.tolist(), *self._free.tolist()]) == list(range(len(c.ids)))
        assert len(self._filter) == c.boxes[live].sum()
        self._filter.check()
        self._conditions.check()
        self._words.check()
        _, words, _ = self._conditions.export(live.astype(np.int32))
        counts = np.bincount(words.words, minlength=len(self._words.frequencies))
        assert (counts == self._words.frequencies).all()


def _allocate(rows: int, attributes: int) -> Columns:
    return Columns(
        np.full(rows, ABSENT, np.int64),
        np.zeros(rows),
        np.full((rows, attributes), np.nan),
        np.full((rows, attributes), np.nan),
        np.zeros(rows, np.uint8),
    )


def _places(owners: np.ndarray) -> np.ndarray:
    """0 where an owner is there for the first time, 1 where for the second; owners ascend."""
    places = np.zeros(len(owners), np.int64)
    places[1:] = owners[1:] == owners[:-1]
    return places


def _areas(areas: Sequence[Any]) -> Areas:
    """Parsed areas side by side."""
    polygons = [area.polygons for area in areas if area.polygons is not None]
    return Areas(
        np.array([area.shape for area in areas], np.int8),
        np.array([area.place for area in areas], np.float64).reshape(-1, 4),
        np.concatenate([np.empty((0, 2)), *(one.corners for one in polygons)]),
        _chained([one.rings for one in polygons]),
        _chained([one.pieces for one in polygons]),
        _starts([len(one.pieces) - 1 for one in polygons]),
    )


def _chained(starts: Sequence[np.ndarray]) -> np.ndarray:
    """Starts of many, each from 0, as starts in what all of them have."""
    return _starts(np.concatenate([np.empty(0, np.int64), *(np.diff(one) for one in starts)]))


def _starts(lengths: Sequence[int] | np.ndarray) -> np.ndarray:
    return np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)


def _held(wanted: Sequence[Any], dictionary: TokenDictionary) -> Words:
    """The words of `any`, `none` and phrases as numbers; learns new ones."""
    lists = [words for one in wanted for words in (one.any, one.none, one.phrase)]
    flat = [word for words in lists for word in words]
    numbers, _ = dictionary.ids_of([flat])
    number_of = dict(zip(dict.fromkeys(flat), numbers.tolist(), strict=True))
    return Words(
        np.array([number_of[word] for word in flat], np.int32), _starts([len(w) for w in lists])
    )


def _numbers(dictionary: TokenDictionary, words: Sequence[str]) -> np.ndarray:
    """Of each word its number, NIL for one that is not in use."""
    number_of = dictionary._numbers.get  # a call a word, of hundreds an event, and no more
    return np.fromiter(map(number_of, words, repeat(NIL)), np.int32, len(words))


def _placed(strings: Sequence[str | None], place: Mapping[str, int]) -> np.ndarray:
    """By the number of a word, its place in a list."""
    return np.array([NIL if word is None else place[word] for word in strings], np.int32)


def _learnt(dictionary: TokenDictionary, words: Sequence[str], places: np.ndarray) -> np.ndarray:
    """The numbers of words that are given by their places in a list."""
    used, at = np.unique(places, return_inverse=True)
    numbers, _ = dictionary.ids_of([[words[place] for place in used.tolist()]])
    return numbers[at.reshape(-1)]


def _repeated(
    tokens: np.ndarray, starts: np.ndarray, owners: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The lists of these owners, one after the other; owners ascend, and all are there."""
    if len(owners) == len(starts) - 1:
        return tokens, starts
    lengths = np.diff(starts)[owners]
    ends = np.zeros(len(owners) + 1, np.int64)
    np.cumsum(lengths, out=ends[1:])
    shift = np.repeat(starts[owners] - ends[:-1], lengths)
    return tokens[np.arange(ends[-1]) + shift], ends


@njit(cache=True, nogil=True)
def _distinct(starts, sequence, known, owners):
    """The known words of each part's event as numbers, each once, and where each part's begin."""
    seen = np.full(len(known), -1, np.int64)  # by position in the vocabulary: the last part
    ends = np.zeros(len(owners) + 1, np.int64)
    total = 0
    for owner in owners:
        total += starts[owner + 1] - starts[owner]
    tokens = np.empty(total, np.int32)
    at = 0
    for part in range(len(owners)):
        owner = owners[part]
        for place in range(starts[owner], starts[owner + 1]):
            word = sequence[place]
            if known[word] >= 0 and seen[word] != part:
                seen[word] = part
                tokens[at] = known[word]
                at += 1
        ends[part + 1] = at
    return tokens[:at], ends


@njit(cache=True, nogil=True)
def _rows_of(entries, ends, owners, lows, highs, values):
    """The rows of each event whose intervals hold, each once, and where each event's begin."""
    seen = np.full(len(lows), -1, np.int64)  # the last event that found the row
    rows, starts = np.empty(len(entries), np.int32), np.zeros(len(values) + 1, np.int64)
    at, dimensions = 0, lows.shape[1]
    for part in range(len(owners)):
        event = owners[part]
        for place in range(ends[part], ends[part + 1]):
            row = entries[place] // MOST_PARTS
            holds = seen[row] != event
            seen[row] = event
            for j in range(dimensions):
                low = lows[row, j]
                # An event without the attribute has NaN, which is in no interval.
                if not (np.isnan(low) or low <= values[event, j] <= highs[row, j]):
                    holds = False
            if holds:
                rows[at] = row
                at += 1
        starts[event + 1] = at
    return rows[:at], starts


@njit(cache=True, nogil=True)
def _rank(row_ids, row_scores, holds, starts, counts, ids, scores):
    """Of each event's candidates that hold, the k best."""
    for event in range(len(counts)):
        kept = 0
        for at in range(starts[event], starts[event + 1]):
            if holds[at]:
                kept = offer(ids[event], scores[event], kept, row_ids[at], row_scores[at])
        sort_best_first(ids[event], scores[event], kept)
        counts[event] = kept


def axes_of_places(attributes: Sequence[str]) -> tuple[str, ...]:
    return (*SIDES, *attributes)[:MOST_ATTRIBUTES]


def boxes_of_columns(
    attributes: Sequence[str],
    ids: np.ndarray,
    columns: Sequence[np.ndarray],
    space: str = "sphere",
) -> SubscriptionBoxes:
    """Around each area, or its two parts beside the antimeridian, and its intervals."""
    areas, _, _, _, lows, highs = columns
    shapes = np.array([area.shape for area in areas], np.int8)
    places = np.array([area.place for area in areas], np.float64).reshape(-1, 4)
    return _boxes(ids, shapes, places, lows, highs, space)


def boxes_of_arrays(
    attributes: Sequence[str], arrays: Mapping[str, np.ndarray], space: str = "sphere"
) -> SubscriptionBoxes:
    ids, places = arrays["ids"], arrays["places"].reshape(-1, 4)
    shape = (len(ids), len(attributes))
    lows, highs = arrays["lows"].reshape(shape), arrays["highs"].reshape(shape)
    return _boxes(ids, arrays["shapes"], places, lows, highs, space)


def _boxes(
    ids: np.ndarray,
    shapes: np.ndarray,
    places: np.ndarray,
    lows: np.ndarray,
    highs: np.ndarray,
    space: str,
) -> SubscriptionBoxes:
    is_sphere, known = space == "sphere", MOST_ATTRIBUTES - len(SIDES)
    parts, owners = split_boxes(hulls(shapes, places, is_sphere), is_sphere)
    low, high = lows[owners, :known], highs[owners, :known]
    constrained = ~np.isnan(low)
    west, south, east, north = parts.T
    endless = np.full(len(parts), np.inf)
    return SubscriptionBoxes(
        ids[owners],
        _places(owners),
        np.column_stack((-endless, west, -endless, south, np.where(constrained, low, -np.inf))),
        np.column_stack((east, endless, north, endless, np.where(constrained, high, np.inf))),
    )
