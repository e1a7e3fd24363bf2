"""The local stack: Kafka, Redis and worker processes, set up and supervised.

    setup/    before anything runs: `.venv`, programs, jars
    run/      the stack while it runs: its folder, its processes, who keeps them and stops them
    status/   what is said about it from outside: `podium status`, `podium up`
    errors    what can go wrong, each with what to do

`Stack(folder)` is a context manager that is the whole of it; tests and benchmarks use it so.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from podium.stack.errors import StackError

if TYPE_CHECKING:
    from podium.stack.run.stack import Stack

__all__ = ["DEFAULT_FOLDER", "Stack", "StackError"]

# Where `podium up` keeps a stack, unless --folder or PODIUM_FOLDER names another place.
DEFAULT_FOLDER = Path(".podium")


def __getattr__(name: str) -> Any:
    """`Stack` on first use: the set-up imports this package before any dependency is installed."""
    if name == "Stack":
        from podium.stack.run.stack import Stack

        return Stack
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
