"""`LFilter`: an MBRTrie and a PT-Quadtree over the same records; each message takes the better one
(the seed, §5).

What an index is going to cost a message is estimated from how much it would look at, in steps whose
times were measured (`_NANOSECONDS`).

- Of the quadtree: how many nodes and entries its filter leaves at the message's place (§5.3).  What
  is left of a list by pruning it by the trie's first level, rarest tokens, are the entries whose
  rarest token the message has (§5.2; `quadtree_search` says how, and chooses list by list between
  that and reading all of it, as Eq. 5 and 6 have it).
- Of the trie (Eq. 1 and 2, but that tokens need not be equally frequent): for each token of the
  message, how many subscriptions the trie has below it at its first level, and how much work so
  many are at a place, on the average, which is tried out.
- Of both: how many of the subscriptions with these tokens a box meets besides those in its middle,
  if they are spread as the quadtree expects all of them to be.

Both change little while subscriptions come and go, and are taken anew whenever the records are laid
out anew, which is when half as much has changed as there is.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from indexes.hits import HitTable
from indexes.kernels.bits import highest_bit
from indexes.spatial_text.index import Messages, SpatialTextIndex
from indexes.spatial_text.mbr_trie import MBRTrie
from indexes.spatial_text.pt_quadtree import PTQuadtree
from indexes.spatial_text.quadtree import HELD, grid_box
from indexes.spatial_text.quadtree_search import estimate

__all__ = ["LFilter"]

_TRIED = 64  # places, and tokens, with which each size of what is below a token is tried out


class _Steps(NamedTuple):
    trie_token: float  # of a message
    trie_node: float  # visited
    trie_row: float  # looked at below the message's tokens, at its place
    trie_met: float  # below its tokens, and met by its box besides those in the middle
    quad_message: float
    quad_entry: float  # read in turn
    quad_probe: float  # step of a search for a token, from that of the token before it
    quad_candidate: float  # whose rarest token the message has
    quad_met: float  # as in the trie
    second_part: float  # of a batch: more than to ask only one of the indexes


# Least squares of relative errors over 280 groups of messages, on two cores of an AMD EPYC: 200,000
# to 3,000,000 subscriptions with boxes of 0.1 to 3 degrees on a side, and those of the benchmarks;
# 6 to 1000 tokens; points and boxes of up to 20 degrees.  To choose the index of a group by them
# costs 1 % more than to know which is the better one.
_NANOSECONDS = _Steps(
    trie_token=24.0,
    trie_node=44.0,
    trie_row=18.0,
    trie_met=40.0,
    quad_message=360.0,
    quad_entry=4.3,
    quad_probe=4.3,
    quad_candidate=13.0,
    quad_met=44.0,
    second_part=150_000.0,
)
_ESTIMATED = 68  # nodes of the quadtree that an estimate looks at


class _Costs(NamedTuple):
    """What is known of both indexes before a message comes; of what came later, nothing is."""

    tokens: np.ndarray  # f4[tokens, 2]  nanoseconds in the trie at a place, subscriptions below
    sizes: np.ndarray  # f8[2]  how many entries the quadtree has, and how many subscriptions


class LFilter(SpatialTextIndex):
    """
    >>> index = LFilter()
    >>> index.insert(1, (25, 0, 30, 20), ["a", "b", "c"])
    >>> index.insert(4, (20, 10, 28, 18), ["b", "c", "d"])
    >>> index.match((26, 14, 26, 14), ["b", "c", "d", "e", "f"])
    [4]
    """

    def __init__(
        self,
        bucket: int = 16,
        loose: int = 512,
        tau_num: int = 128,
        within: SpatialTextIndex | None = None,
    ) -> None:
        """Options as those of the two indexes."""
        super().__init__(within)
        self.trie = MBRTrie(bucket=bucket, loose=loose, within=self)
        self.quadtree = PTQuadtree(tau_num=tau_num, within=self)
        self._costs = _Costs(np.zeros((0, 2), np.float32), np.ones(2))
        self._by_trie = self._by_quadtree = 0

    @property
    def by_trie(self) -> int:
        """How many messages the trie has answered."""
        return self._by_trie

    @property
    def by_quadtree(self) -> int:
        """How many messages the quadtree has answered."""
        return self._by_quadtree

    @property
    def structure_nbytes(self) -> int:
        parts = self.trie.structure_nbytes + self.quadtree.structure_nbytes
        return parts + sum(array.nbytes for array in self._costs)

    def add_rows(self, rows: np.ndarray) -> None:
        self.trie.take_rows(rows)
        if self.trie.is_worn:
            self.rebuild()
        else:
            self.trie.settle()
            self.quadtree.add_rows(rows)

    def remove_rows(self, rows: np.ndarray) -> None:
        self.trie.remove_rows(rows)
        self.quadtree.remove_rows(rows)

    def rebuild(self) -> None:
        self.trie.rebuild()
        self.quadtree.rebuild()
        self._try_out()

    def check_structure(self) -> None:
        self.trie.check_structure()
        self.quadtree.check_structure()
        assert np.isfinite(self._costs.tokens).all()
        assert (self._costs.tokens >= 0).all()
        assert len(self._costs.tokens) <= self.dictionary.size

    def _try_out(self) -> None:
        """Learn what tokens cost at a place, from messages of one token at places of boxes."""
        below = self.trie.first_level()
        costs = np.zeros((len(below), 2), np.float32)
        costs[:, 1] = below
        live = self.records.live()
        if len(live):
            boxes = self.records.table.boxes[live[:: len(live) // _TRIED + 1]]
            boxes = boxes[np.isfinite(boxes).all(axis=1)]
            middles = 0.5 * boxes[:, :2] + 0.5 * boxes[:, 2:]
            places = np.tile(middles, 2) if len(boxes) else np.zeros((1, 4))
            bits = np.frexp(below.astype(np.float64))[1]
            for size in range(1, int(bits.max()) + 1):
                tokens = np.flatnonzero(bits == size)
                if len(tokens):
                    costs[tokens, 0] = self._time_at(places, tokens[:: len(tokens) // _TRIED + 1])
        in_all = float(self.quadtree.tree.nodes[0, HELD])
        sizes = np.array([max(1.0, in_all), max(1.0, float(len(live)))])
        self._costs = _Costs(costs, sizes)

    def _time_at(self, places: np.ndarray, tokens: np.ndarray) -> float:
        """What the trie needs on the average for one of these tokens at one of these places."""
        chosen = np.resize(tokens, len(places)).astype(np.int32)
        nodes, rows = self.trie.work_of(Messages(places, chosen, np.arange(len(places) + 1)))
        return (_NANOSECONDS.trie_node * nodes + _NANOSECONDS.trie_row * rows) / len(places)

    def _by_trie_of(self, messages: Messages) -> tuple[np.ndarray, int]:
        """Which messages the trie is to answer, and how many they are."""
        tree, region = self.quadtree.tree, self.quadtree.region
        chosen, by_trie = _choose(
            self._costs, _NANOSECONDS, self.trie.growth, tree, region, messages
        )
        self._by_trie += by_trie
        self._by_quadtree += len(chosen) - by_trie
        return chosen, by_trie

    def _match(self, messages: Messages) -> tuple[np.ndarray, np.ndarray]:
        chosen, by_trie = self._by_trie_of(messages)
        if by_trie == len(chosen):
            return self.trie._match(messages)
        if not by_trie:
            return self.quadtree._match(messages)
        mine = self.trie.match_columns(*_those(messages, chosen, True))
        its = self.quadtree.match_columns(*_those(messages, chosen, False))
        return _interleave(chosen, mine, its)

    def _rank(self, messages: Messages, table: HitTable) -> None:
        chosen, by_trie = self._by_trie_of(messages)
        if by_trie == len(chosen):
            self.trie._rank(messages, table)
        elif not by_trie:
            self.quadtree._rank(messages, table)
        else:
            for index, value in ((self.trie, True), (self.quadtree, False)):
                boxes, tokens, starts = _those(messages, chosen, value)
                part = index.top_k_columns(boxes, tokens, starts, table.ids.shape[1])
                for mine, its in zip(table, part, strict=True):
                    mine[chosen == value] = its


@njit(cache=True, nogil=True)
def _choose(costs, steps, growth, tree, region, messages):
    """For each message, whether the trie is to answer, and for how many; `growth` is the trie's.

    The tokens of a message are not added up any further when the quadtree has won.  Both are asked
    only if each is quicker by more than it takes to ask another one.
    """
    starts = messages.starts
    in_all, subscriptions = costs.sizes
    chosen = np.zeros(len(messages.boxes), np.bool_)
    queue = np.empty(_ESTIMATED, np.int32)
    by_trie = 0
    trie_gains = quadtree_gains = 0.0
    for i in range(len(chosen)):
        box = grid_box(region, messages.boxes, i)
        nodes, entries = estimate(tree, box, queue)
        x, y = (box[0] + box[2]) >> 1, (box[1] + box[3]) >> 1
        share = 0.0
        if box[0] < box[2] or box[1] < box[3]:
            _, at_place = estimate(tree, (x, y, x, y), queue)
            share = min(1.0, max(0.0, entries - at_place) / in_all)
        tokens = starts[i + 1] - starts[i]
        between = np.int64(entries / max(1.0, nodes * tokens))  # two tokens of a list
        probes = nodes * tokens * (highest_bit(between + 1) + 2)
        reading = steps.quad_message + min(steps.quad_probe * probes, steps.quad_entry * entries)
        most = reading + steps.quad_candidate * entries + steps.quad_met * share * subscriptions
        trie, below = growth * steps.trie_token * tokens, 0.0
        for token in messages.tokens[starts[i] : starts[i + 1]]:
            if token < len(costs.tokens):
                trie += growth * (
                    costs.tokens[token, 0] + steps.trie_met * share * costs.tokens[token, 1]
                )
                below += costs.tokens[token, 1]
            if trie > most:
                break
        having = steps.quad_candidate * entries / subscriptions + steps.quad_met * share
        quadtree = min(most, reading + growth * below * having)
        if trie < quadtree:
            chosen[i] = True
            by_trie += 1
            trie_gains += quadtree - trie
        else:
            quadtree_gains += trie - quadtree
    if 0 < by_trie < len(chosen) and min(trie_gains, quadtree_gains) < steps.second_part:
        chosen[:] = trie_gains > quadtree_gains
        by_trie = len(chosen) if trie_gains > quadtree_gains else 0
    return chosen, by_trie


@njit(cache=True, nogil=True)
def _those(messages, chosen, value):
    """The messages that are chosen, or those that are not."""
    count = total = 0
    for i in range(len(chosen)):
        if chosen[i] == value:
            count += 1
            total += messages.starts[i + 1] - messages.starts[i]
    boxes, tokens = np.empty((count, 4)), np.empty(total, np.int32)
    starts = np.zeros(count + 1, np.int64)
    at = 0
    for i in range(len(chosen)):
        if chosen[i] == value:
            boxes[at] = messages.boxes[i]
            first, last = messages.starts[i], messages.starts[i + 1]
            starts[at + 1] = starts[at] + last - first
            tokens[starts[at] : starts[at + 1]] = messages.tokens[first:last]
            at += 1
    return boxes, tokens, starts


@njit(cache=True, nogil=True)
def _interleave(chosen, mine, its):
    """The matches of all messages, of those chosen from the one part, else from the other."""
    ids = np.empty(len(mine[0]) + len(its[0]), np.int64)
    starts = np.zeros(len(chosen) + 1, np.int64)
    at_mine = at_its = used = 0
    for i in range(len(chosen)):
        if chosen[i]:
            own, first, last = mine[0], mine[1][at_mine], mine[1][at_mine + 1]
            at_mine += 1
        else:
            own, first, last = its[0], its[1][at_its], its[1][at_its + 1]
            at_its += 1
        ids[used : used + last - first] = own[first:last]
        used += last - first
        starts[i + 1] = used
    return ids, starts
