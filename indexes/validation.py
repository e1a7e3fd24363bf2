"""Argument checks that every index shares.

Each check returns its argument in the type that the kernels expect, or raises a
`ValueError` that names the offending value and what was expected.  Checks read only,
so an index that runs them before its first write is unchanged when they fail.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "as_bound_array",
    "as_count",
    "as_id",
    "as_id_array",
    "as_interval",
    "as_number_array",
    "as_score_array",
    "as_table",
    "as_values",
    "require_finite",
    "require_ordered",
    "require_same_length",
]

Ids = NDArray[np.int64]
Numbers = NDArray[np.float64]


def as_id(id: int) -> int:
    return int(as_id_array([id])[0])


def as_id_array(ids: ArrayLike | Sequence[int], name: str = "ids", distinct: bool = True) -> Ids:
    """Ids as i8[n]: integers from 0 to 2**63 - 1; with `distinct`, none of them twice."""
    array = np.asarray(ids)
    if array.ndim != 1:
        raise ValueError(f"{name}: got {array.ndim} dimensions when 1 was expected")
    if array.size == 0:
        return np.empty(0, np.int64)
    if array.dtype.kind not in "iu":
        raise ValueError(f"{name}: got {array.tolist()[0]!r} when an int64 >= 0 was expected")
    bad = (array < 0) | (array > np.iinfo(np.int64).max)
    if bad.any():
        raise ValueError(f"{name}: got {array[bad][0]} when an int64 >= 0 was expected")
    array = np.ascontiguousarray(array, np.int64)
    if distinct and len(array) > 1:
        in_order = np.sort(array)
        repeated = in_order[1:][in_order[1:] == in_order[:-1]]
        if len(repeated):
            raise ValueError(f"{name}: got {repeated[0]} twice in one batch when once was expected")
    return array


def as_number_array(name: str, values: ArrayLike, dimensions: int = 1) -> Numbers:
    """Values as a C-ordered f8 array of the given number of dimensions; NaN passes."""
    if np.ndim(values) != dimensions:
        raise ValueError(f"{name}: got {np.ndim(values)} dimensions when {dimensions} was expected")
    try:
        array = np.asarray(values)
        if array.dtype.kind in "USc":  # numpy would read the text, or drop the imaginary part
            raise TypeError(f"{array.dtype} is not a number")
        return np.ascontiguousarray(array, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name}: got {values!r} when numbers were expected") from error


def as_bound_array(name: str, values: ArrayLike) -> Numbers:
    """Interval ends as f8[n]: infinite ends pass, NaN does not."""
    array = as_number_array(name, values)
    if np.isnan(array).any():
        raise ValueError(f"{name}: got nan when a number or an infinite end was expected")
    return array


def as_table(name: str, values: ArrayLike, columns: int) -> Numbers:
    """Values as f8[n, columns]; NaN passes."""
    array = as_number_array(name, values, dimensions=2)
    if array.shape[1] != columns:
        raise ValueError(f"{name}: got {array.shape[1]} columns when {columns} were expected")
    return array


def as_interval(name: str, ends: tuple[float, float]) -> tuple[float, float]:
    """A pair of ends, low <= high, which may be infinite."""
    array = as_bound_array(name, ends)
    if len(array) != 2:
        raise ValueError(f"{name}: got {len(array)} ends when [low, high] was expected")
    require_ordered(array[:1], array[1:], name)
    return float(array[0]), float(array[1])


def as_score_array(values: ArrayLike) -> Numbers:
    return require_finite("scores", as_number_array("scores", values))


def as_values(name: str, values: ArrayLike) -> Numbers:
    """Event values as f8[m], each finite."""
    return require_finite(name, as_number_array(name, values))


def require_finite(name: str, array: Numbers) -> Numbers:
    finite = np.isfinite(array)
    if not finite.all():
        raise ValueError(f"{name}: got {array[~finite][0]} when a finite number was expected")
    return array


def require_ordered(lows: Numbers, highs: Numbers, name: str = "interval") -> None:
    inverted = lows > highs
    if inverted.any():
        low, high = lows[inverted][0], highs[inverted][0]
        raise ValueError(f"{name}: got [{low}, {high}] when low <= high was expected")


def require_same_length(**arrays: np.ndarray) -> None:
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        got = ", ".join(f"{count} {name}" for name, count in lengths.items())
        raise ValueError(f"got {got} when equal lengths were expected")


def as_count(name: str, value: int, least: int = 0) -> int:
    """A whole number of at least `least`: `k`, `branching`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ValueError(f"{name}: got {value!r} when a whole number was expected")
    if value < least:
        raise ValueError(f"{name}: got {value} when {name} >= {least} was expected")
    return int(value)


def distinct_names(attributes: Iterable[str]) -> tuple[str, ...]:
    """The attributes of a matcher, at least one; a string is not taken for its letters."""
    names = () if isinstance(attributes, str) else tuple(attributes)
    if not names or len(set(names)) < len(names) or not all(isinstance(n, str) for n in names):
        raise ValueError(f"attributes: got {attributes!r} when distinct names were expected")
    return names
