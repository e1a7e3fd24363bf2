"""How a message finds its subscriptions in a quadtree: the two steps of §4.2, top k, estimates.

**Filter** (`candidate_nodes`): from the root down, a node is left alone if its square has nothing
of the message's box or if its pivotal set has no token of the message; below a node whose cover
set has one, texts are not asked again.  What comes out is the nodes with lists to look at.

**Verify** (`verified`): an entry is a match if its key, its other token, its square and, only then,
its record are; of the record only what the entry leaves open is read.  The key is looked up in the
message, which is a set of bits; where a message has few tokens for the length of the list, its
tokens are looked up among the keys instead.  That is what pruning lists by the first level of a
trie in the order of rarity comes to (§5.2).  A subscription that is in several nodes counts in that
of the lowest point that its box and the message have in common.

**Top k** visits nodes in the order of their score bounds, and stops when none is left that could
have a better hit than the k-th.

`estimate` says beforehand how many nodes the filter is going to leave, and how many entries they
have (§5.3).  It goes down as long as it is cheap, and takes a part of what is below the rest of the
nodes: that of their squares which the message covers.
"""

import numpy as np
from numba import njit

from indexes.hits import offer, sort_best_first
from indexes.kernels.bits import highest_bit, lowest_bit
from indexes.kernels.decorators import bare, fused
from indexes.kernels.prefetch import prefetch
from indexes.kernels.sorting import sort_ascending
from indexes.spatial_text.pivots import COVERED, PRUNED, is_said, pivots_say
from indexes.spatial_text.quadtree import (
    CHILD,
    COUNT,
    DEPTH,
    GRID_BITS,
    HELD,
    LEAVES,
    LIST,
    ORDERED,
    USED,
    X,
    Y,
    begins_inside,
    grid_box,
    square_meets,
    square_to_meet,
    squares_meet,
    surely_meet,
)
from indexes.spatial_text.records import boxes_meet

__all__ = [
    "ENTRIES", "NODES", "RECORDS", "candidate_nodes", "estimate", "forget_tokens", "match_all",
    "rank_all", "say_tokens", "verified",
]  # fmt: skip

NODES, ENTRIES, RECORDS = range(3)  # of `work`: visited nodes, entries and records looked at
_STACK = 128  # a node's three siblings on each level wait, 3 * DEEPEST + 4 at most
_FEW_TOKENS = 64  # that are put in order one by one
_AHEAD = 8  # candidates, between prefetching records, tokens, and reading both
_MOST_ESTIMATED = 64  # nodes that an estimate looks at


@bare
def say_tokens(said, messages, i, ascending):
    """Set the bits of a message's tokens, and put them in order; how many there are."""
    start, size = messages.starts[i], messages.starts[i + 1] - messages.starts[i]
    for at in range(size):
        token = messages.tokens[start + at]
        said[token >> 6] |= np.int64(1) << (token & 63)
        if size <= _FEW_TOKENS:
            place = at
            while place > 0 and ascending[place - 1] > token:
                ascending[place] = ascending[place - 1]
                place -= 1
            ascending[place] = token
    if size > _FEW_TOKENS:
        at = 0
        for word in range(len(said)):
            bits = said[word]
            while bits:
                ascending[at] = (word << 6) + lowest_bit(bits)
                at += 1
                bits &= bits - 1
    return size


@fused
def forget_tokens(said, ascending, size):
    for at in range(size):
        said[ascending[at] >> 6] = 0


@bare
def candidate_nodes(q, box, said, stack, found, work):
    """The filter step: nodes whose lists a message has to look at, into `found`; how many.

    `box` are the grid lines of the message, `said` its tokens as bits; `stack` has `_STACK` places.
    A node that is waiting below a cover set is there as ~node.
    """
    count, waiting = 0, 1
    stack[0] = 0
    while waiting:
        waiting -= 1
        node = stack[waiting]
        covered = node < 0
        node = ~node if covered else node
        work[NODES] += 1
        if not covered:
            says = pivots_say(q, node, said)
            if says == PRUNED:
                continue
            covered = says == COVERED
        if q.nodes[node, COUNT]:
            found[count] = node
            count += 1
        child = q.nodes[node, CHILD]
        if child >= 0:
            for side in range(4):
                below = child + side
                if q.nodes[below, HELD] and square_meets(q, below, box):
                    stack[waiting] = ~below if covered else below
                    waiting += 1
    return count


@fused
def _next_of_key(q, at, stop, key):
    """The first entry from `at` on whose key is not less, in steps that double."""
    step = 1
    while at + step < stop and q.entries[at + step, 1] < key:
        at += step
        step *= 2
    high = min(at + step, stop)
    while at < high:
        middle = (at + high) // 2
        if q.entries[middle, 1] < key:
            at = middle + 1
        else:
            high = middle
    return at


@fused
def _may_match(q, at, said, to_meet):
    """What an entry says itself, but for its key, which the message has."""
    other = q.entries[at, 2]
    other = other if other >= 0 else ~other
    return is_said(said, other) != 0 and squares_meet(q.entries[at, 3], to_meet)


@bare
def _entries_that_may_match(q, node, said, ascending, size, to_meet, hits, found, work):
    """Entries of a node's list for which the record is to be read, into `hits`; where they end."""
    first, stop = q.nodes[node, LIST], q.nodes[node, LIST] + q.nodes[node, COUNT]
    ordered = first + q.nodes[node, ORDERED]
    # Each token takes steps by the distance from one to the next among the keys.
    if size * (highest_bit((ordered - first) // size + 1) + 2) < ordered - first:
        at = first
        for place in range(size):
            token = ascending[place]
            at = _next_of_key(q, at, ordered, token)
            while at < ordered and q.entries[at, 1] == token:
                work[ENTRIES] += 1
                if _may_match(q, at, said, to_meet):
                    hits[found] = at
                    found += 1
                at += 1
            if at == ordered:
                break
        first = ordered
    work[ENTRIES] += stop - first
    for at in range(first, stop):
        if is_said(said, q.entries[at, 1]) and _may_match(q, at, said, to_meet):
            hits[found] = at
            found += 1
    return found


@fused
def _all_said(table, row, said):
    place, stop = table.starts[row], table.starts[row] + table.sizes[row]
    while place < stop and is_said(said, table.tokens[place]):
        place += 1
    return place == stop


@fused
def _meets_and_counts(q, table, region, node, row, box, lines):
    """Whether a row's box meets the message's, and is to be counted in this node."""
    if not boxes_meet(table.boxes, row, box):
        return False
    own = grid_box(region, table.boxes, row)
    side = 1 << (GRID_BITS - q.nodes[node, DEPTH])
    x, y = max(own[0], lines[0]) - q.nodes[node, X], max(own[1], lines[1]) - q.nodes[node, Y]
    return 0 <= x < side and 0 <= y < side


@fused
def _prefetch_record(q, table, at, to_meet):
    row = np.int64(q.entries[at, 0])
    prefetch(table.ids, row)
    if not surely_meet(q.entries[at, 3], to_meet):
        prefetch(table.boxes, row * 4)
    if q.entries[at, 2] < 0:
        prefetch(table.starts, row)
        prefetch(table.sizes, row)


@fused
def _prefetch_tokens(q, table, at):
    if q.entries[at, 2] < 0:
        prefetch(table.tokens, np.int64(table.starts[q.entries[at, 0]]))


@bare
def verified(q, table, region, node, box, lines, said, ascending, size, hits, found, work):
    """The verification step for one list: rows that match into `hits` from `found` on.

    There is room in `hits` for the whole list.  `box` is the message's, `lines` are its grid lines.
    """
    to_meet = square_to_meet(q, node, lines)
    end = _entries_that_may_match(q, node, said, ascending, size, to_meet, hits, found, work)
    work[RECORDS] += end - found
    start = found
    counts_here = lines[0] >= q.nodes[node, X] and lines[1] >= q.nodes[node, Y]
    for candidate in range(start - 2 * _AHEAD, end):
        if start <= candidate + 2 * _AHEAD < end:
            _prefetch_record(q, table, hits[candidate + 2 * _AHEAD], to_meet)
        if start <= candidate + _AHEAD < end:
            _prefetch_tokens(q, table, hits[candidate + _AHEAD])
        if candidate < start:
            continue
        at = hits[candidate]
        row = q.entries[at, 0]
        certain = surely_meet(q.entries[at, 3], to_meet) and (
            counts_here or begins_inside(q.entries[at, 3])
        )
        if (certain or _meets_and_counts(q, table, region, node, row, box, lines)) and (
            q.entries[at, 2] >= 0 or _all_said(table, row, said)
        ):
            hits[found] = row
            found += 1
    return found


@njit(cache=True, nogil=True)
def match_all(q, table, region, messages, words, work):
    """Ids that match each message, ascending, and where each message's begin.

    `words` words have a bit for every token.
    """
    said, stack = np.zeros(words, np.int64), np.empty(_STACK, np.int32)
    ascending = np.empty(len(messages.tokens), np.int32)
    nodes = np.empty(q.state[USED], np.int32)
    hits, ids, spare = np.empty(256, np.int32), np.empty(256, np.int64), np.empty(256, np.int64)
    starts = np.zeros(len(messages.boxes) + 1, np.int64)
    for i in range(len(messages.boxes)):
        lines, box = grid_box(region, messages.boxes, i), messages.boxes[i]
        size = say_tokens(said, messages, i, ascending)
        count = candidate_nodes(q, lines, said, stack, nodes, work) if size else 0
        found = 0
        for j in range(count):
            more = q.nodes[nodes[j], COUNT]
            if found + more > len(hits):
                hits = np.concatenate((hits[:found], np.empty(found + more, np.int32)))
            found = verified(
                q, table, region, nodes[j], box, lines, said, ascending, size, hits, found, work
            )
        forget_tokens(said, ascending, size)
        start = starts[i]
        if start + found > len(ids):
            ids = np.concatenate((ids[:start], np.empty(start + 2 * found, np.int64)))
        for j in range(found):
            ids[start + j] = table.ids[hits[j]]
        if found > len(spare):
            spare = np.empty(2 * found, np.int64)
        sort_ascending(ids[start : start + found], spare)
        starts[i + 1] = start + found
    return ids[: starts[-1]], starts


@fused
def _bound(q, waiting):
    return q.bounds[waiting if waiting >= 0 else ~waiting, 0]


@bare
def _push(q, queue, size, node):
    at = size
    while at > 0 and _bound(q, queue[(at - 1) // 2]) < _bound(q, node):
        queue[at] = queue[(at - 1) // 2]
        at = (at - 1) // 2
    queue[at] = node


@bare
def _pop(q, queue, size):
    """The node with the greatest bound; the queue then has `size` others."""
    top, last = queue[0], queue[size]
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _bound(q, queue[child]) < _bound(q, queue[child + 1]):
            child += 1
        if _bound(q, last) >= _bound(q, queue[child]):
            break
        queue[at] = queue[child]
        at = child
    queue[at] = last
    return top


@njit(cache=True, nogil=True)
def rank_all(q, table, region, messages, words, answers, work):
    """Fill a `HitTable`; best first over nodes, so that the k-th hit soon rules the rest out."""
    said, queue = np.zeros(words, np.int64), np.empty(q.state[USED] + 1, np.int32)
    ascending = np.empty(len(messages.tokens), np.int32)
    hits = np.empty(256, np.int32)
    k = answers.ids.shape[1]
    for i in range(len(messages.boxes)):
        lines, box = grid_box(region, messages.boxes, i), messages.boxes[i]
        tokens = say_tokens(said, messages, i, ascending)
        ids, scores = answers.ids[i], answers.scores[i]
        size, waiting = 0, min(tokens, 1)
        queue[0] = 0
        while waiting:
            waiting -= 1
            node = _pop(q, queue, waiting)
            if size == k and _bound(q, node) < scores[0]:
                break
            work[NODES] += 1
            covered = node < 0
            node = ~node if covered else node
            if not covered:
                says = pivots_say(q, node, said)
                if says == PRUNED:
                    continue
                covered = says == COVERED
            count = q.nodes[node, COUNT]
            if count and (size < k or q.bounds[node, 1] >= scores[0]):
                if count > len(hits):
                    hits = np.empty(2 * count, np.int32)
                found = verified(
                    q, table, region, node, box, lines, said, ascending, tokens, hits, 0, work
                )
                for j in range(found):
                    size = offer(ids, scores, size, table.ids[hits[j]], table.scores[hits[j]])
            child = q.nodes[node, CHILD]
            if child >= 0:
                for side in range(4):
                    below = child + side
                    if not q.nodes[below, HELD] or not square_meets(q, below, lines):
                        continue
                    if size < k or q.bounds[below, 0] >= scores[0]:
                        _push(q, queue, waiting, ~below if covered else below)
                        waiting += 1
        forget_tokens(said, ascending, tokens)
        sort_best_first(ids, scores, size)
        answers.counts[i] = size


@fused
def _part_inside(q, node, box):
    """The part of a node's square that a box covers."""
    side = 1 << (GRID_BITS - q.nodes[node, DEPTH])
    x, y = q.nodes[node, X], q.nodes[node, Y]
    width = min(box[2] + 1, x + side) - max(box[0], x)
    height = min(box[3] + 1, y + side) - max(box[1], y)
    return (width / side) * (height / side)


@bare
def estimate(q, box, queue):
    """About how many nodes, and entries, the filter leaves of a message whatever its text.

    `queue` has room for `_MOST_ESTIMATED + 4` nodes.
    """
    nodes, entries = 0.0, 0.0
    at, end = 0, 1
    queue[0] = 0
    while at < end:
        node = queue[at]
        at += 1
        child = q.nodes[node, CHILD]
        if child < 0 or end + 4 > len(queue):
            part = _part_inside(q, node, box) if child >= 0 else 1.0
            nodes += part * q.nodes[node, LEAVES]
            entries += part * q.nodes[node, HELD]
            continue
        if q.nodes[node, COUNT]:
            nodes += 1
            entries += q.nodes[node, COUNT]
        for side in range(4):
            if q.nodes[child + side, HELD] and square_meets(q, child + side, box):
                queue[end] = child + side
                end += 1
    return nodes, entries


@njit(cache=True, nogil=True)
def estimate_all(q, region, boxes):
    """`estimate` for each message: f8[m, 2]."""
    estimates = np.empty((len(boxes), 2))
    queue = np.empty(_MOST_ESTIMATED + 4, np.int32)
    for i in range(len(boxes)):
        estimates[i] = estimate(q, grid_box(region, boxes, i), queue)
    return estimates
