"""What the documentation, README and Makefile name exists: folders, files, modules, pages."""

import ast
import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "Makefile", *sorted((ROOT / "docs").rglob("*.md"))]
FOLDERS = "podium|workers|spark_streaming|topics|indexes|configs|storage|benchmarks|tests|docs"
PATH = re.compile(rf"(?<![\w./-])(?:{FOLDERS})/[\w./-]*")
# Topics begin with `podium.` as well, so a module of that package is one where it is run.
MODULE = re.compile(rf"(?<=-m )(?:{FOLDERS})(?:\.\w+)*|`((?!podium)(?:{FOLDERS})(?:\.\w+)+)`")
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")


def is_path(name: str) -> bool:
    """A folder or a file, here and not only on this machine."""
    return (ROOT / name.rstrip("./")).exists()


def is_module(name: str) -> bool:
    """A module, or what one defines."""
    place = ROOT.joinpath(*name.split("."))
    if place.with_suffix(".py").exists() or (place / "__init__.py").exists():
        return True
    home = place.parent.with_suffix(".py")
    home = home if home.exists() else place.parent / "__init__.py"
    return home.exists() and place.name in _defined(home.read_text())


def _defined(source: str) -> set[str]:
    names = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
    return names


def missing(text: str, folder: Path = ROOT) -> list[str]:
    """What the text of a page in this folder names, and is not there."""
    paths = [found[0] for found in PATH.finditer(text) if not is_path(found[0])]
    modules = [name for found in MODULE.finditer(text) if not is_module(name := _name(found))]
    links = [name for name in LINK.findall(text) if not (folder / name).exists()]
    return [*paths, *modules, *links]


def _name(found: re.Match[str]) -> str:
    return found[1] or found[0]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_names_exists(page):
    assert not missing(page.read_text(), page.parent)


SESSIONS = [page for page in PAGES if ">>> " in page.read_text()]


@pytest.mark.parametrize("page", SESSIONS, ids=lambda page: page.name)
def test_python_prints_what_a_page_shows(page):
    results = doctest.testfile(str(page), module_relative=False)
    assert results.attempted > 0
    assert results.failed == 0


@pytest.mark.parametrize(
    "text",
    [
        "the layout of `topics.no_such_thing`",
        "in `tests/oracle.py`.",
        "python -m podium.stack.no_such_thing --for test",
        "$(BIN)/python -I podium/stack/bootstrap.py",
        "see [Operating](operatin.md#health)",
    ],
)
def test_what_does_not_exist_is_found(text):
    assert len(missing(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "`topics.catalogue.topic_name` in `topics/` and `tests/oracles/boolean.py`.",
        "python -m podium.stack.setup.provision; python -m workers.warm_up",
        "`podium.ads.events` in `.podium/podium.yaml`, as [here](https://example.org/x.md)",
        "[Operating](docs/operating.md#health)",
    ],
)
def test_what_exists_or_is_no_module_is_not_found(text):
    assert missing(text) == []


METRICS = ("workers/process/metrics.py", "spark_streaming/metrics.py")
METRIC = re.compile(r"podium_[a-z_]+")


def declared_metrics() -> set[str]:
    sources = "".join((ROOT / file).read_text() for file in METRICS)
    return set(re.findall(r'"(podium_[a-z_]+)"', sources))


def shown_metrics(text: str, declared: set[str]) -> set[str]:
    """In whole, or those of a whole one's family by their ends: `podium_a_seconds`, `_bytes`."""
    shown = set(METRIC.findall(text))
    for block in re.split(r"\n\n|\n(?=\|)", text):  # paragraphs, and rows of tables
        families = {name.split("_")[1] for name in METRIC.findall(block)}
        ends = re.findall(r"`(_[a-z_]+)`", block)
        ours = {name for name in declared if name.split("_")[1] in families}
        shown |= {name for name in ours for end in ends if name.endswith(end)}
    return shown


def test_metrics_of_the_pages_exist():
    declared = declared_metrics()
    for page in PAGES:
        shown = set(METRIC.findall(page.read_text()))
        assert shown <= declared, f"{page.name}: {sorted(shown - declared)}"


@pytest.mark.parametrize("family", ["painter", "zone", "spark"])
def test_every_metric_of_lists_and_jobs_is_on_a_page(family):
    declared = declared_metrics()
    shown = {name for page in PAGES for name in shown_metrics(page.read_text(), declared)}
    assert {name for name in declared if name.split("_")[1] == family} <= shown


def test_every_page_is_linked_from_the_readme():
    linked = LINK.findall((ROOT / "README.md").read_text())
    pages = [page.relative_to(ROOT).as_posix() for page in (ROOT / "docs").glob("*.md")]
    assert set(pages) <= set(linked)


def test_every_folder_of_ours_is_in_the_readme():
    readme = (ROOT / "README.md").read_text()
    folders = [path.parent.name for path in ROOT.glob("*/__init__.py")]
    assert [name for name in folders if f"| `{name}/` |" not in readme] == []
