"""Transformations are functions of DataFrames: one module reads, writes, names checkpoints."""

import ast
from pathlib import Path

import pytest

import spark_streaming

PACKAGE = Path(spark_streaming.__file__).parent
# Spark's `read` and `write` are not called, unlike those of files: `spark.read.parquet(…)`.
UNCALLED = {"read", "write"}
ATTRIBUTES = {"readStream", "writeStream", "writeTo", "checkpoints"}
CHECKPOINT_OPTION = "checkpointLocation"
# Asks only whether checkpoints lie on this machine.
ALLOWED = {"session.py": {"checkpoints"}}


def io_in(source: str) -> set[str]:
    """What a module has of reading, writing and naming checkpoints."""
    nodes = list(ast.walk(ast.parse(source)))
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    found = set()
    for node in nodes:
        match node:
            case ast.Attribute(attr=name) if name in ATTRIBUTES:
                found.add(name)
            case ast.Attribute(attr=name) if name in UNCALLED and id(node) not in called:
                found.add(name)
            case ast.Call(func=ast.Name("Checkpoint") | ast.Attribute(attr="Checkpoint")):
                found.add("Checkpoint")
            case ast.Constant(str(text)) if CHECKPOINT_OPTION in text:
                found.add(CHECKPOINT_OPTION)
            case ast.keyword(arg=name) if name == CHECKPOINT_OPTION:
                found.add(CHECKPOINT_OPTION)
    return found


def test_one_module_reads_writes_and_names_checkpoints():
    found = {
        path.name: io_in(path.read_text()) - ALLOWED.get(path.name, set())
        for path in PACKAGE.rglob("*.py")
    }
    everything = UNCALLED | ATTRIBUTES - {"writeTo"} | {"Checkpoint", CHECKPOINT_OPTION}
    assert found.pop("collection_io.py") == everything
    assert not {name: words for name, words in found.items() if words}


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("frame = self._spark.read.format('kafka').load()", "read"),
        ("reader = kafka(spark.read)", "read"),
        ("stream = spark.readStream.load()", "readStream"),
        ("def f(rows):\n    rows.write.mode('overwrite').parquet(folder)", "write"),
        ("query = rows.writeStream.start()", "writeStream"),
        ("rows.writeTo('table').append()", "writeTo"),
        ("writer.option('checkpointLocation', path)", "checkpointLocation"),
        ("writer.start(checkpointLocation=path)", "checkpointLocation"),
        ("conf.set('spark.sql.streaming.checkpointLocation', path)", "checkpointLocation"),
        ("path = f'{settings.spark.checkpoints}/{job}'", "checkpoints"),
        ("Checkpoint(spark, path)", "Checkpoint"),
        ("checkpoints.Checkpoint(spark, path)", "Checkpoint"),
    ],
)
def test_the_rule_catches_what_it_is_for(source, word):
    assert word in io_in(source)


@pytest.mark.parametrize(
    "source", ["stream.write(data)", "mark.read(ends)", "file.read_text()", "checkpoint.path"]
)
def test_files_and_checkpoints_that_are_given_may_be_used(source):
    assert not io_in(source)
