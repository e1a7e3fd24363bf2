"""The folder of the demo's stack."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from podium.terminal import Exit, Failure, note


@dataclass
class Workplace:
    folder: Path
    keep: bool


@contextmanager
def workplace(wanted: Path | None, keep: bool) -> Iterator[Workplace]:
    """A new folder, removed at the end unless it is to be kept or something went wrong.

    `wanted` must not have anything in it: the demo counts what is in its topics.
    """
    if wanted is not None and wanted.exists() and (not wanted.is_dir() or any(wanted.iterdir())):
        remedy = "name a folder that does not exist yet, or an empty one"
        raise Failure(f"got --folder {wanted}, which is not empty", remedy, Exit.USAGE)
    folder = wanted or Path(tempfile.mkdtemp(prefix="podium-demo-"))
    folder.mkdir(parents=True, exist_ok=True)
    place = Workplace(folder, keep)
    try:
        yield place
    except (KeyboardInterrupt, SystemExit):
        _leave(place)
        raise
    except BaseException:
        note(f"podium: the demo failed; its logs are in {folder / 'logs'}")
        raise
    _leave(place)


def _leave(place: Workplace) -> None:
    if place.keep:
        note(f"kept: {place.folder}; `podium up --folder {place.folder}` starts it again")
    else:
        shutil.rmtree(place.folder)
