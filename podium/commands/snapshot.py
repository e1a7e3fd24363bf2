"""`podium snapshot`: what Redis holds of a collection's shards."""

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
    from workers.snapshots import NoSnapshot, Pointer, SnapshotStore

REMEDY = "start a local stack with `podium up`, or set redis.url"
UNITS = (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))

snapshot = typer.Typer(
    no_args_is_help=True, help="Snapshots of a collection's shards in Redis: ls, verify, drop."
)
ShardOption = Annotated[
    int | None,
    typer.Option("--shard", metavar="N", min=0, help="This shard only.", show_default="all"),
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
    """List what there is for each shard: subscriptions, offset, size, age, who wrote it."""
    with _opened(settings_path(config, folder), collection, shard) as found:
        rows = found.store.ls(found.shards)
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

    rows: dict[int, Pointer | NoSnapshot] = {}
    with _opened(settings_path(config, folder), collection, shard) as found:
        expected = Expected.of(found.collection, topic_id=None)
        for number in found.shards:
            try:
                rows[number] = found.store.verify(number, expected)
            except NoSnapshot as absent:
                if absent.reason == "unreachable":
                    raise
                rows[number] = absent
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

    A worker that holds the shard writes a new one when it is time.
    """
    with _opened(settings_path(config, folder), collection, shard) as found:
        if not yes:
            _ask(found)
        dropped = [number for number in found.shards if found.store.drop(number)]
    if as_json:
        say_json({"dropped": dropped})
    elif dropped:
        say(f"dropped {_shards(dropped)}")
    else:
        say("there was none")


class Opened(NamedTuple):
    store: "SnapshotStore"
    collection: "Collection"
    shards: list[int]


@contextmanager
def _opened(file: Path | None, name: str, shard: int | None) -> Iterator[Opened]:
    """The store; a Redis that does not answer ends the command."""
    from configs import load_collection, load_settings
    from storage.redis_client import open_redis
    from workers.snapshots import NoSnapshot, SnapshotFailed, SnapshotStore

    settings = load_settings(file)
    collection = load_collection(name, settings.collections)
    if shard is not None and shard >= collection.shards:
        raise Failure(
            f"got shard {shard}, expected 0 to {collection.shards - 1} of {collection.name}",
            exit_code=Exit.USAGE,
        )
    shards = list(range(collection.shards)) if shard is None else [shard]
    server = settings.redis
    with closing(open_redis(server.url.get_secret_value(), server.timeout_s)) as client:
        store = SnapshotStore.of(client, settings, collection.name)
        try:
            yield Opened(store, collection, shards)
        except (NoSnapshot, SnapshotFailed) as error:
            unanswered = error.reason in ("unreachable", "slow")
            code, remedy = (Exit.UNREACHABLE, REMEDY) if unanswered else (Exit.WRONG, "")
            raise Failure(f"Redis at {server.url}: {error}", remedy, code) from error


def _ask(found: Opened) -> None:
    if not sys.stdin.isatty():
        raise Failure("dropping needs a yes", "add --yes", Exit.USAGE)
    question = f"Drop the snapshots of {found.collection.name}, {_shards(found.shards)}?"
    if not typer.confirm(question, err=True):
        note("podium: nothing was dropped")
        raise typer.Exit(Exit.WRONG)


def _show(rows: "dict[int, Pointer | NoSnapshot]", as_json: bool) -> None:
    if as_json:
        say_json([_as_json(shard, row) for shard, row in rows.items()])
        return
    for shard, row in rows.items():
        say(f"shard {shard}: {printable(_as_line(row))}")


def _as_line(row: "Pointer | NoSnapshot") -> str:
    if isinstance(row, Exception):
        return f"{row.reason}: {row}"
    return (
        f"{counted(row.head.subscriptions, 'subscription')} at {row.next_offset},"
        f" {row.bytes / 1e6:.1f} MB in {counted(row.chunks, 'chunk')},"
        f" {_age(time.time() - row.head.made_at)} old, by {row.holder} (epoch {row.epoch})"
    )


def _as_json(shard: int, row: "Pointer | NoSnapshot") -> dict[str, Any]:
    if isinstance(row, Exception):
        return {"shard": shard, "state": row.reason, "detail": str(row)}
    return {
        "shard": shard,
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


def _shards(numbers: list[int]) -> str:
    return f"shard{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"
