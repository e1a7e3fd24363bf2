"""`podium snapshot`: what Redis holds of a collection's shards, or of its painter and zones."""

import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from podium.terminal import (
    CollectionOption,
    ConfigOption,
    Exit,
    Failure,
    JsonOption,
    StackOption,
    counted,
    note,
    printable,
    say,
    say_json,
    settings_path,
)

if TYPE_CHECKING:
    from configs import Collection
    from workers.kinds import Parts
    from workers.snapshots import NoSnapshot, Pointer, SnapshotStore

    Rows = dict[tuple[Parts, int], Pointer | NoSnapshot]

REMEDY = "start a local stack with `podium up`, or set redis.url"
UNITS = (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))

snapshot = typer.Typer(
    no_args_is_help=True, help="Snapshots of what workers hold, in Redis: ls, verify, drop."
)
ShardOption = Annotated[
    int | None,
    typer.Option(
        "--shard", metavar="N", min=0, help="This shard, or zone, only.", show_default="all"
    ),
]


def register(app: typer.Typer) -> None:
    app.add_typer(snapshot, name="snapshot")


@snapshot.command("ls")
def list_snapshots(
    collection: CollectionOption = "ads",
    shard: ShardOption = None,
    config: ConfigOption = None,
    folder: StackOption = None,
    as_json: JsonOption = False,
) -> None:
    """List what there is for each shard: subscriptions, offset, size, age, who wrote it.

    Of a collection of lists it shows the painter and each zone.
    """
    rows: Rows = {}
    with _opened(settings_path(config, folder), collection, shard) as found:
        for held in found.held:
            listed = held.store.ls(held.numbers)
            rows.update({(held.parts, number): row for number, row in listed.items()})
    _show(rows, as_json)


@snapshot.command()
def verify(
    collection: CollectionOption = "ads",
    shard: ShardOption = None,
    config: ConfigOption = None,
    folder: StackOption = None,
    as_json: JsonOption = False,
) -> None:
    """Read snapshots whole and check them as a worker would; exits 1 if one is not usable.

    A worker also compares the topic, which needs Kafka and is left out here.
    """
    from workers.snapshots import Expected, NoSnapshot

    rows: Rows = {}
    with _opened(settings_path(config, folder), collection, shard) as found:
        expected = Expected.of(found.collection, topic_id=None)
        for held, number in found.every():
            try:
                rows[held.parts, number] = held.store.verify(number, expected)
            except NoSnapshot as absent:
                if absent.reason == "unreachable":
                    raise
                rows[held.parts, number] = absent
    _show(rows, as_json)
    if any(isinstance(row, NoSnapshot) for row in rows.values()):
        raise typer.Exit(Exit.WRONG)


@snapshot.command()
def drop(
    collection: CollectionOption = "ads",
    shard: ShardOption = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    config: ConfigOption = None,
    folder: StackOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove snapshots: the next worker of the shard replays its subscriptions from Kafka.

    A worker that holds the shard writes a new one when it is time. Zones whose `messages` are no
    longer all there get their lists from the painter instead.
    """
    with _opened(settings_path(config, folder), collection, shard) as found:
        if not yes:
            _ask(found)
        dropped = [(h.parts, number) for h, number in found.every() if h.store.drop(number)]
    if as_json:
        say_json({"dropped": [_number(*part) for part in dropped]})
    elif dropped:
        say(f"dropped {_named(dropped)}")
    else:
        say("there was none")


class Held(NamedTuple):
    """What one role has snapshots of."""

    parts: "Parts"
    store: "SnapshotStore"
    numbers: list[int]


class Opened(NamedTuple):
    collection: "Collection"
    held: list[Held]

    def every(self) -> "Iterator[tuple[Held, int]]":
        return ((held, number) for held in self.held for number in held.numbers)


@contextmanager
def _opened(file: Path | None, name: str, shard: int | None) -> Iterator[Opened]:
    """The store; a Redis that does not answer ends the command."""
    from configs import load_collection, load_settings
    from storage.redis_client import open_redis
    from workers.snapshots import NoSnapshot, SnapshotFailed, SnapshotStore, stored_name

    settings = load_settings(file)
    collection = load_collection(name, settings.collections)
    parts = _parts_of(collection, shard)
    server = settings.redis
    with closing(open_redis(server.url.get_secret_value(), server.timeout_s)) as client:
        held = [
            Held(one, SnapshotStore.of(client, settings, stored_name(collection, one.of)), numbers)
            for one, numbers in parts.items()
        ]
        try:
            yield Opened(collection, held)
        except (NoSnapshot, SnapshotFailed) as error:
            unanswered = error.reason in ("unreachable", "slow")
            code, remedy = (Exit.UNREACHABLE, REMEDY) if unanswered else (Exit.WRONG, "")
            raise Failure(f"Redis at {server.url}: {error}", remedy, code) from error


def _parts_of(collection: "Collection", number: int | None) -> "dict[Parts, list[int]]":
    """Numbers by what they are of: of all, or one shard or zone."""
    from workers.kinds import KINDS

    pipeline = KINDS[collection.kind].pipeline
    if number is None:
        return {
            role.snapshots: list(range(role.snapshots.count(collection)))
            for role in pipeline
            if role.snapshots
        }
    numbered = next(role.snapshots for role in pipeline if role.holds_shards and role.snapshots)
    if number >= numbered.count(collection):
        known = f"expected 0 to {numbered.count(collection) - 1} of {collection.name}"
        raise Failure(f"got {numbered.word} {number}, {known}", exit_code=Exit.USAGE)
    return {numbered: [number]}


def _ask(found: Opened) -> None:
    if not sys.stdin.isatty():
        raise Failure("dropping needs a yes", "add --yes", Exit.USAGE)
    named = _named([(held.parts, number) for held, number in found.every()])
    question = f"Drop the snapshots of {found.collection.name}, {named}?"
    if not typer.confirm(question, err=True):
        note("podium: nothing was dropped")
        raise typer.Exit(Exit.WRONG)


def _show(rows: "Rows", as_json: bool) -> None:
    if as_json:
        say_json([_as_json(*part, row) for part, row in rows.items()])
        return
    for (parts, number), row in rows.items():
        say(f"{_one(parts, number)}: {printable(_as_line(row))}")


def _as_line(row: "Pointer | NoSnapshot") -> str:
    if isinstance(row, Exception):
        return f"{row.reason}: {row}"
    return (
        f"{counted(row.head.subscriptions, 'subscription')} at {row.next_offset},"
        f" {row.bytes / 1e6:.1f} MB in {counted(row.chunks, 'chunk')},"
        f" {_age(time.time() - row.head.made_at)} old, by {row.holder} (epoch {row.epoch})"
    )


def _as_json(parts: "Parts", number: int, row: "Pointer | NoSnapshot") -> dict[str, Any]:
    # Numbers alone would not tell a painter from a zone.
    which = {parts.word: number}
    if isinstance(row, Exception):
        return {**which, "state": row.reason, "detail": str(row)}
    return {
        **which,
        "state": "ok",
        "name": row.name,
        "epoch": row.epoch,
        "holder": row.holder,
        "bytes": row.bytes,
        "chunks": row.chunks,
        "next_offset": row.next_offset,
        "subscriptions": row.head.subscriptions,
        "made_at": row.head.made_at,
        "kind": row.head.kind,
        "attributes": list(row.head.attributes),
        "topic_id": row.head.topic_id,
        "podium": row.head.podium,
    }


def _age(seconds: float) -> str:
    """
    >>> _age(0.4), _age(150), _age(200_000)
    ('0 s', '2 min', '2 d')
    """
    unit, length = next((u for u in UNITS if seconds >= u[1]), UNITS[-1])
    return f"{max(0, seconds) // length:.0f} {unit}"


def _number(parts: "Parts", number: int) -> int | str:
    return number if parts.word == "shard" else _one(parts, number)


def _one(parts: "Parts", number: int) -> str:
    return f"{parts.word} {number}"


def _named(dropped: "list[tuple[Parts, int]]") -> str:
    """`shards 0, 1`, `painter 0 and zones 0, 1`"""
    by_word: dict[str, list[int]] = {}
    for parts, number in dropped:
        by_word.setdefault(parts.word, []).append(number)
    return " and ".join(
        f"{word}{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"
        for word, numbers in by_word.items()
    )
