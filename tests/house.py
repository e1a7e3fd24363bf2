"""Measures of how the code is laid out: `python -m tests.house [--json] [--show MEASURE]`.

Each measure reads the sources alone, without importing them, and names its offenders.  Those with
a goal are the promises of the house: one home per fact, no folder that is a drawer.
"""

import argparse
import ast
import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
FOLDERS = (
    *("configs", "storage", "topics", "indexes", "workers", "spark_streaming", "podium"),
    *("benchmarks", "tests"),
)
NOT_OURS_TO_RUN = ("tests", "benchmarks")  # the rest is production code

KINDS = {"ranked", "relaxed", "boolean", "spatial_text", "range_topk"}
KIND_TABLES = {f"{layer}/kinds.py" for layer in ("configs", "topics", "indexes", "workers")}
CLASSES_OF_KINDS = {"BooleanMatcher", "LiveMatcher", "ExactMatcher", "RelaxedMatcher"} | {
    "MixedColumns"
}
# Where sample collections are declared, and columns of a report are called by kinds.
SAMPLES = ("benchmarks/", "podium/demo/")
ROLES = {"router", "matcher", "merger"}
# What the fleet is checked with shares no code with it, the order of hits included.
ORACLES = {"podium/demo/scan.py"}
HEADER = re.compile(r"podium-[a-z]+(-[a-z]+)*(?=$|[:= ])")
MIB = 1024 * 1024
# Amounts of memory beside Kafka's records: what Redis stores at once, what a reader fetches.
NOT_RECORDS = re.compile(r"mib$|chunk|piece|buffer|socket|unsent|segment|heap|fetch", re.IGNORECASE)
CONTAINERS = (ast.Tuple, ast.List, ast.Set, ast.Dict, ast.Subscript)
LINES_OF_A_RUN = 6
MANY_ARGUMENTS = 8


class Source(NamedTuple):
    path: str  # from the root of the repository, with slashes
    text: str
    tree: ast.Module
    nodes: tuple[ast.AST, ...]  # of the tree, which is walked once

    @classmethod
    def of(cls, path: str, text: str) -> "Source":
        tree = ast.parse(text)
        return cls(path, text, tree, tuple(ast.walk(tree)))

    @property
    def folder(self) -> str:
        return self.path.split("/")[0]

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def module(self) -> str:
        """The dotted name; that of a package for its `__init__.py`."""
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


class Offence(NamedTuple):
    path: str
    line: int  # 0: the whole file or folder
    what: str

    def __str__(self) -> str:
        return f"{self.path}{f':{self.line}' if self.line else ''}  {self.what}"


class Reading(NamedTuple):
    value: float
    offences: list[Offence]
    words: str = ""  # instead of the bare value


class Measure(NamedTuple):
    name: str
    what: str
    read: Callable[[Sequence[Source]], Reading]
    most: float | None = None  # the goal; without one the measure is only shown
    unit: str = ""


def read_tree(root: Path = ROOT) -> list[Source]:
    """Every source file of the repository, in order of paths."""
    paths = sorted(path for folder in FOLDERS for path in (root / folder).rglob("*.py"))
    return [Source.of(path.relative_to(root).as_posix(), path.read_text()) for path in paths]


def production(sources: Iterable[Source]) -> list[Source]:
    return [source for source in sources if source.folder not in NOT_OURS_TO_RUN]


# Folders and modules


def flat_folders(sources: Sequence[Source], inside_indexes: bool = False) -> Reading:
    counts: dict[str, int] = defaultdict(int)
    for source in sources:
        if source.name != "__init__.py" and (source.folder == "indexes") == inside_indexes:
            counts[source.path.rpartition("/")[0]] += 1
    largest = sorted(counts, key=lambda folder: -counts[folder])[:10]
    files = [Offence(folder, 0, f"{counts[folder]} modules") for folder in largest]
    return Reading(max(counts.values(), default=0), files)


def lone_importers(sources: Sequence[Source]) -> Reading:
    """Modules of `workers` that one other module of production code imports.

    What a package's `__init__` passes on counts for whoever takes it from there.  What is started
    by name is an entry point, and not looked at: `__main__`, a dotted name in a string, what
    `import_module` makes of the parts in `workers/kinds.py`, and what a command runs as its
    process (`workers.main`).
    """
    known = {source.module: source for source in sources}
    passed_on = {source.module: _passed_on(source, known) for source in sources}
    importers: dict[str, set[str]] = defaultdict(set)
    pipelines = [source for source in sources if source.path == "workers/kinds.py"]
    parts = ROLES | {text for table in pipelines for _, text in _strings(table)}
    started = {"workers.main"}
    for source in sources:
        if source.folder not in {"workers", "podium", "spark_streaming"}:
            continue
        started |= {text.partition(":")[0] for _, text in _strings(source)} & known.keys()
        for pattern in _patterns(source, parts):
            started |= {module for module in known if pattern.fullmatch(module)}
        if passed_on[source.module]:
            continue
        for target in _imported(source, known, passed_on):
            importers[target].add(source.module)
    modules = [
        source
        for source in production(sources)
        if source.folder == "workers"
        and source.name not in {"__init__.py", "__main__.py"}
        and source.module not in started
        and not any(_is_main_guard(node) for node in source.tree.body)
    ]
    lone = [source for source in modules if len(importers[source.module] - {source.module}) == 1]
    offences = [
        Offence(source.path, 0, f"imported by {', '.join(importers[source.module])} alone")
        for source in lone
    ]
    share = 100 * len(lone) / len(modules) if modules else 0.0
    return Reading(share, offences, f"{share:.0f} % ({len(lone)} of {len(modules)})")


def _is_main_guard(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "__main__" in _constants(node.test)


def _patterns(source: Source, parts: set[str]) -> Iterator[re.Pattern[str]]:
    """What `import_module(f"{role.package}.{role.name}")` may import, if these are the parts."""
    any_part = f"(?:{'|'.join(map(re.escape, sorted(parts)))})"
    calls = [node for node in source.nodes if isinstance(node, ast.Call)]
    for name in [call.args[0] for call in calls if _last_name(call.func) == "import_module"]:
        if isinstance(name, ast.JoinedStr):
            values = [getattr(part, "value", None) for part in name.values]
            texts = [re.escape(v) if isinstance(v, str) else any_part for v in values]
            yield re.compile("".join(texts))


def _passed_on(source: Source, known: dict[str, Source]) -> dict[str, str]:
    """Name → module, if this is an `__init__` that does nothing but pass names on."""
    if source.name != "__init__.py":
        return {}
    names: dict[str, str] = {}
    for node in source.tree.body:
        if isinstance(node, ast.ImportFrom) and node.module in known:
            names |= {alias.asname or alias.name: node.module for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            return {}
    return names


def _imported(
    source: Source, known: dict[str, Source], passed_on: dict[str, dict[str, str]]
) -> Iterator[str]:
    for node in source.nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                home = passed_on.get(node.module, {}).get(alias.name, node.module)
                yield whole if whole in known else home


# Kinds and roles


def kind_decisions(sources: Sequence[Source]) -> Reading:
    """Places outside the tables of kinds that know a kind by its name or by its class.

    A keyword `kind=` of a call declares a collection and decides nothing; `__all__` has names of
    functions.  Samples may name kinds as they like, but not decide by them either.
    """
    offences = []
    for source in sources:
        if source.folder == "tests" or source.path in KIND_TABLES:
            continue
        lines = {line: f"compares with {name!r}" for line, name in _compared_kinds(source)}
        lines |= {line: f"asks for the class {name}" for line, name in _asked_classes(source)}
        if not source.path.startswith(SAMPLES):
            declared = _declarations(source)
            for node, text in _strings(source):
                if text in KINDS and id(node) not in declared:
                    lines.setdefault(node.lineno, f"names the kind {text!r}")
        offences += [Offence(source.path, line, what) for line, what in sorted(lines.items())]
    return Reading(len(offences), offences)


def _compared_kinds(source: Source) -> Iterator[tuple[int, str]]:
    for node in source.nodes:
        if isinstance(node, ast.Compare):
            called = {name for side in (node.left, *node.comparators) for name in _names(side)}
            texts = _constants(node) & KINDS
            if texts and any("kind" in name for name in called):
                yield node.lineno, min(texts)
        elif isinstance(node, ast.Match) and any("kind" in name for name in _names(node.subject)):
            for case in node.cases:
                if texts := _constants(case.pattern) & KINDS:
                    yield case.pattern.lineno, min(texts)


def _asked_classes(source: Source) -> Iterator[tuple[int, str]]:
    for node in source.nodes:
        looked_at: ast.AST | None = None
        if isinstance(node, ast.Call) and _last_name(node.func) in {"isinstance", "issubclass"}:
            looked_at = node.args[-1]
        elif isinstance(node, ast.Compare) and "type" in _names(node.left):
            looked_at = node.comparators[0]
        elif isinstance(node, ast.MatchClass):
            looked_at = node.cls
        if looked_at is not None and (classes := set(_names(looked_at)) & CLASSES_OF_KINDS):
            yield looked_at.lineno, min(classes)  # type: ignore[attr-defined]


def _declarations(source: Source) -> set[int]:
    """The constants that are a keyword `kind=` of a call, or stand in `__all__`."""
    found: set[int] = set()
    for node in source.nodes:
        if isinstance(node, ast.Call):
            found |= {id(word.value) for word in node.keywords if word.arg == "kind"}
        elif isinstance(node, ast.Assign) and "__all__" in _names(node.targets[0]):
            found |= {id(constant) for constant in ast.walk(node.value)}
    return found


def role_lists(sources: Sequence[Source]) -> Reading:
    """Files of production code with two roles or more in one container, `Literal` or enum."""
    offences = []
    for source in production(sources):
        for node in source.nodes:
            if isinstance(node, ast.Call):
                named = {word.arg or "" for word in node.keywords}
            elif isinstance(node, CONTAINERS) or _is_enum(node):
                named = _constants(node)
            else:
                continue
            roles = sorted(ROLES & named)
            if len(roles) > 1:
                what = f"lists {', '.join(roles)}"
                offences.append(Offence(source.path, getattr(node, "lineno", 0), what))
                break
    return Reading(len(offences), offences)


def _is_enum(node: ast.AST) -> bool:
    return isinstance(node, ast.ClassDef) and any(
        "Enum" in name for base in node.bases for name in _names(base)
    )


# Facts with one home


def tie_orders(sources: Sequence[Source]) -> Reading:
    """Files of production code that know which of two hits goes first.

    That is a function that compares scores and also orders ids, a comparison of tuples of both, a
    `lexsort` of scores, or any other sort by scores turned round.
    """
    offences = []
    for source in production(sources):
        if source.path in ORACLES or "score" not in source.text:
            continue
        where = {**dict(_orderings(source)), **dict(_sorts_by_score(source))}
        offences += [Offence(source.path, line, what) for line, what in sorted(where.items())]
    return _by_file(offences)


def _orderings(source: Source) -> Iterator[tuple[int, str]]:
    for function in source.nodes:
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        compared = [node for node in ast.walk(function) if isinstance(node, ast.Compare)]
        of_scores = any(_about(side, _is_score) for node in compared for side in _sides(node))
        if not of_scores:
            continue
        for node in compared:
            ordering = all(isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in node.ops)
            if ordering and all(_about(side, _is_id) for side in _sides(node)):
                yield node.lineno, "orders ids beside scores"


def _sorts_by_score(source: Source) -> Iterator[tuple[int, str]]:
    for node in source.nodes:
        if not isinstance(node, ast.Call):
            continue
        called = _last_name(node.func)
        arguments = [*node.args, *(word.value for word in node.keywords)]
        inside = [part for argument in arguments for part in ast.walk(argument)]
        if called == "lexsort" and any(_about(argument, _is_score) for argument in arguments):
            yield node.lineno, "lexsort by score"
        elif re.search("sort|order|nsmallest|nlargest|^min$|^max$", called):
            turned = [part for part in inside if isinstance(part, ast.UnaryOp)]
            if any(isinstance(t.op, ast.USub) and _about(t.operand, _is_score) for t in turned):
                yield node.lineno, f"{called} by score"


def _about(node: ast.AST, says: Callable[[str], bool]) -> bool:
    """Whether a value has such a name; how many there are (`len`) is another matter."""
    if isinstance(node, ast.Call) and _last_name(node.func) == "len":
        return False
    name = node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")
    inner = (
        (child for child in ast.iter_child_nodes(node) if child is not node.slice)
        if isinstance(node, ast.Subscript)
        else ast.iter_child_nodes(node)
    )
    return says(name) or any(_about(child, says) for child in inner)


def _is_score(name: str) -> bool:
    return "score" in name.lower()


def _is_id(name: str) -> bool:
    return re.search(r"(^|_)ids?($|_)", name.lower()) is not None


def _sides(node: ast.Compare) -> list[ast.expr]:
    return [node.left, *node.comparators]


def header_names(sources: Sequence[Source]) -> Reading:
    """Files of production code that spell the name of a Kafka header, `podium-…`.

    What else begins so: consumer groups of tools that commit nothing, and names of folders.
    """
    offences = []
    for source in production(sources):
        pairs = [(str(name).lower(), value) for name, value in _pairs(source)]
        others = {id(value) for name, value in pairs if "group" in name or name == "prefix"}
        offences += [
            Offence(source.path, node.lineno, f"spells {text!r}")
            for node, text in _strings(source)
            if HEADER.match(text) and id(node) not in others
        ]
    return _by_file(offences)


def record_sizes(sources: Sequence[Source]) -> Reading:
    """Files of production code with a size limit of a Kafka record.

    Such a limit is a constant of 1 to 64 MiB in steps of half of one, however it is written: as
    `16 * 1024 * 1024`, `16 * MIB`, `1 << 24` or the number.  Indexes and storage know no Kafka;
    what is called a chunk, a piece or a buffer is not a record; and what something else is
    multiplied or divided by is a unit.
    """
    offences = []
    for source in production(sources):
        if source.folder not in {"indexes", "storage"}:
            for bytes, line, name in _sizes(source.tree, ""):
                if not NOT_RECORDS.search(name):
                    what = f"{name.strip() or 'a limit'} of {bytes / MIB:g} MiB"
                    offences.append(Offence(source.path, line, what))
    return _by_file(offences)


def _sizes(node: ast.AST, called: str) -> Iterator[tuple[int, int, str]]:
    """Bytes, line and names of the sizes in a tree, which stands under names itself."""
    if isinstance(node, ast.expr) and (bytes := _amount(node)) >= 0:
        if MIB <= bytes <= 64 * MIB and bytes % (MIB // 2) == 0:
            yield bytes, node.lineno, called
    elif isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            yield from _sizes(value, f"{called} {getattr(key, 'value', '')}")
    else:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            called = _last_name(target)
        elif isinstance(node, ast.keyword):
            called = f"{called} {node.arg}"
        units = isinstance(node, ast.BinOp)
        for child in ast.iter_child_nodes(node):
            if not (units and isinstance(child, ast.expr) and _amount(child) >= 0):
                yield from _sizes(child, called)


def _amount(node: ast.expr) -> int:
    """The value of an arithmetic expression of constants and of `MIB`; -1 for any other."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else -1
    if isinstance(node, ast.Name | ast.Attribute):
        return {"MIB": MIB, "KIB": 1024}.get(_last_name(node).upper(), -1)
    if not isinstance(node, ast.BinOp):
        return -1
    left, right = _amount(node.left), _amount(node.right)
    if left < 0 or right < 0:
        return -1
    if isinstance(node.op, ast.Add):
        return left + right
    if isinstance(node.op, ast.Mult):
        return left * right
    if isinstance(node.op, ast.LShift) and right < 64:
        return left << right
    if isinstance(node.op, ast.Pow) and right < 64:
        return int(left**right)
    return -1


def group_names(sources: Sequence[Source]) -> Reading:
    """Files of production code that put a consumer group's name together.

    Names are `<prefix>.<collection>.<part>`, as those of topics and of Spark jobs are; what is a
    topic or a job is called so.
    """
    offences = []
    for source in production(sources):
        for node in source.nodes:
            if not isinstance(node, ast.JoinedStr):
                continue
            first, last = node.values[0], node.values[-1]
            dots = [part.value for part in node.values if isinstance(part, ast.Constant)]
            if (
                len(node.values) > 3
                and dots[0] == "."
                and any("prefix" in name for name in _words(first))
                and not any("topic" in name or "job" in name for name in _words(last))
            ):
                offences.append(Offence(source.path, node.lineno, ast.unparse(node)))
    return _by_file(offences)


def _words(node: ast.AST) -> list[str]:
    """Names and string constants in an expression, as `labels['prefix']` has both."""
    return [*_names(node), *_constants(node)]


# Without a goal


def repeated_runs(sources: Sequence[Source]) -> Reading:
    """Pairs of production files with a run of equal lines; imports and blank lines left out."""
    places: dict[tuple[str, ...], list[tuple[int, int]]] = defaultdict(list)
    files = [(source, _lines(source)) for source in production(sources)]
    for number, (_, lines) in enumerate(files):
        for i in range(len(lines) - LINES_OF_A_RUN + 1):
            run = tuple(text for _, text in lines[i : i + LINES_OF_A_RUN])
            places[run].append((number, i))
    shared: dict[tuple[int, int], set[tuple[int, int]]] = defaultdict(set)
    for found in places.values():
        for a, i in found:
            for b, j in found:
                if a < b:
                    shared[a, b].add((i, j))
    offences = []
    for (a, b), starts in sorted(shared.items()):
        for i, j in sorted(starts):
            if (i - 1, j - 1) in starts:
                continue
            more = next(n for n in range(len(starts) + 1) if (i + n, j + n) not in starts)
            (first, ours), (other, theirs) = files[a], files[b]
            what = f"{LINES_OF_A_RUN - 1 + more} lines as in {other.path}:{theirs[j][0]}"
            offences.append(Offence(first.path, ours[i][0], what))
    return Reading(len(shared), offences, f"{len(shared)} pairs of files")


def _lines(source: Source) -> list[tuple[int, str]]:
    imports: set[int] = set()
    for node in source.nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return [
        (number, line.strip())
        for number, line in enumerate(source.text.splitlines(), 1)
        if line.strip() and number not in imports
    ]


def long_signatures(sources: Sequence[Source]) -> Reading:
    offences = []
    for source in sources:
        for node in source.nodes if source.folder == "indexes" else ():
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                taken = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                count = len([argument for argument in taken if argument.arg not in {"self", "cls"}])
                if count >= MANY_ARGUMENTS:
                    what = f"{node.name} takes {count} arguments"
                    offences.append(Offence(source.path, node.lineno, what))
    return Reading(len(offences), offences)


def repeated_classes(sources: Sequence[Source]) -> Reading:
    places: dict[str, list[Offence]] = defaultdict(list)
    for source in production(sources):
        for node in source.nodes:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(Offence(source.path, node.lineno, f"class {node.name}"))
    twice = {name: found for name, found in sorted(places.items()) if len(found) > 1}
    return Reading(len(twice), [offence for found in twice.values() for offence in found])


# What several measures ask of a tree


def _by_file(offences: list[Offence]) -> Reading:
    return Reading(len({offence.path for offence in offences}), offences)


def _names(node: ast.AST) -> list[str]:
    """The names and attributes in an expression."""
    return [
        part.id if isinstance(part, ast.Name) else part.attr
        for part in ast.walk(node)
        if isinstance(part, ast.Name | ast.Attribute)
    ]


def _constants(node: ast.AST) -> set[str]:
    constants = (part for part in ast.walk(node) if isinstance(part, ast.Constant))
    return {part.value for part in constants if isinstance(part.value, str)}


def _last_name(node: ast.expr) -> str:
    return getattr(node, "attr", getattr(node, "id", ""))


def _strings(source: Source) -> list[tuple[ast.Constant, str]]:
    """String constants, parts of f-strings among them; docstrings and bare strings are not."""
    bare = {id(n.value) for n in source.nodes if isinstance(n, ast.Expr)}
    return [
        (node, node.value)
        for node in source.nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare
    ]


def _pairs(source: Source) -> Iterator[tuple[object, ast.expr]]:
    """What is assigned to names, and goes by keys in dicts and by keywords in calls."""
    for node in source.nodes:
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                yield getattr(key, "value", None), value
        elif isinstance(node, ast.Call):
            yield from ((word.arg, word.value) for word in node.keywords)
        elif isinstance(node, ast.Assign):
            yield _last_name(node.targets[0]), node.value


MEASURES = (
    Measure("flat", "largest flat folder outside indexes", flat_folders, 20, " modules"),
    Measure("importers", "modules of workers with one importer", lone_importers, 15),
    Measure("kinds", "decisions by a kind's name or class outside the tables", kind_decisions, 0),
    Measure("roles", "files that list roles", role_lists, 1),
    Measure("ties", "files that know the order of ties", tie_orders, 1),
    Measure("headers", "files that spell names of headers", header_names, 1),
    Measure("sizes", "files with size limits of records", record_sizes, 1),
    Measure("groups", "files that put names of consumer groups together", group_names, 1),
    Measure(
        "indexes", "largest flat folder of indexes", lambda s: flat_folders(s, inside_indexes=True)
    ),
    Measure("runs", "runs of six equal lines or more", repeated_runs),
    Measure("arguments", "functions of indexes with eight arguments or more", long_signatures),
    Measure("classes", "names of classes that exist twice or more", repeated_classes),
)


@cache
def tree() -> tuple[Source, ...]:
    """The sources as they were when somebody first asked."""
    return tuple(read_tree())


def holds(measure: Measure, reading: Reading) -> bool:
    return measure.most is None or reading.value <= measure.most


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.house", description=__doc__)
    parser.add_argument("--json", action="store_true", help="write one JSON document")
    parser.add_argument("--show", choices=[m.name for m in MEASURES], help="list what it found")
    asked = parser.parse_args(arguments)
    chosen = [m for m in MEASURES if asked.show in (None, m.name)]
    taken = {measure: measure.read(tree()) for measure in chosen}
    if asked.json:
        print(json.dumps([_document(*pair, bool(asked.show)) for pair in taken.items()], indent=2))
    elif asked.show:
        print(*next(iter(taken.values())).offences, sep="\n")
    else:
        _print_table(taken)
    return 0 if all(holds(*pair) for pair in taken.items()) else 1


def _document(measure: Measure, reading: Reading, whole: bool) -> dict[str, object]:
    known: dict[str, object] = {"name": measure.name, "measure": measure.what}
    known |= {"value": reading.value, "goal": measure.most, "ok": holds(measure, reading)}
    return known | ({"offences": [o._asdict() for o in reading.offences]} if whole else {})


def _print_table(taken: dict[Measure, Reading]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("name", "measure", "now", "goal", "")
    for measure, reading in taken.items():
        goal = "" if measure.most is None else f"≤ {measure.most:g}{measure.unit}"
        state = "" if measure.most is None else "ok" if holds(measure, reading) else "not"
        now = reading.words or f"{reading.value:g}{measure.unit}"
        table.add_row(measure.name, measure.what, now, goal, state)
    Console().print(table)


if __name__ == "__main__":
    sys.exit(main())
