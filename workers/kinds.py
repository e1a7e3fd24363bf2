"""Who works for a collection of each kind: its pipeline, as data.

    events → router → frames → matcher → partials → merger → matches     layout: sharded
    events → node → matches                                              layout: replicated

`podium worker ROLE`, `podium up`, the consumer groups that `podium status` looks at, the warm-up
and the demo all follow this table.  It imports nothing that takes long: a worker answers for its
health before it loads an index.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from configs.collection import Collection


def _is_wanted(collection: "Collection") -> str:
    return ""


class Parts(NamedTuple):
    """What a role keeps snapshots of."""

    of: str  # for `SnapshotKeeper`: nothing for the shards of a collection
    word: str
    count: Callable[["Collection"], int]


SHARDS = Parts("", "shard", lambda collection: collection.shards)
WORLD = Parts("painter", "painter", lambda collection: 1)
ZONES = Parts("zones", "zone", lambda collection: collection.zones)


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
    snapshots: Parts | None = None
    layout: str = ""  # the only one of a collection in which it works, if there is one
    # Why a collection of the kind does without it, if so.
    left_out: Callable[["Collection"], str] = _is_wanted


class Kind(NamedTuple):
    pipeline: tuple[Role, ...]
    # A small subscription that constrains this attribute, its number telling it from others.
    sample: Callable[[str, int], dict[str, Any]]
    # Attributes of collections whose indexes are compiled apart.
    shapes: tuple[tuple[str, ...], ...]
    # A small event that those subscriptions may match.
    event: dict[str, Any] = {}  # noqa: RUF012


MATCHING = (
    Role("router", "workers.router", "events", ("router",), layout="sharded"),
    Role(
        "matcher",
        "workers.matcher",
        "frames",
        ("matcher", "feed"),
        holds_shards=True,
        snapshots=SHARDS,
        layout="sharded",
    ),
    Role("merger", "workers.merger", "partials", ("merger",), layout="sharded"),
    # Its events' offsets are in the routers' group, so that it goes on where they have stopped.
    Role(
        "node",
        "workers.node",
        "events",
        ("router", "feed"),
        holds_shards=True,
        snapshots=SHARDS,
        layout="replicated",
    ),
)


def _painted_elsewhere(collection: "Collection") -> str:
    if collection.painter == "live":
        return ""
    job = f"podium spark paint-batch --collection {collection.name}"
    return f"painter: batch, so the Spark job paints, and no worker: {job}"


def _lists_kept_elsewhere(collection: "Collection") -> str:
    if collection.deliver == "lists":
        return ""
    return "deliver: messages, so gateways keep the lists, and no worker"


LISTING = (
    Role(
        "painter",
        "workers.painter",
        "objects",
        ("painter", "subscriptions"),
        snapshots=WORLD,
        left_out=_painted_elsewhere,
    ),
    Role(
        "zone",
        "workers.zones",
        "messages",
        ("zone",),
        holds_shards=True,
        snapshots=ZONES,
        left_out=_lists_kept_elsewhere,
    ),
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
    "spatial_text": Kind(
        pipeline=MATCHING,
        sample=lambda name, number: {
            "area": {"circle": [number, 0, 1000 * number]},
            "tokens": ["pizza"],
            "decay": {"metres": 500},
        },
        shapes=(("a",),),
        event={"point": [1, 0], "text": "pizza"},
    ),
    "range_topk": Kind(
        pipeline=LISTING,
        sample=lambda name, number: {"range": [None, number], "k": 1},
        shapes=((),),
    ),
}


def roles() -> dict[str, Role]:
    """Every role of every pipeline, by name."""
    return {role.name: role for kind in KINDS.values() for role in kind.pipeline}


def roles_of(collection: "Collection") -> list[Role]:
    """Those that work for a collection: of its layout, apart from what its settings leave out."""
    return [role for role in _of_layout(collection) if not role.left_out(collection)]


def left_out(collection: "Collection") -> dict[str, str]:
    """Why roles of a collection's layout do not work for it, by name."""
    reasons = {role.name: role.left_out(collection) for role in _of_layout(collection)}
    return {name: reason for name, reason in reasons.items() if reason}


def _of_layout(collection: "Collection") -> list[Role]:
    pipeline = KINDS[collection.kind].pipeline
    return [role for role in pipeline if role.layout in ("", collection.layout)]


def refusal(collection: "Collection", name: str) -> str:
    """Why no role of this name works for a collection; nothing if one does."""
    names = [role.name for role in _of_layout(collection)]
    if name not in names:
        expected = f"expected one of {', '.join(names)}"
        those = f"these work for kind {collection.kind}"
        if any(role.name == name for role in KINDS[collection.kind].pipeline):
            those = f"these work with layout: {collection.layout}"
        return f"got role {name}, {expected}: {those}"
    return left_out(collection).get(name, "")
