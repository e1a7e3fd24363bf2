"""Read a YAML file strictly, and remember the line of every key.

YAML by itself takes the last of two equal keys and turns a bare `on:` into the key `True`;
both are refused here, because an operator never means them.
"""

from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Any, NamedTuple

import yaml

from configs.errors import ConfigError, Problem

Path = tuple[str, ...]


class Document(NamedTuple):
    values: dict[str, Any]
    lines: dict[Path, int]  # counted from 1


def read_yaml(file: FilePath) -> Document:
    """The mapping in `file`; an empty file is an empty mapping."""
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError([Problem(str(file), "", "there is no such file")]) from None
    except OSError as error:
        message = f"cannot be read: {error.strerror}"
        raise ConfigError([Problem(str(file), "", message)]) from error
    except UnicodeDecodeError as error:
        message = f"byte {error.start} is not UTF-8; save the file as UTF-8"
        raise ConfigError([Problem(str(file), "", message)]) from error
    try:
        return _parsed(file, text)
    except yaml.YAMLError as error:
        raise ConfigError([Problem(_position(file, error), "", _reason(error))]) from error


def _parsed(file: FilePath, text: str) -> Document:
    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return Document({}, {})
        if not isinstance(node, yaml.MappingNode):
            where = f"{file}:{node.start_mark.line + 1}"
            raise ConfigError([Problem(where, "", "got no mapping, expected `key: value` lines")])
        lines: dict[Path, int] = {}
        problems = list(_walk(str(file), node, (), lines, set()))
        if problems:
            raise ConfigError(problems)
        return Document(loader.construct_document(node), lines)
    finally:
        loader.dispose()


def _walk(
    file: str, node: yaml.Node, path: Path, lines: dict[Path, int], seen: set[int]
) -> Iterator[Problem]:
    """Note each key's line in `lines`; yield the keys that no configuration can have."""
    if id(node) in seen:  # an alias; it may even point at its own parent
        return
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for position, child in enumerate(node.value):
            yield from _walk(file, child, (*path, str(position)), lines, seen)
    elif isinstance(node, yaml.MappingNode):
        first_line: dict[str, int] = {}
        for key, child in node.value:
            line = key.start_mark.line + 1
            if key.tag not in ("tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"):
                shown = key.value if isinstance(key, yaml.ScalarNode) else "a list or mapping"
                message = f"got the key {shown}, expected text (put it in quotes)"
                yield Problem(f"{file}:{line}", ".".join(path), message)
                continue
            here = (*path, key.value)
            if key.value in first_line:
                message = f"given twice, first in line {first_line[key.value]}; keep one"
                yield Problem(f"{file}:{line}", ".".join(here), message)
            first_line.setdefault(key.value, line)
            lines[here] = line
            yield from _walk(file, child, here, lines, seen)


def _position(file: FilePath, error: yaml.YAMLError) -> str:
    mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
    return f"{file}:{mark.line + 1}:{mark.column + 1}" if mark else str(file)


def _reason(error: yaml.YAMLError) -> str:
    """The parser's words without its excerpt of the file, which could hold a secret."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem:
        place = ""
        if error.problem_mark:
            mark = error.problem_mark
            place = f" at line {mark.line + 1}, column {mark.column + 1}"
        context = f" {error.context}" if error.context else ""
        return f"not valid YAML{place}: {error.problem}{context}"
    if isinstance(error, yaml.reader.ReaderError):
        return f"not valid YAML: character {error.position} may not occur"
    return "not valid YAML"
