"""The measures of the house, and that each of them measures something."""

import json

import pytest

from tests.house import MEASURES, Source, holds, main, tree

BY_NAME = {measure.name: measure for measure in MEASURES}


def value(name, **files):
    """What a measure says of made-up files; `__` in their names stands for a slash."""
    sources = [Source.of(f"{path.replace('__', '/')}.py", text) for path, text in files.items()]
    return BY_NAME[name].read(sources).value


@pytest.mark.parametrize(
    "measure", [m for m in MEASURES if m.most is not None], ids=lambda m: m.name
)
def test_the_goal_holds_in_the_tree(measure):
    reading = measure.read(tree())
    assert holds(measure, reading), "\n".join(map(str, reading.offences))


def test_a_folder_counts_its_own_modules_without_its_init():
    files = {f"tests__indexes__m{i}": "" for i in range(21)}
    assert value("flat", **files, tests__indexes__deeper__m="") == 21
    assert value("flat", **{f"indexes__m{i}": "" for i in range(21)}) == 0
    assert BY_NAME["flat"].read([Source.of("topics/__init__.py", "")]).value == 0


class TestImporters:
    def test_a_module_that_one_other_imports_counts(self):
        files = {"workers__a": "", "workers__b": "from workers.a import x"}
        assert value("importers", **files) == 50

    def test_two_importers_or_none_do_not_count(self):
        twice = {
            "workers__a": "",
            "workers__b": "import workers.a",
            "podium__c": "import workers.a",
        }
        assert value("importers", **twice) == 0
        assert value("importers", workers__a="") == 0

    def test_tests_and_benchmarks_are_no_importers(self):
        files = {"workers__a": "", "workers__b": "from workers import a"}
        assert value("importers", **files, tests__t="import workers.a") == 50
        assert value("importers", **files, benchmarks__t="import workers.a") == 50

    def test_what_a_package_passes_on_counts_for_who_takes_it(self):
        sources = [
            Source.of("workers/store/__init__.py", "from workers.store.keys import Key"),
            Source.of("workers/store/keys.py", "class Key: ..."),
            Source.of("workers/one.py", "from workers.store import Key"),
        ]
        assert BY_NAME["importers"].read(sources).value == 50
        other = Source.of("podium/two.py", "from workers.store import Key")
        assert BY_NAME["importers"].read([*sources, other]).value == 0

    @pytest.mark.parametrize(
        "table",
        [
            'ROLES = {"a": "workers.router.start:run"}',
            'import_module(f"workers.{role}.start")',
            'import_module(f"{package}.start")',
        ],
    )
    def test_what_is_started_by_name_is_not_counted(self, table):
        files = {"workers__router__start": "", "workers__b": "import workers.router.start"}
        assert value("importers", **files) == 50
        files["workers__kinds"] = 'KINDS = {"one": Role("workers.router")}'
        assert value("importers", **files, podium__c=table) == 0

    def test_a_script_is_not_counted(self):
        files = {
            "workers__b": "import workers.a",
            "workers__c": "",
            "podium__d": "import workers.c",
        }
        assert value("importers", **files, workers__a="") == pytest.approx(200 / 3)
        script = 'if __name__ == "__main__":\n    main()'
        assert value("importers", **files, workers__a=script) == 50


class TestKinds:
    @pytest.mark.parametrize(
        "source",
        [
            'if collection.kind == "boolean": ...',
            'needed = kind not in ("ranked", "relaxed")',
            'match kind:\n    case "boolean" | "other": ...',
            "isinstance(index, BooleanMatcher)",
            "isinstance(index, indexes.ExactMatcher | LiveMatcher)",
            "isinstance(events, (list, MixedColumns))",
            "type(index) is RelaxedMatcher",
            "match index:\n    case LiveMatcher(): ...",
            'KINDS = ("range_topk",)',
            'Kind = Literal["spatial_text"]',
            'new_index("ranked", attributes)',
        ],
    )
    def test_a_place_that_knows_a_kind_counts(self, source):
        assert value("kinds", workers__a=source) == 1
        assert value("kinds", tests__a=source) == 0

    @pytest.mark.parametrize("layer", ["configs", "topics", "indexes", "workers"])
    def test_the_tables_may_know_kinds(self, layer):
        assert value("kinds", **{f"{layer}__kinds": 'KINDS = {"ranked": 1}'}) == 0

    @pytest.mark.parametrize(
        "source",
        [
            '"""Of the kind `boolean`."""',
            'def f():\n    "ranked"',
            'Collection(name="ads", kind="ranked")',
            '__all__ = ["ranked"]',
            'kind == "between"',
            "isinstance(index, Hit)",
        ],
    )
    def test_other_places_do_not_count(self, source):
        assert value("kinds", workers__a=source) == 0

    def test_samples_may_name_kinds_and_not_decide_by_them(self):
        assert value("kinds", benchmarks__a='Keeper("ranked")') == 0
        assert value("kinds", podium__demo__a='kind = {"kind": "ranked"}') == 0
        assert value("kinds", benchmarks__a='if kind == "ranked": ...') == 1
        assert value("kinds", podium__demo__a="isinstance(index, LiveMatcher)") == 1


@pytest.mark.parametrize(
    "source",
    [
        'ROLES = ("router", "matcher")',
        'def f():\n    for role in ["merger", *["matcher"] * 3]: ...',
        'GROUPS = {"router": 1, "merger": 2}',
        'PARTS = {"a": "router", "b": ["merger"]}',
        'Role = Literal["router", "matcher", "merger"]',
        'class Role(enum.StrEnum):\n    router = "router"\n    matcher = "matcher"',
        "dict(router=1, merger=2)",
    ],
)
def test_a_file_that_lists_roles_counts_once(source):
    assert value("roles", podium__a=f"{source}\n{source}") == 1
    assert value("roles", podium__a=source, workers__b=source) == 2
    assert value("roles", benchmarks__a=source) == 0


def test_a_single_role_is_no_list():
    assert value("roles", podium__a='start("router")\nstart("merger")\nONE = ("router", "x")') == 0


@pytest.mark.parametrize(
    "source",
    [
        "def f():\n    return score > other_score or (score == other_score and id < other_id)",
        "def f():\n    return score[a] > score[b] or (score[a] == score[b] and ids[a] < ids[b])",
        "def f():\n    if a.score != b.score:\n        return a.score > b.score\n"
        "    return a.id < b.id",
        "def f():\n    return (-scores[a], ids[a]) < (-scores[b], ids[b])",
        "def f():\n    tied = scores[:-1] == scores[1:]\n    return tied & (ids[:-1] < ids[1:])",
        "order = np.lexsort((ids, -scores))",
        "order = np.lexsort((ids, worse_scores))",
        "order = np.argsort(-scores, kind='stable')",
        "hits = sorted(hits, key=lambda hit: (-hit.score, hit.id))",
        "first = min(hits, key=lambda hit: (-hit.score, hit.id))",
    ],
)
def test_a_file_that_knows_the_order_of_ties_counts_once(source):
    assert value("ties", indexes__a=f"{source}\n{source}") == 1
    assert value("ties", indexes__a=source, workers__b=source, benchmarks__c=source) == 2


@pytest.mark.parametrize(
    "source",
    [
        "def f():\n    return found < len(ids) or scores[0] < floor",
        "def f():\n    return goes_first(scores[a], ids[a], scores[b], ids[b])",
        "def f():\n    return score == other and id == other_id",
        "order = np.lexsort((rows, columns))",
        "if id < 0: ...",
    ],
)
def test_who_asks_for_the_order_does_not_know_it(source):
    assert value("ties", indexes__a=source) == 0


@pytest.mark.parametrize(
    "source", ['K = "podium-k"', '[("podium-as-of", b"1")]', 'say(f"podium-after: {token}")']
)
def test_a_file_that_spells_a_header_counts_once(source):
    assert value("headers", topics__a=f"{source}\n{source}") == 1
    assert value("headers", topics__a=source, podium__b=source) == 2


@pytest.mark.parametrize(
    "source",
    [
        '"""With `podium-k` as header."""',
        '{"group.id": "podium-tail"}',
        'NO_GROUP = "podium-reader"',
        'mkdtemp(prefix="podium-demo")',
        'f"podium-ports-{first}.lock"',
    ],
)
def test_what_else_begins_with_podium_is_no_header(source):
    assert value("headers", podium__a=source) == 0


@pytest.mark.parametrize(
    "source",
    [
        "MOST = 16 * 1024 * 1024",
        "RECORD_BYTES = 4 * MIB",
        "RECORD_BYTES: int = 1 << 20",
        "MOST = 1024**2",
        "MOST = 5242880",
        "MOST = 4 * 1024 * 1024 + 512 * 1024",
        '{"message.max.bytes": str(16 * limits.MIB)}',
        "def f(most=16 * 1024 * 1024): ...",
        "f(most=16 << 20)",
        "if len(value) > 1024 * 1024: ...",
    ],
)
def test_a_file_with_a_records_size_counts_once(source):
    assert value("sizes", workers__a=f"{source}\n{source}") == 1
    assert value("sizes", workers__a=source, topics__b=source) == 2
    assert value("sizes", indexes__a=source, storage__b=source, tests__c=source) == 0


@pytest.mark.parametrize(
    "source",
    [
        "MIB = 1024 * 1024",
        "CHUNK_BYTES = 4 * 1024 * 1024",
        "chunk_bytes: Annotated[int, Field(le=64 * 1024 * 1024)] = 1024 * 1024",
        '{"socket.send.buffer.bytes": str(16 * MIB)}',
        "shown = bytes / 1024**2",
        "most = settings.most_mib * 1024 * 1024",
        "most = settings.most_mib * MIB",
        "BACKLOG = 1_000_000",
        "FEW = 64 * 1024",
    ],
)
def test_other_sizes_are_no_limits_of_records(source):
    assert value("sizes", workers__a=source) == 0


@pytest.mark.parametrize(
    "source",
    [
        'f"{self.prefix}.{self.collection}.{role}"',
        'f"{io.settings.prefix}.{io.collection.name}.feed"',
        "f\"{labels['prefix']}.{labels['collection']}.{part}\"",
    ],
)
def test_a_file_that_makes_names_of_groups_counts_once(source):
    assert value("groups", podium__a=f"a = {source}\nb = {source}") == 1
    assert value("groups", podium__a=f"a = {source}", topics__b=f"b = {source}") == 2


@pytest.mark.parametrize(
    "source",
    ['f"{prefix}.{collection}.{topic}"', 'f"{prefix}.{collection}.{job}"', 'f"{prefix}: {name}.x"'],
)
def test_names_of_topics_and_jobs_are_not_those_of_groups(source):
    assert value("groups", podium__a=f"a = {source}") == 0


def test_equal_runs_of_lines_are_found_once_a_pair_of_files():
    run = "\n".join(f"x{i} = {i}" for i in range(8))
    assert value("runs", podium__a=run, workers__b=f"y = 1\n\n{run}") == 1
    assert value("runs", podium__a=run, workers__b=run.replace("x4 = 4", "x4 = 5")) == 0
    imports = "\n".join(f"import m{i}" for i in range(8))
    assert value("runs", podium__a=imports, workers__b=imports) == 0


def test_arguments_are_counted_without_self():
    eight = ", ".join("abcdefgh")
    assert value("arguments", indexes__a=f"def f({eight}): ...") == 1
    assert value("arguments", indexes__a=f"class A:\n    def f(self, {eight[3:]}): ...") == 0
    assert value("arguments", workers__a=f"def f({eight}): ...") == 0


def test_a_class_name_that_exists_twice_counts_once():
    plan = "class Plan: ..."
    assert value("classes", podium__a=plan, workers__b=plan, topics__c="class Other: ...") == 1
    assert value("classes", podium__a=plan, tests__b=plan) == 0


def test_the_script_says_in_json_what_it_found_and_fails_where_a_goal_is_missed(capsys):
    code = main(["--json"])
    said = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)}
    assert said.keys() == BY_NAME.keys()
    assert code == (0 if all(entry["ok"] for entry in said.values()) else 1)


def test_the_script_shows_what_one_measure_found(capsys):
    main(["--show", "flat"])
    assert "modules" in capsys.readouterr().out
