"""The local stack: Kafka, Redis and worker processes, set up and supervised."""

from typing import TYPE_CHECKING, Any

from podium.stack.errors import StackError

if TYPE_CHECKING:
    from podium.stack.run.stack import Stack

__all__ = ["Stack", "StackError"]


def __getattr__(name: str) -> Any:
    """`Stack` on first use: the set-up imports this package before any dependency is installed."""
    if name == "Stack":
        from podium.stack.run.stack import Stack

        return Stack
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
