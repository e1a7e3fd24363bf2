"""Whether there is room: asked before kernels grow into arrays, for nothing checks that later.

Each question is about one step, and counts all that the step may take, as if no run were free to
be taken again.  Three facts bound it: a run for n has at most n + n / 8 + 8 places, and never more
than 8 n; one that is outgrown is followed by one with room for at least 8 more; and a step takes
at most one run for the p-nodes that it adds to a c-node, however many they are.
"""

from indexes.boolean.masks import CHUNK
from indexes.boolean.tree_layout import (
    E_COUNT,
    LONGEST,
    PDIR_COUNT,
    USED_C,
    USED_D,
    USED_E,
    USED_M,
    USED_P,
)
from indexes.boolean.tree_runs import class_of, room_of
from indexes.kernels.decorators import bare

LEAST_RUN = 8


@bare
def can_enter(t):
    """Whether a row finds its way: by a new p-node of the root, or a new bucket, or both.

    A bucket that is new has no members yet, and takes the shortest run for its first.
    """
    return (
        t.state[USED_C] + 2 <= len(t.c)
        and t.state[USED_P] + 1 <= len(t.p)
        and t.state[USED_M] + LEAST_RUN + CHUNK <= len(t.m_low)
        and t.state[USED_E] + LEAST_RUN + room_of(class_of(t.state[LONGEST] + 1)) + CHUNK
        <= len(t.e_node)
        and t.state[USED_D] + room_of(class_of(t.c[0, PDIR_COUNT] + 1)) <= len(t.d_node)
    )


@bare
def can_fill(t, members):
    """Whether a run for so many members can be taken, and be read by chunks."""
    return t.state[USED_M] + room_of(class_of(members)) + CHUNK <= len(t.m_low)


@bare
def can_part(t, node, members):
    """Whether so many members of a c-node can be clustered and partitioned once.

    That makes two buckets at most, whose entries make one run longer by two; and a p-node with a
    bucket for each column that members have.  The root's p-nodes have a run of entries each, those
    of another c-node one together.
    """
    new = min(members, len(t.at_root))
    beside = room_of(class_of(t.state[LONGEST] + 2))
    below = LEAST_RUN * new if node == 0 else room_of(class_of(t.c[node, E_COUNT] + new))
    return (
        t.state[USED_C] + new + 2 <= len(t.c)
        and t.state[USED_P] + new <= len(t.p)
        and t.state[USED_E] + beside + below + CHUNK <= len(t.e_node)
        and t.state[USED_D] + room_of(class_of(t.c[node, PDIR_COUNT] + new)) <= len(t.d_node)
    )


@bare
def can_split(t, node, members):
    """Whether an l-node can take its last member and be split, however small the parts are."""
    taken = room_of(class_of(members)) + LEAST_RUN * members
    return t.state[USED_M] + taken + CHUNK <= len(t.m_low) and can_part(t, node, members)
