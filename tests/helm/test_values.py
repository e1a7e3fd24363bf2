"""values.yaml, its schema and its page say the same."""

import re

import yaml

from tests.helm import schema, values_page
from tests.helm.chart import CHART

VALUES = CHART / "values.yaml"
REMEDY = "run `make chart` and commit what it writes"


def leaves(values, path=()):
    """Every key of the file, down to what Kubernetes or a collection says itself."""
    for name, value in values.items():
        here = (*path, name)
        yield here
        if isinstance(value, dict):
            yield from leaves(value, here)


def test_the_schema_is_of_today():
    assert schema.FILE.read_text() == schema.written(), REMEDY


def test_the_page_is_of_today():
    text = values_page.PAGE.read_text()
    assert values_page.page(text) == text, REMEDY


def test_every_value_is_commented_by_itself_or_with_its_group():
    text = VALUES.read_text()
    commented = {tuple(value.path.split(".")) for value in values_page.commented(text)}
    bare = [
        ".".join(path)
        for path in leaves(yaml.safe_load(text))
        if not any(path[:length] in commented for length in range(1, len(path) + 1))
        and not any(one[: len(path)] == path for one in commented)
    ]
    assert bare == []


def test_every_value_of_the_schema_has_a_default_and_every_default_is_in_it():
    values = yaml.safe_load(VALUES.read_text())
    wanted = schema.chart_values()

    def compare(values, wanted, path):
        wanted = definitions[wanted["$ref"].split("/")[-1]] if "$ref" in wanted else wanted
        if wanted.get("additionalProperties") is not False or path == ("settings",):
            return
        known = set(wanted["properties"]) - {"global", "enabled" if not path else ""}
        assert set(values) == known, path
        for name, value in values.items():
            if isinstance(value, dict):
                compare(value, wanted["properties"][name], (*path, name))

    definitions = wanted["$defs"]
    compare(values, wanted, ())


def test_templates_use_every_value():
    """By its last name, which is enough to find one that nothing reads."""
    sources = "".join(file.read_text() for file in CHART.rglob("templates/**/*") if file.is_file())
    values = yaml.safe_load(VALUES.read_text())
    handed_on = (
        "settings",
        "collections",
        "podSecurityContext",
        "securityContext",
        "topologySpread",
    )
    # Options of a component are looked up by its name, and read by theirs.
    unused = {
        ".".join(path)
        for path in leaves(values)
        if path[0] not in handed_on
        and "resources" not in path
        and "labels" not in path[:-1]
        and not re.search(rf"\b{path[-1]}\b", sources)
    }
    assert unused == set()
