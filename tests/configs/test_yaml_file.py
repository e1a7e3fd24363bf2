import pytest

from configs import ConfigError
from configs.yaml_file import read_yaml


def refusal(file):
    with pytest.raises(ConfigError) as caught:
        read_yaml(file)
    return caught.value.problems


def test_every_key_has_its_line(write):
    document = read_yaml(write("a: 1\nb:\n  c:\n    - x\n    - y\n"))
    assert document.values == {"a": 1, "b": {"c": ["x", "y"]}}
    assert document.lines == {("a",): 1, ("b",): 2, ("b", "c"): 3}


def test_an_empty_file_is_an_empty_mapping(write):
    assert read_yaml(write("# only a comment\n")).values == {}


def test_a_syntax_error_has_its_line_and_column(write):
    file = write("a: 1\nb: [1, 2\nc: 3\n")
    (problem,) = refusal(file)
    assert problem.source == f"{file}:3:2"
    assert "line 3, column 2" in problem.message


def test_all_keys_given_twice_are_named(write):
    file = write("a: 1\nb: {c: 1, c: 2}\na: 2\n")
    assert [(p.source, p.path, p.message) for p in refusal(file)] == [
        (f"{file}:2", "b.c", "given twice, first in line 2; keep one"),
        (f"{file}:3", "a", "given twice, first in line 1; keep one"),
    ]


def test_a_key_that_yaml_takes_for_something_else_is_refused(write):
    (problem,) = refusal(write("a:\n  on: 1\n"))
    assert problem.path == "a"
    assert problem.message == "got the key on, expected text (put it in quotes)"


def test_anchors_and_merges_work_as_in_yaml(write):
    document = read_yaml(write("base: &base {x: 1, y: 2}\nuse: {<<: *base, y: 3}\n"))
    assert document.values["use"] == {"x": 1, "y": 3}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"- a\n", "expected `key: value` lines", id="a-list"),
        pytest.param(b"just text\n", "expected `key: value` lines", id="text"),
        pytest.param(b"a: \xff\n", "is not UTF-8", id="not-utf-8"),
        pytest.param(b"a: \x01\n", "may not occur", id="control-character"),
        pytest.param(b"a: 1\n---\nb: 2\n", "single document", id="two-documents"),
        pytest.param(b"a: !!python/object:os.system x\n", "could not determine", id="a-python-tag"),
        pytest.param(b"? {a: 1}\n: 2\n", "expected text", id="a-mapping-as-key"),
    ],
)
def test_what_is_no_configuration_is_refused(tmp_path, content, message):
    file = tmp_path / "x.yaml"
    file.write_bytes(content)
    (problem,) = refusal(file)
    assert message in problem.message


def test_a_folder_is_no_file(tmp_path):
    (problem,) = refusal(tmp_path)
    assert "cannot be read" in problem.message
