"""`Conditions`: what a subscription asks beyond its box and tokens, decided in one compiled call.

A row whose area is a box and that has neither words nor decay asks nothing further, and takes 4
bytes; all else is in two arrays, in a block of `codes` per row, with the `numbers` it refers to:

    codes     size of the block, lines of numbers, the first line, shape, flags, counts of `any`,
              `none` and `phrase`, pieces; the words; the pieces (see `areas.polygons`)
    numbers   in lines of 8: one for the decay, if any; then a circle, or the pieces

Blocks of rows that are gone leave gaps.  When these are more than half of the array, what is live
is moved together.

Candidates come by event.  The words of an event are put into a table by word, once it has a
candidate that asks for words: where the word is first, and from each place where it is next, so
that `any` and `none` are one look a word, and a phrase is only looked for where its first word is.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from indexes.kernels import NIL
from indexes.kernels.decorators import bare, fused
from indexes.kernels.prefetch import prefetch
from indexes.spatial_text.areas.boxes import BOX, CIRCLE, POLYGONS
from indexes.spatial_text.areas.circles import (
    TRIG_NUMBERS,
    circle_reaches,
    distance,
    fill_trig,
    write_circle,
)
from indexes.spatial_text.areas.polygons import (
    CORNERS,
    HEAD,
    PIECE_CODES,
    SLABS,
    piece_meets,
    slabs_for,
    write_piece,
)

__all__ = ["NO_DECAY", "Areas", "Conditions", "Events", "Words"]

LINE = 8  # numbers, which is what is fetched at once
NO_DECAY = np.nan  # as the metres of one

SIZE, LINES, FIRST_LINE, SHAPE, HAS_DECAY, ANY, NONE, PHRASE, PIECES, HEADER = range(10)
METRES, OFFSET, AT_X, AT_Y = range(4)  # of a decay
FILLED_CODES, HELD_CODES, FILLED_LINES, HELD_LINES = range(4)  # of `state`
_FEW_GAPS = 4096  # places that are not worth moving anything for


class Areas(NamedTuple):
    """Areas side by side; all but the first two have entries for the shape POLYGONS only."""

    shapes: np.ndarray  # i1[n]
    places: np.ndarray  # f8[n, 4]
    corners: np.ndarray  # f8[c, 2]  unrolled; a ring's first corner is there again as its last
    rings: np.ndarray  # i8[r + 1]  where each ring begins among the corners
    pieces: np.ndarray  # i8[p + 1]  where each piece begins among the rings
    polygons: np.ndarray  # i8[q + 1]  where each area begins among the pieces


class Words(NamedTuple):
    """The words of row i, none of them negative: `any`, `none`, `phrase` are the parts 3 i on."""

    words: np.ndarray  # i4[t]
    starts: np.ndarray  # i8[3 n + 1]


class Events(NamedTuple):
    places: np.ndarray  # f8[m, 4]
    words: np.ndarray  # i4[t]  in their order; NIL where no subscription has the word
    starts: np.ndarray  # i8[m + 1]


class Heap(NamedTuple):
    blocks: np.ndarray  # i8[rows]  where the row's block begins, or NIL
    codes: np.ndarray  # i4[...]
    numbers: np.ndarray  # f8[...]
    state: np.ndarray  # i8[4]


class Sequence(NamedTuple):
    """The words of one event, for looking up."""

    first: np.ndarray  # i4[words]  where a word is first; right if it was put there for this event
    event_of: np.ndarray  # i8[words]  of which event, of all that there were
    following: np.ndarray  # i4[longest]  where the word at a place is next, or NIL
    events: np.ndarray  # i8[1]  how many there ever were


class Conditions:
    def __init__(self, is_sphere: bool, spare: int = 64, few_gaps: int = _FEW_GAPS) -> None:
        """A column that grows gets at least so much room to spare."""
        self.is_sphere = is_sphere
        self.edges_tried = 0  # of polygons, against places of events
        self._spare = spare
        self._few_gaps = few_gaps
        self._heap = _allocate(0, 0, 0)
        few = np.empty(0, np.int32)
        self._sequence = Sequence(few, np.empty(0, np.int64), few.copy(), np.zeros(1, np.int64))

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in (*self._heap, *self._sequence))

    def add(self, rows: np.ndarray, areas: Areas, words: Words, decays: np.ndarray) -> None:
        """What these rows, which have nothing so far, ask; decays are f8[n, 4].

        A decay is metres, `NO_DECAY` for none, offset, and the point from which it goes.
        """
        sizes = np.empty((len(rows), 2), np.int64)
        slabs = np.empty(len(areas.pieces) - 1, np.int32)
        _measure(areas, words, decays, sizes, slabs)
        self._reserve(int(rows.max(initial=-1)) + 1, *sizes.sum(axis=0).tolist())
        _write(self._heap, rows, areas, words, decays, sizes, slabs)

    def remove(self, rows: np.ndarray) -> None:
        """Forget what these rows ask; some of them may ask nothing."""
        _remove(self._heap, rows)
        state = self._heap.state
        gaps = state[FILLED_CODES] - state[HELD_CODES]
        if gaps > self._few_gaps and 2 * gaps > state[FILLED_CODES]:
            self._move(len(self._heap.blocks), int(state[HELD_CODES]), int(state[HELD_LINES]))

    def hold(
        self, events: Events, rows: np.ndarray, starts: np.ndarray, scores: np.ndarray
    ) -> np.ndarray:
        """Which candidates match, b1[h]; event i has those from starts[i] to starts[i + 1].

        The scores (f8[h]) of those that match and decay become less.
        """
        self._reserve_sequence(events)
        work = np.zeros(1, np.int64)
        matching = np.empty(len(rows), np.bool_)
        _hold(
            self._heap, self._sequence, events, rows, starts, scores, matching, work, self.is_sphere
        )
        self.edges_tried += int(work[0])
        return matching

    def export(self, rows: np.ndarray) -> tuple[Areas, Words, np.ndarray]:
        """What `add` was given for these rows; of places those of circles, 0 for other shapes."""
        counts = np.zeros((len(rows), 7), np.int64)
        _count(self._heap, rows, counts)
        pieces, rings, corners = counts[:, 4:].sum(axis=0).tolist()
        starts = _starts(counts[:, 1:4].ravel())
        areas = Areas(
            counts[:, 0].astype(np.int8),
            np.zeros((len(rows), 4)),
            np.empty((corners, 2)),
            np.zeros(rings + 1, np.int64),
            np.zeros(pieces + 1, np.int64),
            _starts(counts[counts[:, 0] == POLYGONS, 4]),
        )
        words = Words(np.empty(starts[-1], np.int32), starts)
        decays = np.full((len(rows), 4), NO_DECAY)
        _export(self._heap, rows, areas, words, decays)
        return areas, words, decays

    def check(self) -> None:
        """Raise `AssertionError` unless every structural invariant holds."""
        heap = self._heap
        filled_codes, held_codes, filled_lines, held_lines = heap.state.tolist()
        assert filled_codes <= len(heap.codes)
        assert filled_lines * LINE <= len(heap.numbers)
        heads = []
        end = 0
        for at in np.sort(heap.blocks[heap.blocks != NIL]).tolist():
            assert at >= end
            head = heap.codes[at : at + HEADER].tolist()
            end = at + head[SIZE]
            heads.append(head)
            assert head[SHAPE] in (BOX, CIRCLE, POLYGONS)
            assert (head[PIECES] > 0) == (head[SHAPE] == POLYGONS)
        assert end <= filled_codes
        assert sum(head[SIZE] for head in heads) == held_codes
        assert sum(head[LINES] for head in heads) == held_lines
        reached = 0
        for first, lines in sorted((head[FIRST_LINE], head[LINES]) for head in heads):
            assert not lines or first >= reached
            reached = max(reached, first + lines)
        assert reached <= filled_lines

    def _reserve(self, rows: int, more_codes: int, more_lines: int) -> None:
        heap = self._heap
        filled_codes, held_codes, filled_lines, held_lines = heap.state.tolist()
        blocks, codes, lines = size = len(heap.blocks), len(heap.codes), len(heap.numbers) // LINE
        if rows > blocks and (more_codes or blocks):
            blocks = max(rows, blocks + blocks // 2 + self._spare)
        if filled_codes + more_codes > codes:
            codes = held_codes + more_codes + held_codes // 2 + self._spare
        if filled_lines + more_lines > lines:
            lines = held_lines + more_lines + held_lines // 2 + self._spare
        if (blocks, codes, lines) != size:
            self._move(blocks, codes, lines)

    def _move(self, blocks: int, codes: int, lines: int) -> None:
        """Close all gaps, and have room for so much in all."""
        moved = _allocate(blocks, codes, lines)
        _move(self._heap, moved)
        self._heap = moved

    def _reserve_sequence(self, events: Events) -> None:
        words = int(events.words.max(initial=NIL)) + 1
        longest = int(np.diff(events.starts).max(initial=0))
        old = self._sequence
        if words > len(old.first):
            room = max(words, 2 * len(old.first))
            first, event_of = np.empty(room, np.int32), np.full(room, NIL, np.int64)
            old = old._replace(first=first, event_of=event_of)
        if longest > len(old.following):
            room = max(longest, 2 * len(old.following))
            old = old._replace(following=np.empty(room, np.int32))
        self._sequence = old


def _starts(lengths: np.ndarray) -> np.ndarray:
    starts = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts


def _allocate(rows: int, codes: int, lines: int) -> Heap:
    return Heap(
        np.full(rows, NIL, np.int64),
        np.empty(codes, np.int32),
        np.empty(lines * LINE),
        np.zeros(4, np.int64),
    )


@njit(cache=True, nogil=True)
def _measure(areas, words, decays, sizes, slabs):
    """How many codes and lines of numbers each row takes, and how many slabs each piece."""
    polygon = 0
    for i in range(len(sizes)):
        shape, has_decay = areas.shapes[i], not np.isnan(decays[i, METRES])
        of_words = words.starts[3 * i + 3] - words.starts[3 * i]
        codes, lines = HEADER + of_words, int(has_decay)
        if shape == CIRCLE:
            lines += 1
        elif shape == POLYGONS:
            for piece in range(areas.polygons[polygon], areas.polygons[polygon + 1]):
                first, last = areas.pieces[piece], areas.pieces[piece + 1]
                slabs[piece], listed = slabs_for(areas.corners, areas.rings, first, last)
                codes += PIECE_CODES + slabs[piece] + 1 + listed
                lines += _lines_of_piece(areas.rings[last] - areas.rings[first])
            polygon += 1
        elif of_words == 0 and not has_decay:
            codes = 0
        sizes[i, 0], sizes[i, 1] = codes, lines


@fused
def _lines_of_piece(corners):
    return (HEAD + 2 * corners + LINE - 1) // LINE


@njit(cache=True, nogil=True)
def _write(heap, rows, areas, words, decays, sizes, slabs):
    blocks, codes, numbers, state = heap
    polygon = 0
    for i in range(len(rows)):
        shape, at, line = areas.shapes[i], state[FILLED_CODES], state[FILLED_LINES]
        if sizes[i, 0] == 0:
            continue
        blocks[rows[i]] = at
        state[FILLED_CODES] += sizes[i, 0]
        state[HELD_CODES] += sizes[i, 0]
        state[FILLED_LINES] += sizes[i, 1]
        state[HELD_LINES] += sizes[i, 1]
        codes[at + SIZE], codes[at + LINES] = sizes[i, 0], sizes[i, 1]
        codes[at + FIRST_LINE], codes[at + SHAPE], codes[at + PIECES] = line, shape, 0
        has_decay = not np.isnan(decays[i, METRES])
        codes[at + HAS_DECAY] = has_decay
        if has_decay:
            for field in range(4):
                numbers[line * LINE + field] = decays[i, field]
            line += 1
        for part in range(3):
            codes[at + ANY + part] = words.starts[3 * i + part + 1] - words.starts[3 * i + part]
        to = at + HEADER
        for place in range(words.starts[3 * i], words.starts[3 * i + 3]):
            codes[to] = words.words[place]
            to += 1
        if shape == CIRCLE:
            x, y, radius = areas.places[i, 0], areas.places[i, 1], areas.places[i, 2]
            write_circle(numbers, line * LINE, x, y, radius)
        elif shape == POLYGONS:
            codes[at + PIECES] = areas.polygons[polygon + 1] - areas.polygons[polygon]
            for piece in range(areas.polygons[polygon], areas.polygons[polygon + 1]):
                first, last = areas.pieces[piece], areas.pieces[piece + 1]
                to = write_piece(
                    codes, to, numbers, line * LINE, areas.corners, areas.rings, first, last,
                    slabs[piece],
                )  # fmt: skip
                line += _lines_of_piece(areas.rings[last] - areas.rings[first])
            polygon += 1


@njit(cache=True, nogil=True)
def _remove(heap, rows):
    blocks, codes, _, state = heap
    for row in rows:
        if row < len(blocks) and blocks[row] != NIL:
            at = blocks[row]
            state[HELD_CODES] -= codes[at + SIZE]
            state[HELD_LINES] -= codes[at + LINES]
            blocks[row] = NIL


@njit(cache=True, nogil=True)
def _move(heap, moved):
    """Blocks go in the order of rows."""
    to, line = 0, 0
    for row in range(len(heap.blocks)):
        at = heap.blocks[row]
        if at == NIL:
            continue
        size, lines = heap.codes[at + SIZE], heap.codes[at + LINES]
        first = heap.codes[at + FIRST_LINE]
        moved.blocks[row] = to
        for i in range(size):
            moved.codes[to + i] = heap.codes[at + i]
        moved.codes[to + FIRST_LINE] = line
        for i in range(lines * LINE):
            moved.numbers[line * LINE + i] = heap.numbers[first * LINE + i]
        to += size
        line += lines
    moved.state[FILLED_CODES], moved.state[HELD_CODES] = to, to
    moved.state[FILLED_LINES], moved.state[HELD_LINES] = line, line


@fused
def _block(blocks, row):
    """Where the block of a row begins, or NIL."""
    return blocks[row] if row < len(blocks) else NIL


@fused
def _pieces_at(codes, at):
    """Where the pieces of a block begin."""
    return at + HEADER + codes[at + ANY] + codes[at + NONE] + codes[at + PHRASE]


@fused
def _next_piece(codes, piece):
    starts = piece + PIECE_CODES
    last = starts + codes[piece + SLABS]
    return last + 1 + codes[last]


@njit(cache=True, nogil=True)
def _count(heap, rows, counts):
    """Of each row its shape, the lengths of its words, its pieces, rings and corners."""
    blocks, codes, numbers, _ = heap
    for i in range(len(rows)):
        at = _block(blocks, rows[i])
        if at == NIL:
            continue
        counts[i, 0] = codes[at + SHAPE]
        for part in range(3):
            counts[i, 1 + part] = codes[at + ANY + part]
        counts[i, 4] = codes[at + PIECES]
        piece = _pieces_at(codes, at)
        first = LINE * (codes[at + FIRST_LINE] + codes[at + HAS_DECAY])
        for _ in range(codes[at + PIECES]):
            corners = codes[piece + CORNERS]
            counts[i, 6] += corners
            begin = 0
            while begin < corners:
                begin = _end_of_ring(numbers, first, begin)
                counts[i, 5] += 1
            first += LINE * _lines_of_piece(corners)
            piece = _next_piece(codes, piece)


@fused
def _end_of_ring(numbers, line, begin):
    """The corner behind the ring that begins at a corner: behind where it is closed.

    No other corner is the same, for a ring does not touch itself.
    """
    x, y = numbers[line + HEAD + 2 * begin], numbers[line + HEAD + 2 * begin + 1]
    at = begin + 1
    while numbers[line + HEAD + 2 * at] != x or numbers[line + HEAD + 2 * at + 1] != y:
        at += 1
    return at + 1


@njit(cache=True, nogil=True)
def _export(heap, rows, areas, words, decays):
    blocks, codes, numbers, _ = heap
    pieces, rings, corners = 0, 0, 0
    for i in range(len(rows)):
        at = _block(blocks, rows[i])
        if at == NIL:
            continue
        first = LINE * codes[at + FIRST_LINE]
        if codes[at + HAS_DECAY]:
            for field in range(4):
                decays[i, field] = numbers[first + field]
            first += LINE
        for place in range(words.starts[3 * i], words.starts[3 * i + 3]):
            words.words[place] = codes[at + HEADER + place - words.starts[3 * i]]
        if codes[at + SHAPE] == CIRCLE:
            for field in range(3):
                areas.places[i, field] = numbers[first + field]
        piece = _pieces_at(codes, at)
        for _ in range(codes[at + PIECES]):
            count, begin = codes[piece + CORNERS], 0
            while begin < count:
                end = _end_of_ring(numbers, first, begin)
                for corner in range(begin, end):
                    areas.corners[corners, 0] = numbers[first + HEAD + 2 * corner]
                    areas.corners[corners, 1] = numbers[first + HEAD + 2 * corner + 1]
                    corners += 1
                rings += 1
                areas.rings[rings] = corners
                begin = end
            pieces += 1
            areas.pieces[pieces] = rings
            first += LINE * _lines_of_piece(count)
            piece = _next_piece(codes, piece)


@njit(cache=True, nogil=True)
def _hold(heap, sequence, events, rows, starts, scores, matching, work, is_sphere):
    blocks, codes, numbers, _ = heap
    trig = np.empty(TRIG_NUMBERS)
    for event in range(len(events.places)):
        west, south = events.places[event, 0], events.places[event, 1]
        east, north = events.places[event, 2], events.places[event, 3]
        turn = 360.0 if is_sphere and west > east else 0.0
        first_word, end_of_words = events.starts[event], events.starts[event + 1]
        has_trig, has_words = not is_sphere, False
        for i in range(starts[event], starts[event + 1]):
            _prefetch_ahead(heap, rows, i)
            matching[i] = True
            at = _block(blocks, rows[i])
            if at == NIL:
                continue
            if codes[at + ANY] + codes[at + NONE] + codes[at + PHRASE]:
                if not has_words:
                    _put_words(sequence, events.words, first_word, end_of_words)
                    has_words = True
                if not _words_hold(codes, at, sequence, events.words, first_word, end_of_words):
                    matching[i] = False
                    continue
            decay = LINE * codes[at + FIRST_LINE]
            area = decay + LINE * codes[at + HAS_DECAY]
            if codes[at + SHAPE] == CIRCLE:
                if not has_trig:
                    fill_trig(trig, west, south, east, north)
                    has_trig = True
                box = (west, south, east + turn, north)
                matching[i] = circle_reaches(numbers, area, box, trig, is_sphere)
            elif codes[at + SHAPE] == POLYGONS:
                box = (west, south, east, north)
                matching[i] = _pieces_meet(codes, at, numbers, area, box, turn, is_sphere, work)
            if matching[i] and codes[at + HAS_DECAY]:
                away = distance(
                    numbers[decay + AT_X], numbers[decay + AT_Y],
                    (west + east + turn) / 2, (south + north) / 2, is_sphere,
                )  # fmt: skip
                halvings = max(away - numbers[decay + OFFSET], 0.0) / numbers[decay + METRES]
                scores[i] *= 2.0**-halvings


# A candidate's entry, its block and its numbers are far from each other: each is fetched while
# others are decided, one after the other.
_ENTRIES_AHEAD, _BLOCKS_AHEAD, _REST_AHEAD = 12, 8, 4
_LINES_AHEAD = 6  # of a block's codes and of its numbers: enough for most polygons
_LINE_OF_CODES = 16


@fused
def _prefetch_ahead(heap, rows, i):
    blocks, codes, numbers, _ = heap
    if i + _ENTRIES_AHEAD < len(rows) and rows[i + _ENTRIES_AHEAD] < len(blocks):
        prefetch(blocks, rows[i + _ENTRIES_AHEAD])
    if i + _BLOCKS_AHEAD < len(rows):
        at = _block(blocks, rows[i + _BLOCKS_AHEAD])
        if at != NIL:
            prefetch(codes, at)
    if i + _REST_AHEAD < len(rows):
        at = _block(blocks, rows[i + _REST_AHEAD])
        if at != NIL:
            end = at + min(codes[at + SIZE], _LINE_OF_CODES * _LINES_AHEAD)
            for place in range(at + _LINE_OF_CODES, end, _LINE_OF_CODES):
                prefetch(codes, place)
            first = np.int64(codes[at + FIRST_LINE])
            for line in range(first, first + min(codes[at + LINES], _LINES_AHEAD)):
                prefetch(numbers, LINE * line)


@bare
def _pieces_meet(codes, at, numbers, line, box, turn, is_sphere, work):
    """Whether one of the pieces, which may be unrolled beyond 180, meets the box in any turn.

    To a longitude one number is added, as it was to those of the corners: equal ones stay equal.
    """
    west, south, east, north = box
    piece = _pieces_at(codes, at)
    for _ in range(codes[at + PIECES]):
        for shift in (0.0, 360.0, -360.0):
            turned = (west + shift, south, east + (turn + shift), north)
            if piece_meets(codes, piece, numbers, line, turned, work):
                return True
            if not is_sphere:
                break
        line += LINE * _lines_of_piece(codes[piece + CORNERS])
        piece = _next_piece(codes, piece)
    return False


@bare
def _put_words(sequence, words, start, end):
    """Chain the places of each word of an event, the first of them first."""
    sequence.events[0] += 1
    for place in range(end - 1, start - 1, -1):
        word = words[place]
        if word == NIL:
            continue
        known = sequence.event_of[word] == sequence.events[0]
        sequence.following[place - start] = sequence.first[word] if known else NIL
        sequence.first[word] = place - start
        sequence.event_of[word] = sequence.events[0]


@fused
def _first_place(sequence, word):
    """Where the event has the word first, or NIL."""
    if word >= len(sequence.first) or sequence.event_of[word] != sequence.events[0]:
        return NIL
    return sequence.first[word]


@bare
def _words_hold(codes, at, sequence, words, start, end):
    place = at + HEADER
    first_of_none = place + codes[at + ANY]
    phrase = first_of_none + codes[at + NONE]
    found = codes[at + ANY] == 0
    while place < first_of_none and not found:
        found = _first_place(sequence, codes[place]) != NIL
        place += 1
    if not found:
        return False
    for place in range(first_of_none, phrase):
        if _first_place(sequence, codes[place]) != NIL:
            return False
    length = codes[at + PHRASE]
    for place in range(phrase, phrase + length):
        if _first_place(sequence, codes[place]) == NIL:
            return False
    return length == 0 or _is_in_a_row(codes, phrase, length, sequence, words, start, end)


@bare
def _is_in_a_row(codes, phrase, length, sequence, words, start, end):
    begin = _first_place(sequence, codes[phrase])
    while begin != NIL and start + begin + length <= end:
        i = 1
        while i < length and words[start + begin + i] == codes[phrase + i]:
            i += 1
        if i == length:
            return True
        begin = sequence.following[begin]
    return False
