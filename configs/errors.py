"""What is wrong with a configuration: every problem at once, each with its place."""

from typing import NamedTuple


class Problem(NamedTuple):
    source: str  # `podium.yaml:7`, a variable's name, or `command line`
    path: str  # `kafka.brokers`; empty where the source as a whole is at fault
    message: str

    def __str__(self) -> str:
        return ": ".join(part for part in self if part)


class ConfigError(ValueError):
    """The configuration cannot be used; mend each of `problems`, nothing was started."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems
