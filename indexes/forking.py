"""Copies of a structure for another thread, made while the first thread goes on answering."""

from collections.abc import Iterable, Iterator
from copy import deepcopy
from typing import Any, TypeVar

import numpy as np

from indexes.kernels.aligned import aligned_copy

__all__ = ["forked"]

Structure = TypeVar("Structure")


def forked(structure: Structure, shared: Iterable[Any] = ()) -> Structure:
    """A deep copy of all but the shared parts.

    Arrays are copied one by one beforehand: a deep copy of one, unlike a plain copy, holds the
    interpreter lock all the while.
    """
    copies = {id(part): part for part in shared}
    for array in _arrays(structure, copies):
        copies[id(array)] = aligned_copy(array)
    return deepcopy(structure, copies)


def _arrays(part: Any, known: dict[int, Any]) -> Iterator[np.ndarray]:
    if id(part) in known:
        return
    if isinstance(part, np.ndarray):
        yield part
    elif isinstance(part, tuple | list):
        for one in part:
            yield from _arrays(one, known)
    elif hasattr(part, "__dict__"):
        yield from _arrays(list(vars(part).values()), known)
