"""Our packages as one zip, for executors that do not have them."""

import atexit
import shutil
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("configs", "indexes", "spark_streaming", "storage", "topics")
SUFFIXES = (".py", ".json", ".yaml")


def write_package() -> Path:
    """The zip, in a folder that goes when this process ends; same code, same bytes."""
    folder = tempfile.mkdtemp(prefix="podium-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder, "podium.zip")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
        for file in _files():
            entry = zipfile.ZipInfo(str(file.relative_to(ROOT)))  # dated 1980, whenever it is
            package.writestr(entry, file.read_bytes(), zipfile.ZIP_DEFLATED)
    return path


def _files() -> list[Path]:
    found = [file for name in PACKAGES for file in (ROOT / name).rglob("*")]
    return sorted(file for file in found if file.suffix in SUFFIXES and file.is_file())
