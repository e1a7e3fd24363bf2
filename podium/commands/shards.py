"""`podium shards`: how subscriptions could be placed on shards, or cut into zones."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium.terminal import (
    CollectionOption,
    ConfigOption,
    JsonOption,
    StackOption,
    note,
    say,
    say_json,
    settings_path,
)

if TYPE_CHECKING:
    from configs import Collection
    from podium.shards_plan import Sample
    from workers.routing.placement import Cut, Expected, Part, Plan

shards = typer.Typer(
    no_args_is_help=True, help="Shards and zones: plan which subscriptions they hold."
)


def register(app: typer.Typer) -> None:
    app.add_typer(shards, name="shards")


@shards.callback()
def _group() -> None:
    """Keeps `plan` a command of its own while it is the only one."""


@shards.command()
def plan(
    sample: Annotated[str, typer.Argument(metavar="FILE|-", help="Subscriptions as JSON lines.")],
    collection: CollectionOption = "ads",
    events: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Events as JSON lines; else such as subscriptions want."),
    ] = None,
    number: Annotated[
        int | None,
        typer.Option(
            "--shards", min=1, max=1024, help="Shards, or zones, instead of the collection's."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the plan there, for `podium send --plan`."),
    ] = None,
    keys: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a line `id<TAB>key` for each of the sample."),
    ] = None,
    config: ConfigOption = None,
    folder: StackOption = None,
    as_json: JsonOption = False,
) -> None:
    """Propose how to key subscriptions so that shards cover different regions.

    With such keys and `routing` in the collection file, an event goes only to the shards that may
    have something for it. The shares of events are those of the sample.

    For a collection of lists it proposes `zone_bounds`: where to cut the axis, so that all zones
    have about as many of these subscriptions.
    """
    import msgspec

    from configs import load_collection, load_settings
    from configs.kinds import KINDS
    from podium.shards_plan import keys_of, plan_of, read_sample

    settings = load_settings(settings_path(config, folder))
    declared = load_collection(collection, settings.collections)
    if KINDS[declared.kind].has_lists:
        if events is not None or out is not None or keys is not None:
            raise typer.BadParameter("--events, --out and --keys go with shards, not with zones")
        _plan_zones(declared, sample, number or declared.zones, as_json)
        return
    if not declared.attributes and not KINDS[declared.kind].has_places:
        raise typer.BadParameter(f"collection {declared.name} names no attributes to plan by")
    known = read_sample(declared, sample, events)
    proposed, brings = plan_of(declared, known, number or declared.shards)
    if out is not None:
        out.write_bytes(msgspec.json.format(msgspec.json.encode(proposed)) + b"\n")
    if keys is not None:
        pairs = zip(known.ids, keys_of(proposed, known), strict=True)
        keys.write_text("".join(f"{id}\t{key}\n" for id, key in pairs))
    if as_json:
        told = {"plan": msgspec.to_builtins(proposed), "expected": _as_json(brings)}
        say_json(told | {"bytes_a_subscription": round(known.bytes_each)})
    else:
        _show(proposed, brings, known)


def _plan_zones(declared: "Collection", sample: str, zones: int, as_json: bool) -> None:
    from podium.zones_plan import plan_zones

    proposed = plan_zones(declared, sample, zones)
    if as_json:
        say_json(proposed.as_json())
        return
    if proposed.skipped:
        note(f"podium: {proposed.skipped} lines left out, no subscriptions of this collection")
    total = sum(proposed.subscriptions)
    say("zone  subscriptions  ranges that begin")
    for zone, (low, high) in enumerate(proposed.slices):
        where = f"from {low:g} to below {high:g}"
        say(f"{zone:>4}  {proposed.subscriptions[zone] / total:>13.1%}  {where}")
    say(f"zones: {zones}")
    say(f"zone_bounds: {proposed.bounds}")


def _as_json(brings: "Expected") -> dict[str, Any]:
    return {
        "subscriptions": brings.subscriptions.tolist(),
        "event_shares": [round(share, 4) for share in brings.event_shares.tolist()],
        "shards_an_event": round(brings.shards_an_event, 3),
    }


def _show(proposed: "Plan", brings: "Expected", known: "Sample") -> None:
    if known.skipped:
        note(f"podium: {known.skipped} lines left out, no subscriptions of this collection")
    total = brings.subscriptions.sum()
    say("shard  subscriptions  events it sees  where")
    for shard, where in enumerate(_regions(proposed.regions, proposed.shards)):
        held, share = brings.subscriptions[shard] / total, brings.event_shares[shard]
        say(f"{shard:>5}  {held:>12.1%}  {share:>13.1%}  {where}")
    times = proposed.shards / max(brings.shards_an_event, 1e-9)
    say(
        f"an event goes to {brings.shards_an_event:.2f} of {proposed.shards} shards,"
        f" {times:.1f} times fewer than to all"
    )
    _show_layouts(known)
    say(
        "key a subscription <id>~<n>, with the least n from 0 on that murmur2 puts on its shard:"
        " --out FILE, then podium send --plan FILE does so"
    )


def _show_layouts(known: "Sample") -> None:
    """How many subscriptions the nodes of a replicated collection could have on this machine."""
    import psutil

    from podium.stack.status.layouts import SHARE_OF_MEMORY, TIMES_INDEX

    memory, each = psutil.virtual_memory().total, TIMES_INDEX * known.bytes_each
    say(
        f"a subscription takes {known.bytes_each:,.0f} bytes, {TIMES_INDEX} times that while its"
        f" index is renewed: up to {SHARE_OF_MEMORY * memory / each / 1e6:,.1f} million fit into"
        f" {SHARE_OF_MEMORY:.0%} of this machine's memory, and `layout: replicated` answers in one"
        " hop; beyond, shards are apart"
    )


def _regions(region: "Cut | Part", count: int) -> list[str]:
    """In words, by shard, what the middles of a shard's intervals are."""
    from workers.routing.placement import Cut

    words = ["nothing: the sample is too alike"] * count

    def walk(region: "Cut | Part", said: list[str]) -> None:
        if isinstance(region, Cut):
            walk(region.below, [*said, f"{region.attribute} <= {region.at:g}"])
            walk(region.above, [*said, f"{region.attribute} > {region.at:g} or any"])
        else:
            words[region.shard] = ", ".join(said) or "everything"

    walk(region, [])
    return words
