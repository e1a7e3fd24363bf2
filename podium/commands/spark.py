"""`podium spark`: the Spark jobs beside the fleet."""

from pathlib import Path
from typing import Annotated

import typer

from podium.terminal import (
    BrokersOption,
    CollectionOption,
    ConfigOption,
    StackOption,
    counted,
    note,
    say,
    settings_path,
)

spark = typer.Typer(no_args_is_help=True, help="The Spark jobs beside the fleet.")

MasterOption = Annotated[
    str | None,
    typer.Option(
        "--master",
        metavar="URL",
        help="Where to run: local[*], spark://…, yarn, k8s://…. [spark.master]",
        show_default=False,
    ),
]
PortOption = Annotated[
    int | None,
    typer.Option("--http-port", help="Of /metrics; 0: any free one.", show_default=False),
]


def register(app: typer.Typer) -> None:
    app.add_typer(spark, name="spark")


@spark.command("sopt-bases")
def sopt_bases(
    collection: CollectionOption = "ads",
    once: Annotated[
        bool, typer.Option("--once", help="End when all that is there now is in a base.")
    ] = False,
    master: MasterOption = None,
    config: ConfigOption = None,
    folder: StackOption = None,
    brokers: BrokersOption = None,
    http_port: PortOption = None,
) -> None:
    """Keep the collection's bases up to date: the optimal indexes that matchers swap in.

    Goes on where it stopped. Without a checkpoint it starts from the beginning of the topic.
    """
    from configs import load_collection, load_settings
    from configs.logs import log_to_stderr
    from podium.stack.status.jobs import noted
    from spark_streaming.jobs import SOPT_BASES, run_sopt_bases

    flags = {"kafka.brokers": brokers, "spark.master": master, "http.port": http_port}
    file = settings_path(config, folder)
    settings = load_settings(file, flags)
    log_to_stderr(throttled=False)
    declared = load_collection(collection, settings.collections)
    with noted(file, settings, [declared.name], SOPT_BASES) as serving:
        run_sopt_bases(settings, declared, once, kafka_jars(), serving)


@spark.command("paint-batch")
def paint_batch(
    collection: Annotated[
        list[str] | None,
        typer.Option(
            "--collection",
            metavar="NAME|FILE",
            help="Which collection; may be given several times.",
            show_default="parking",
        ),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="End when zones know all that is there now.")
    ] = False,
    master: MasterOption = None,
    config: ConfigOption = None,
    folder: StackOption = None,
    brokers: BrokersOption = None,
    http_port: PortOption = None,
) -> None:
    """Keep the lists of collections right, batch by batch, in place of their painters.

    For collections with `painter: batch`. Goes on where it stopped. Without a checkpoint, or after
    a live painter, it sends all lists anew. Several collections are painted side by side; if one
    fails, the job ends for all.
    """
    from configs import load_collection, load_settings
    from configs.logs import log_to_stderr
    from podium.stack.status.jobs import noted
    from spark_streaming.jobs import PAINT_BATCH, run_paint_batch

    flags = {"kafka.brokers": brokers, "spark.master": master, "http.port": http_port}
    file = settings_path(config, folder)
    settings = load_settings(file, flags)
    log_to_stderr(throttled=False)
    declared = [load_collection(one, settings.collections) for one in collection or ["parking"]]
    with noted(file, settings, [one.name for one in declared], PAINT_BATCH) as serving:
        run_paint_batch(settings, declared, once, kafka_jars(), serving)


@spark.command()
def backfill(
    collection: CollectionOption = "ads",
    since: Annotated[
        str | None,
        typer.Option("--from", metavar="WHEN", help="First event. [the first there is]"),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option("--to", metavar="WHEN", help="Event to stop before. [the end, now]"),
    ] = None,
    topic: Annotated[
        str | None, typer.Option("--topic", metavar="NAME", help="Topic for the matches.")
    ] = None,
    parquet: Annotated[
        str | None, typer.Option("--parquet", metavar="DIR|URI", help="Folder for the matches.")
    ] = None,
    master: MasterOption = None,
    config: ConfigOption = None,
    folder: StackOption = None,
    brokers: BrokersOption = None,
) -> None:
    """Match old events against the subscriptions as they are now.

    WHEN is a time such as 2025-03-01T12:00:00Z, or offsets by partition such as 0@1000,1@950.
    A run that was stopped goes on when the same is asked again.
    """
    from configs import load_collection, load_settings
    from configs.logs import log_to_stderr
    from spark_streaming.driver.pieces import BackfillRequest
    from spark_streaming.jobs import run_backfill

    flags = {"kafka.brokers": brokers, "spark.master": master}
    settings = load_settings(settings_path(config, folder), flags)
    log_to_stderr(throttled=False)
    declared = load_collection(collection, settings.collections)
    request = BackfillRequest(since, until, topic, parquet)
    events = run_backfill(settings, declared, request, kafka_jars())
    say(f"matched {counted(events, 'event')}")


def kafka_jars() -> list[Path]:
    """The jars by which Spark reads Kafka, fetched if they are absent."""
    from podium.stack.setup import tools
    from podium.stack.setup.jars import ensure_jars

    tools.require("java")
    folder = ensure_jars(lambda line: note(f"podium: {line}"))
    return sorted((folder / "spark").glob("*.jar"))
