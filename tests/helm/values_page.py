"""README.md of the chart: the table of its values, made from the comments in values.yaml.

A comment `# -- …` says what the key below it is for, and `# @default -- …` shows a default that is
too long for a table.  `python -m tests.helm.values_page` writes the page anew.
"""

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import yaml

CHART = Path(__file__).parents[2] / "helm" / "podium"
PAGE = CHART / "README.md"
BEGIN, END = "<!-- values -->", "<!-- end of values -->"

KEY = re.compile(r"( *)([A-Za-z][\w-]*):")
SAYS = re.compile(r" *# -- (.*)")
DEFAULT = re.compile(r" *# @default -- (.*)")


class Value(NamedTuple):
    path: str
    says: str
    default: str


def commented(text: str) -> list[Value]:
    """Every key with a comment, in the order of the file."""
    values, found, above, says, default = yaml.safe_load(text), [], [], "", ""
    for line in text.splitlines():
        if told := SAYS.fullmatch(line):
            says = told[1]
        elif told := DEFAULT.fullmatch(line):
            default = told[1]
        elif key := KEY.match(line):
            depth = len(key[1]) // 2
            above = [*above[:depth], key[2]]
            if says:
                found.append(Value(".".join(above), says, default or shown(at(values, above))))
            says = default = ""
    return found


def at(values: Any, path: list[str]) -> Any:
    for step in path:
        values = values[step]
    return values


def shown(value: Any) -> str:
    return f"`{json.dumps(value, ensure_ascii=False)}`"


def table(values: list[Value]) -> str:
    rows = [f"| `{value.path}` | {value.says} | {value.default} |" for value in values]
    return "\n".join(["| value | what it is | default |", "|---|---|---|", *rows])


def page(before: str) -> str:
    """`before` with the table of today."""
    values = commented((CHART / "values.yaml").read_text(encoding="utf-8"))
    head, rest = before.split(BEGIN)
    tail = rest.split(END)[1]
    return f"{head}{BEGIN}\n{table(values)}\n{END}{tail}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
