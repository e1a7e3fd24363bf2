"""`podium topics`: what a collection's topics are to be, and making them so."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from podium.terminal import (
    BrokersOption,
    CollectionOption,
    ConfigOption,
    Exit,
    JsonOption,
    StackOption,
    counted,
    note,
    say,
    say_json,
    settings_path,
)

if TYPE_CHECKING:
    from topics.catalogue import TopicSpec
    from topics.kafka.creation import Plan

topics = typer.Typer(no_args_is_help=True, help="A collection's topics: list them, create them.")


def register(app: typer.Typer) -> None:
    app.add_typer(topics, name="topics")


@topics.command()
def create(
    collection: CollectionOption = "ads",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be created.")
    ] = False,
    config: ConfigOption = None,
    folder: StackOption = None,
    brokers: BrokersOption = None,
    as_json: JsonOption = False,
) -> None:
    """Create the topics that are missing.

    What exists is never changed: a topic that differs is reported, with the command that an
    operator would run, nothing is created, and the exit code is 1.
    """
    from configs import load_collection, load_settings
    from podium.topics_setup import ensure_topics, plan_topics
    from topics.kafka.creation import Plan, TopicsDiffer

    settings = load_settings(settings_path(config, folder), {"kafka.brokers": brokers})
    declared = load_collection(collection, settings.collections)
    if dry_run:
        result = plan_topics(settings, declared)
    else:
        try:
            result = ensure_topics(settings, declared)
        except TopicsDiffer as error:
            result = Plan([], [], error.differences)
    if as_json:
        say_json(_as_json(result, dry_run))
    else:
        _show(result, dry_run)
    if result.different:
        raise typer.Exit(Exit.WRONG)


@topics.command("ls")
def list_topics(
    collection: CollectionOption = "ads",
    config: ConfigOption = None,
    folder: StackOption = None,
    brokers: BrokersOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the topics of a collection: name, partitions, what they keep, and their state."""
    from configs import load_collection, load_settings
    from podium.topics_setup import declared_topics, plan_topics

    settings = load_settings(settings_path(config, folder), {"kafka.brokers": brokers})
    declared = load_collection(collection, settings.collections)
    planned = plan_topics(settings, declared)
    states = {spec.name: "missing" for spec in planned.create}
    states |= {difference.topic: "different" for difference in planned.different}
    rows = [
        {**_spec_json(spec), "state": states.get(spec.name, "as declared")}
        for spec in declared_topics(settings, declared)
    ]
    if as_json:
        say_json(rows)
        return
    width = max(len(row["name"]) for row in rows)
    for row in rows:
        say(
            f"{row['name']:{width}}  {counted(row['partitions'], 'partition'):13}  "
            f"{row['state']:11}  {row['purpose']}"
        )


def _show(result: "Plan", dry_run: bool) -> None:
    verb = "would create" if dry_run else "created"
    for spec in result.create:
        settings = " ".join(f"{name}={value}" for name, value in spec.config.items())
        say(f"{verb} {spec.name}: {counted(spec.partitions, 'partition')}, {settings}")
    for spec in result.same:
        say(f"exists as declared {spec.name}")
    for difference in result.different:
        say(f"differs {difference}")
    if result.different:
        settings_count = counted(len(result.different), "difference")
        note(f"podium: {settings_count}; nothing was created or changed")


def _as_json(result: "Plan", dry_run: bool) -> dict[str, Any]:
    return {
        "dry_run": dry_run,
        "create" if dry_run else "created": [_spec_json(spec) for spec in result.create],
        "same": [spec.name for spec in result.same],
        "different": [difference._asdict() for difference in result.different],
    }


def _spec_json(spec: "TopicSpec") -> dict[str, Any]:
    return {
        "name": spec.name,
        "partitions": spec.partitions,
        "config": dict(spec.config),
        "purpose": spec.purpose,
    }
