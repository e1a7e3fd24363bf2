"""Whole numbers in fewer bytes: most of a snapshot's are small, or ascend in small steps.

An array that is stored in another form has that form, and the type to go back to, in its name:

    ids                as it is
    ids/steps/<i8      each number less the one before, in the narrowest type that holds them
    ids/narrow/<i4     the numbers themselves, in the narrowest type that holds them
"""

from collections.abc import Mapping

import numpy as np

__all__ = ["narrowed", "widened"]

_NARROW = (np.uint8, np.uint16, np.uint32)


def narrowed(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return dict(_narrowed(name, array) for name, array in arrays.items())


def _narrowed(name: str, array: np.ndarray) -> tuple[str, np.ndarray]:
    if "/" in name:
        raise ValueError(f"got array {name!r}, expected a name without a slash")
    if array.dtype.kind not in "iu" or array.ndim != 1 or not len(array) or array.min() < 0:
        return name, array
    form, numbers = "narrow", array
    if (array[1:] >= array[:-1]).all():
        form, numbers = "steps", np.diff(array, prepend=array.dtype.type(0))
    largest = numbers.max()
    for dtype in _NARROW:
        if largest <= np.iinfo(dtype).max and np.dtype(dtype).itemsize < array.dtype.itemsize:
            return f"{name}/{form}/{array.dtype.newbyteorder('<').str}", numbers.astype(dtype)
    return name, array


def widened(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What `narrowed` was given; `ValueError` if a name is none of its own."""
    return dict(_widened(name, array) for name, array in arrays.items())


def _widened(stored: str, array: np.ndarray) -> tuple[str, np.ndarray]:
    name, *rest = stored.split("/")
    if not rest:
        return name, array
    match rest:
        case ["steps", dtype]:
            numbers = np.cumsum(array, dtype=np.dtype(dtype))
        case ["narrow", dtype]:
            numbers = array.astype(np.dtype(dtype))
        case _:
            raise ValueError(f"got array {stored!r}, expected a known form of {name!r}")
    numbers.flags.writeable = False
    return name, numbers
