"""Who works for a collection of each kind: its pipeline, as data.

    events → router → frames → matcher → partials → merger → matches

`podium worker ROLE`, `podium up`, the consumer groups that `podium status` looks at, the warm-up
and the demo all follow this table.  It imports nothing that takes long: a worker answers for its
health before it loads an index.
"""

from collections.abc import Callable
from typing import Any, NamedTuple


class Role(NamedTuple):
    """One kind of process.

    `<package>.<name>` has `run(context) -> exit code`, and `<package>.warm_up` has
    `warm_up(collection)`, which compiles all that the role calls.
    """

    name: str
    package: str
    reads: str  # the topic that its work comes from
    groups: tuple[str, ...]  # consumer groups (`topics.catalogue`) whose lag is the role's
    # Whether it holds shards: as many processes as one likes share them, and one that is back in
    # time keeps its own (`--instance-id`).
    holds_shards: bool = False


class Kind(NamedTuple):
    pipeline: tuple[Role, ...]
    # A small subscription that constrains this attribute, its number telling it from others.
    sample: Callable[[str, int], dict[str, Any]]
    # Attributes of collections whose indexes are compiled apart.
    shapes: tuple[tuple[str, ...], ...]


MATCHING = (
    Role("router", "workers.router", "events", ("router",)),
    Role("matcher", "workers.matcher", "frames", ("matcher", "feed"), holds_shards=True),
    Role("merger", "workers.merger", "partials", ("merger",)),
)

KINDS: dict[str, Kind] = {
    "ranked": Kind(
        pipeline=MATCHING,
        sample=lambda name, number: {"where": {name: [None, number]}, "score": number},
        shapes=(("a",), ("a", "b")),
    ),
    "relaxed": Kind(
        pipeline=MATCHING,
        sample=lambda name, number: {"where": {name: [None, number]}, "weights": {name: number}},
        shapes=(("a", "b"),),
    ),
    "boolean": Kind(
        pipeline=MATCHING,
        sample=lambda name, number: {"all": [{"attr": name, "op": "<=", "value": number}]},
        shapes=(("a",),),
    ),
}


def roles() -> dict[str, Role]:
    """Every role of every pipeline, by name."""
    return {role.name: role for kind in KINDS.values() for role in kind.pipeline}
