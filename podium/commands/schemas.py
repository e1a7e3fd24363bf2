"""`podium schemas`: JSON Schema files of what people write to and read from the topics."""

import json
from pathlib import Path
from typing import Annotated

import typer

from podium.terminal import Exit, JsonOption, note, say, say_json


def register(app: typer.Typer) -> None:
    app.command()(schemas)


def schemas(
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Where to. [topics/schemas of the package]"),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit 1 unless the files are current.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Write the JSON Schema of every public record."""
    folder = out or _packaged()
    texts = rendered()
    stale = [name for name, text in texts.items() if _read(folder / name) != text]
    extra = [path.name for path in sorted(folder.glob("*.json")) if path.name not in texts]
    if not check:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
    if as_json:
        say_json({"folder": str(folder), "schemas": list(texts), "stale": stale, "extra": extra})
    else:
        for name in texts:
            state = "differs" if check and name in stale else "current" if check else "wrote"
            say(f"{state} {folder / name}")
        for name in extra:
            say(f"no longer a schema of ours {folder / name}")
    if check and (stale or extra):
        note("podium: run `podium schemas` and commit what it writes")
        raise typer.Exit(Exit.WRONG)


def rendered() -> dict[str, str]:
    """The text of each file, by its name."""
    from topics.schemas import all_schemas

    return {
        name: json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
        for name, schema in all_schemas().items()
    }


def _packaged() -> Path:
    import topics

    return Path(topics.__path__[0]) / "schemas"


def _read(file: Path) -> str | None:
    return file.read_text(encoding="utf-8") if file.is_file() else None
