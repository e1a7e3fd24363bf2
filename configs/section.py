"""The base of every group of settings, and the words for what is wrong with a value."""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from configs.errors import ConfigError, Problem

SHOWN_CHARACTERS = 60

STRICT = ConfigDict(
    frozen=True,
    extra="forbid",
    allow_inf_nan=False,
    validate_default=True,
    protected_namespaces=(),
)


class Section(BaseModel):
    model_config = STRICT

    @field_validator("*", mode="before")
    @classmethod
    def _a_yes_is_not_a_number(cls, value: Any, info: ValidationInfo) -> Any:
        """Python takes `True` for 1, so `port: yes` would quietly become port 1."""
        if isinstance(value, bool) and cls.model_fields[str(info.field_name)].annotation in (
            int,
            float,
        ):
            raise expected("a number")
        return value


def expected(what: str, secret: bool = False) -> PydanticCustomError:
    """The refusal `got …, expected <what>`; `secret` leaves the value out."""
    return PydanticCustomError("secret" if secret else "expected", "{what}", {"what": what})


def checked(
    model: Callable[..., Any], values: dict[str, Any], source_of: Callable[[tuple[str, ...]], str]
) -> Any:
    """`model(**values)`, or a `ConfigError` with every problem and the source of each value."""
    try:
        return model(**values)
    except ValidationError as error:
        problems = [_problem(model, details, source_of) for details in error.errors()]
        raise ConfigError(problems) from None


def _problem(
    model: Any, details: ErrorDetails, source_of: Callable[[tuple[str, ...]], str]
) -> Problem:
    path = tuple(str(step) for step in details["loc"])
    return Problem(source_of(path), ".".join(path), _message(model, path, details))


def _message(model: Any, path: tuple[str, ...], details: ErrorDetails) -> str:
    kind, got, context = details["type"], details["input"], details.get("ctx", {})
    if kind == "extra_forbidden":
        # The value stays unsaid: it could be a secret under a misspelt key.
        return unknown_key(path[-1], known_keys(model, path[:-1]))
    if kind == "missing":
        return "is missing"
    if kind == "secret":
        return str(context["what"])
    what = context["what"] if kind == "expected" else _wanted(kind, context, details["msg"])
    if is_secret(model, path):
        return f"got a value that is not shown, expected {what}"
    return f"got {_shown(got)}, expected {what}"


def unknown_key(key: str, known: Iterable[str]) -> str:
    known = sorted(known)
    close = get_close_matches(key.lower(), known, n=1)
    if close:
        return f"unknown key; did you mean `{close[0]}`?"
    return f"unknown key; known here: {', '.join(known)}"


def known_keys(model: Any, path: tuple[str, ...]) -> list[str]:
    for step in path:
        field = model.model_fields.get(step)
        if field is None or not hasattr(field.annotation, "model_fields"):
            return []
        model = field.annotation
    return list(model.model_fields)


def is_secret(model: Any, path: tuple[str, ...], types: tuple[type, ...] = (SecretStr,)) -> bool:
    """Whether the value at `path` of `model` is one of these types, which are never shown."""
    for step in path:
        field = getattr(model, "model_fields", {}).get(step)
        if field is None:
            return False
        model = field.annotation
    return _is_or_holds(model, types)


def _is_or_holds(annotation: Any, types: tuple[type, ...]) -> bool:
    if isinstance(annotation, type) and issubclass(annotation, types):
        return True
    return any(_is_or_holds(one, types) for one in get_args(annotation))


COMPARISONS: dict[str, tuple[str, str]] = {
    "greater_than": ("a number above {}", "gt"),
    "greater_than_equal": ("{} or more", "ge"),
    "less_than": ("a number below {}", "lt"),
    "less_than_equal": ("{} or less", "le"),
    "too_short": ("at least {} of them", "min_length"),
    "too_long": ("at most {} of them", "max_length"),
    "string_too_short": ("at least {} characters", "min_length"),
    "string_too_long": ("at most {} characters", "max_length"),
    "string_pattern_mismatch": ("text of the form {}", "pattern"),
    "literal_error": ("{}", "expected"),
}
TYPES: dict[str, str] = {
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "finite_number": "a finite number",
    "float_parsing": "a number",
    "float_type": "a number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "model_type": "a group of `key: value` lines",
    "path_not_directory": "an existing folder",
    "path_not_file": "an existing file",
    "path_type": "a path",
    "string_type": "text (put it in quotes)",
    "tuple_type": "a list",
}


def _wanted(kind: str, context: dict[str, Any], message: str) -> str:
    if kind in COMPARISONS:
        form, key = COMPARISONS[kind]
        return form.format(context[key])
    return TYPES.get(kind, message)


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "a group of keys"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    if value is None:
        return "nothing"
    text = repr(str(value)) if isinstance(value, str) else str(value)
    return text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "…"
