"""`podium config`: the settings as a process would see them."""

import re
from typing import Any

import typer

from podium.terminal import (
    BrokersOption,
    ConfigOption,
    JsonOption,
    StackOption,
    say,
    say_json,
    settings_path,
)

# As the Spark jobs redact their own options.
_SECRET = re.compile("(?i)secret|password|token|jaas|keystore|access[.]?key")

config = typer.Typer(no_args_is_help=True, help="The settings as a process would see them.")


def register(app: typer.Typer) -> None:
    app.add_typer(config, name="config")


@config.command()
def show(
    config: ConfigOption = None,
    folder: StackOption = None,
    brokers: BrokersOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the effective settings and where each came from; secrets are left out."""
    from configs import load_with_origins
    from configs.sources import DEFAULT, variable_paths

    loaded = load_with_origins(settings_path(config, folder), {"kafka.brokers": brokers})
    rows = {}
    for path in variable_paths(type(loaded.settings)):
        # Of a setting that is a table, its entries were given.
        sources = {g.source: None for at, g in loaded.given.items() if at[: len(path)] == path}
        rows[path] = (_value(loaded.settings, path), ", ".join(sources) or DEFAULT)
    if as_json:
        shown = {".".join(path): {"value": v, "source": s} for path, (v, s) in rows.items()}
        say_json({"file": loaded.file and str(loaded.file), "settings": shown})
        return
    say(f"file: {loaded.file or 'none; defaults, environment and flags only'}")
    names = {".".join(path): row for path, row in rows.items()}
    width = max(map(len, names))
    value_width = max(len(_text(value)) for value, _ in names.values())
    for name, (value, source) in names.items():
        say(f"{name:{width}}  {_text(value):{value_width}}  {source}")


def _value(settings: Any, path: tuple[str, ...]) -> Any:
    """What a JSON dump shows: secrets as asterisks, a URL without its password."""
    dumped = settings.model_dump(mode="json")
    for step in path:
        dumped = dumped[step]
    if isinstance(dumped, dict):  # options of Spark, among them keys of stores
        return {name: "**********" if _SECRET.search(name) else v for name, v in dumped.items()}
    return dumped


def _text(value: Any) -> str:
    return "-" if value is None else str(value)
