"""The arrays of a BE*-tree: c-nodes, p-nodes, directories and the members of l-nodes.

A c-node (cluster) holds an l-node, a p-directory and the place of its bucket among the buckets of
its p-node (partition): `left` and `right` never overlap, the c-node's own members lie across
them.  Where the paper keeps bounds as values, they are codes here (see `codes`).

All buckets of a p-node stand one after another in `entries`, so that stabbing them is one pass
over words and not a descent; below the root the buckets of all p-nodes of a c-node share one run.
In the same way the p-nodes of a c-node are a run of `directory`, and the members of an l-node are
runs of columns, each of which is tested for many members at a time: the codes on the c-node's own
column, the fingerprint of an equality on it, hints of two further predicates, the sum of weights
with marks of the columns beside the path, a word that tests a further predicate, and a record with
what is asked of the few that are left, among it how their weights are shared by columns.
A word packs column + 1, low and high; column + 1 is 0 where there is nothing to test.

Row 0 of `c` is the root.
"""

from typing import NamedTuple

import numpy as np

from indexes.boolean.masks import CHUNK
from indexes.kernels import NIL
from indexes.kernels.aligned import aligned_zeros
from indexes.kernels.decorators import bare, fused

MOST_DEPTH = 8  # levels of partitioning
CARD_LEVELS = 4  # of them an l-node knows bounds of weights
GROUPS = 64  # of other columns, for which it knows bounds of weights

# Fields of a c-node.
SEGMENT, ROOM, COUNT, LIMIT = 0, 1, 2, 3  # the l-node's run, and the capacity before it is split
PDIR, PDIR_ROOM, PDIR_COUNT = 4, 5, 6
PNODE, LEFT, RIGHT, OVER, ENTRY, DEPTH = 7, 8, 9, 10, 11, 12
E_START, E_ROOM, E_COUNT = 13, 14, 15  # the entries of all its p-nodes, but for the root
C_FIELDS = 16
# Fields of a card: the least and the greatest weight of a member on each column of the path, in
# parts (1/255) of `heaviest`; the most predicates on other columns that a member has, up to 255;
# and the way in which these columns are spread over groups.
LEAST, GREATEST, OTHERS, SPREAD = 0, CARD_LEVELS, 2 * CARD_LEVELS, 2 * CARD_LEVELS + 1
CARD_FIELDS = 2 * CARD_LEVELS + 2
NOBODY = 255  # in place of a least weight, where no member has one
# Fields of a p-node.
COLUMN, PARENT, START, START_ROOM, ENTRIES, ROOT, SIZE = 0, 1, 2, 3, 4, 5, 6
P_FIELDS = 8
# Fields of `state`.
USED_C, FREE_C, USED_P, FREE_P, USED_M, USED_E, USED_D = 0, 1, 2, 3, 4, 5, 6
LONGEST = 7  # run of entries there has been
MEMBERS, ENTRY_RUNS, DIRECTORY = 0, 1, 2  # kinds of runs
CLASSES = 224  # sizes of runs
MOST_CODED = (1 << 16) - 2  # columns that fit a word
NOTHING = (1 << 8) | 255  # a word that every event passes
# Fields of a member's record: two words; how the sum of weights is shared by the own column and
# the three words' ones, a byte each, in parts (1/255); and the row.
SECOND, THIRD, SHARES, ROW = range(4)
FOLDS = 128  # columns are folded to so many, so that a byte of `m_told` holds one,
MORE_COLUMNS = FOLDS  # or says that they are more than fit
TOLD = 4  # columns and shares, of predicates that SHARES leaves out, that a member has


class Tree(NamedTuple):
    c: np.ndarray  # i4[c-nodes, C_FIELDS]
    own: np.ndarray  # u1[c-nodes, MOST_DEPTH, 2]  box of l-node and p-directory; low > high: none
    total: np.ndarray  # u1[c-nodes, MOST_DEPTH, 2]  with left and right
    paths: np.ndarray  # i4[c-nodes, CARD_LEVELS]  column + 1 of the first levels; 0: none
    cards: np.ndarray  # u1[c-nodes, CARD_FIELDS]
    caps: np.ndarray  # u1[c-nodes, GROUPS]  greatest weight of a member in each group, in parts too
    floors: np.ndarray  # u1[c-nodes, GROUPS]  least weight, of the members with one of its columns
    heaviest: np.ndarray  # f4[c-nodes]  no weight of a member on the card or in a group is greater
    best: np.ndarray  # f4[c-nodes]  greatest sum of weights in the l-node
    top: np.ndarray  # f4[c-nodes]  ... and in the p-directory
    oldest: np.ndarray  # i8[c-nodes]  least id in the l-node
    printed: np.ndarray  # b1[c-nodes]  whether a member has a fingerprint
    alike: np.ndarray  # b1[c-nodes]  whether `own` has one code on the c-node's column
    lost: np.ndarray  # i8[c-nodes]  false candidates in the l-node that searches have met
    p: np.ndarray  # i4[p-nodes, P_FIELDS]
    p_top: np.ndarray  # f4[p-nodes]
    e_word: np.ndarray  # u4[entries]  column + 1, low and high of a c-node's own members
    e_low: np.ndarray  # u1[entries]  the same codes
    e_high: np.ndarray  # u1[entries]
    e_node: np.ndarray  # i4[entries]
    e_top: np.ndarray  # f4[entries]
    d_column: np.ndarray  # i4[directory]
    d_node: np.ndarray  # i4[directory]
    m_low: np.ndarray  # u1[members]
    m_high: np.ndarray  # u1[members]
    m_print: np.ndarray  # u1[members]  what an equality on the own column asks for, or ANY
    m_hint: np.ndarray  # u1[members]  of the predicate that the first word tests, see `hints`
    m_other: np.ndarray  # u1[members]  ... and of the second one's
    m_first: np.ndarray  # u4[members]  the word that rejects most
    m_sum: np.ndarray  # f4[members]  sum of weights, never too small
    m_beside: np.ndarray  # u4[members]  marks of the columns beside the path: see `tree_groups`
    m_record: np.ndarray  # u4[members, 4]  SECOND, THIRD, SHARES, ROW
    m_told: np.ndarray  # u2[members, TOLD]  folded column << 8 | share; the last one: of all others
    where: np.ndarray  # i4[rows]  the c-node of each row
    at_root: np.ndarray  # i4[columns]  the root's p-node of each column
    free: np.ndarray  # i4[3, CLASSES]  first free run of each kind and size
    state: np.ndarray  # i8[8]


C_ARRAYS = (
    "c",
    "own",
    "total",
    "paths",
    "cards",
    "caps",
    "floors",
    "heaviest",
    "best",
    "top",
    "oldest",
    "printed",
    "alike",
    "lost",
)
P_ARRAYS = ("p", "p_top")
E_ARRAYS = ("e_word", "e_low", "e_high", "e_node", "e_top")
D_ARRAYS = ("d_column", "d_node")
M_ARRAYS = (
    "m_low",
    "m_high",
    "m_print",
    "m_hint",
    "m_other",
    "m_first",
    "m_sum",
    "m_beside",
    "m_record",
    "m_told",
)


def blank_tree(c: int, p: int, entries: int, directory: int, members: int) -> Tree:
    """Room for so many of each, and not even a root."""
    entries, members = entries + CHUNK, members + CHUNK  # which are read by chunks
    return Tree(
        c=aligned_zeros((c, C_FIELDS), np.int32),
        own=aligned_zeros((c, MOST_DEPTH, 2), np.uint8),
        total=aligned_zeros((c, MOST_DEPTH, 2), np.uint8),
        paths=aligned_zeros((c, CARD_LEVELS), np.int32),
        cards=aligned_zeros((c, CARD_FIELDS), np.uint8),
        caps=aligned_zeros((c, GROUPS), np.uint8),
        floors=aligned_zeros((c, GROUPS), np.uint8),
        heaviest=aligned_zeros(c, np.float32),
        best=aligned_zeros(c, np.float32),
        top=aligned_zeros(c, np.float32),
        oldest=aligned_zeros(c, np.int64),
        printed=aligned_zeros(c, np.bool_),
        alike=aligned_zeros(c, np.bool_),
        lost=aligned_zeros(c, np.int64),
        p=aligned_zeros((p, P_FIELDS), np.int32),
        p_top=aligned_zeros(p, np.float32),
        e_word=aligned_zeros(entries, np.uint32),
        e_low=aligned_zeros(entries, np.uint8),
        e_high=aligned_zeros(entries, np.uint8),
        e_node=aligned_zeros(entries, np.int32),
        e_top=aligned_zeros(entries, np.float32),
        d_column=aligned_zeros(directory, np.int32),
        d_node=aligned_zeros(directory, np.int32),
        m_low=aligned_zeros(members, np.uint8),
        m_high=aligned_zeros(members, np.uint8),
        m_print=aligned_zeros(members, np.uint8),
        m_hint=aligned_zeros(members, np.uint8),
        m_other=aligned_zeros(members, np.uint8),
        m_first=aligned_zeros(members, np.uint32),
        m_sum=aligned_zeros(members, np.float32),
        m_beside=aligned_zeros(members, np.uint32),
        m_record=aligned_zeros((members, 4), np.uint32),
        m_told=aligned_zeros((members, TOLD), np.uint16),
        where=np.zeros(0, np.int32),
        at_root=np.zeros(0, np.int32),
        free=np.full((3, CLASSES), NIL, np.int32),
        state=np.array([0, NIL, 0, NIL, 0, 0, 0, 0]),
    )


@fused
def word_of(column, low, high):
    """A test of a code; a column that does not fit is left to exact evaluation."""
    if column > MOST_CODED:
        return NOTHING if low <= high else 255 << 8
    return ((column + 1) << 16) | (low << 8) | high


@fused
def row_of(t, at):
    return np.int64(t.m_record[at, ROW])


@fused
def copy_entry(t, source, to):
    t.e_word[to], t.e_node[to], t.e_top[to] = t.e_word[source], t.e_node[source], t.e_top[source]
    t.e_low[to], t.e_high[to] = t.e_low[source], t.e_high[source]


@fused
def copy_members(t, source, to, count):
    """Copy a run to another place, array by array: many members at a time."""
    _copy_run(t.m_low, source, to, count)
    _copy_run(t.m_high, source, to, count)
    _copy_run(t.m_print, source, to, count)
    _copy_run(t.m_hint, source, to, count)
    _copy_run(t.m_other, source, to, count)
    _copy_run(t.m_first, source, to, count)
    _copy_run(t.m_sum, source, to, count)
    _copy_run(t.m_beside, source, to, count)
    for i in range(count):
        for field in range(4):
            t.m_record[to + i, field] = t.m_record[source + i, field]
    for i in range(count):
        for place in range(TOLD):
            t.m_told[to + i, place] = t.m_told[source + i, place]


@bare
def _copy_run(array, source, to, count):
    for i in range(count):
        array[to + i] = array[source + i]
