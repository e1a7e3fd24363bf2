"""Where settings come from: a YAML file, then the environment, then flags.

A secret may also be in a file of its own, which a variable names: `PODIUM_KAFKA__PASSWORD_FILE`.

Each source becomes `{path: Given(value, source)}`, so that joining them is one `dict` update and
every value can say where it came from.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path as FilePath
from typing import Any, NamedTuple

from pydantic import Secret, SecretStr
from pydantic_settings import BaseSettings, EnvSettingsSource, SettingsError

from configs.errors import ConfigError, Problem
from configs.section import is_secret, known_keys, unknown_key
from configs.yaml_file import Path, read_yaml

PREFIX = "PODIUM_"
NESTED = "__"
IN_A_FILE = "_FILE"
COMMAND_LINE = "command line"
DEFAULT = "default"

# Variables of ours that are no settings: the file to read, the folder of the local stack, and the
# addresses that tests are given.
NOT_SETTINGS = re.compile(r"PODIUM_(CONFIG|FOLDER|TEST_\w+)")

# Kubernetes gives every pod variables for the services of its namespace, and a release is
# likely to have services whose names begin with `podium`.
SERVICE_LINK = re.compile(
    r"PODIUM_(\w+_)?(SERVICE_(HOST|PORT(_\w+)?)|PORT_\d+_(TCP|UDP|SCTP)(_\w+)?)"
)
SERVICE_LINK_ADDRESS = re.compile(r"(tcp|udp|sctp)://")


class Given(NamedTuple):
    value: Any
    source: str


def from_file(file: FilePath, file_paths: set[Path]) -> dict[Path, Given]:
    """What `file` gives; relative `file_paths` in it are relative to its folder."""
    document = read_yaml(file)
    given = {}
    for path, value in _leaves(document.values):
        if path in file_paths and isinstance(value, str):
            value = str(file.parent / FilePath(value).expanduser())
        line = document.lines.get(path)
        given[path] = Given(value, f"{file}:{line}" if line else str(file))
    return given


def from_environment(model: type[BaseSettings]) -> dict[Path, Given]:
    try:
        values = EnvSettingsSource(
            model, env_prefix=PREFIX, env_nested_delimiter=NESTED, env_ignore_empty=True
        )()
    except SettingsError as error:  # its text names the field, never the value
        raise ConfigError([Problem("environment", "", f"{error}: expected JSON")]) from error
    files = {_file_path(path) for path in secret_paths(model)}
    given = {path: Given(value, _variable(path)) for path, value in _leaves(values)}
    return {path: one for path, one in given.items() if path not in files}


def from_secret_files(model: type[BaseSettings]) -> dict[Path, Given]:
    """Secrets that variables such as `PODIUM_KAFKA__PASSWORD_FILE` name the files of."""
    variables = {name.upper(): value for name, value in os.environ.items() if value}
    given, problems = {}, []
    for path in secret_paths(model):
        variable = _variable(path) + IN_A_FILE
        if variable not in variables:
            continue
        if _variable(path) in variables:
            message = f"got {_variable(path)} as well, expected one of both; unset one"
            problems.append(Problem(variable, "", message))
            continue
        file = FilePath(variables[variable])
        try:
            text = file.read_text(encoding="utf-8").rstrip("\r\n")
        except OSError as error:
            problems.append(Problem(variable, "", f"{file} cannot be read: {error.strerror}"))
        except UnicodeDecodeError:
            problems.append(Problem(variable, "", f"{file} is not UTF-8"))
        else:
            given[path] = Given(text, f"{variable}, {file}")
    if problems:
        raise ConfigError(problems)
    return given


def secret_paths(model: type[BaseSettings]) -> list[Path]:
    """Also of addresses, which may have a password in them."""
    types = (SecretStr, Secret)
    return [path for path in variable_paths(model) if is_secret(model, path, types)]


def unknown_variables(model: type[BaseSettings]) -> list[Problem]:
    """Variables that begin like ours and are none; a misspelt one would otherwise do nothing."""
    return [
        Problem(name, "", message)
        for name, value in sorted(os.environ.items())
        if (message := _refusal(model, name, value))
    ]


def from_flags(overrides: Mapping[str, Any]) -> dict[Path, Given]:
    """`overrides` by dotted path or nested; `None` is a flag that was not given."""
    given = {}
    for path, value in _leaves(overrides):
        if value is not None:
            dotted = tuple(part for step in path for part in step.split("."))
            given[dotted] = Given(value, COMMAND_LINE)
    return given


def joined(*sources: dict[Path, Given]) -> tuple[dict[str, Any], dict[Path, Given]]:
    """The nested values, later sources winning, and what was given for each path."""
    given: dict[Path, Given] = {}
    for source in sources:
        given |= source
    values: dict[str, Any] = {}
    for path in sorted(given, key=len):  # a group given as one value yields to its keys
        at = values
        for step in path[:-1]:
            if not isinstance(at.get(step), dict):
                at[step] = {}
            at = at[step]
        at[path[-1]] = given[path].value
    return values, given


def source_of(given: Mapping[Path, Given], path: Path, otherwise: str = DEFAULT) -> str:
    """The source of `path`, of the nearest group around it, or of the first key beside it."""
    for length in range(len(path), 0, -1):
        near = path[:length]
        if near in given:
            return given[near].source
        inside = [key for key in given if key[:length] == near]
        if inside:
            return given[inside[0]].source
    return otherwise


def _leaves(values: Mapping[str, Any], path: Path = ()) -> Iterator[tuple[Path, Any]]:
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, (*path, key))
        else:
            yield (*path, key), value


def _file_path(path: Path) -> Path:
    """Where a variable that names a file would be, were it a setting."""
    return (*path[:-1], path[-1] + IN_A_FILE.lower())


def _variable(path: Path) -> str:
    return PREFIX + NESTED.join(path).upper()


def _refusal(model: type[BaseSettings], name: str, value: str) -> str | None:
    """Why a variable of ours is none that we know, or `None`."""
    name = name.upper()
    if not name.startswith(PREFIX) or NOT_SETTINGS.fullmatch(name) or SERVICE_LINK.fullmatch(name):
        return None
    if name.endswith("PORT") and SERVICE_LINK_ADDRESS.match(value):
        return None
    path = tuple(name.removeprefix(PREFIX).lower().split(NESTED))
    if path in map(_file_path, secret_paths(model)):
        return None
    for length, step in enumerate(path):
        known = known_keys(model, path[:length])
        if step not in known:
            # `PODIUM_KAFKA_BROKERS` is a likelier slip than any misspelt name.
            variables = {_variable(found): found for found in variable_paths(model)}
            if by_one := [v for v in variables if v.replace("__", "_") == name.replace("__", "_")]:
                return f"unknown variable; did you mean {by_one[0]}?"
            return unknown_key(step, known).replace("unknown key", "unknown variable")
    return None


def variable_paths(model: Any, path: Path = ()) -> Iterator[Path]:
    """The path of every single setting of `model`, groups opened."""
    for name, field in model.model_fields.items():
        if hasattr(field.annotation, "model_fields"):
            yield from variable_paths(field.annotation, (*path, name))
        else:
            yield (*path, name)
