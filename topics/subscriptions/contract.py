"""What every kind of subscription offers."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np


class SubscriptionContract(Protocol):
    """How the subscriptions of one collection are read."""

    attributes: tuple[str, ...]

    def parse(self, value: bytes) -> tuple[Any, ...]:
        """One record's subscription, or `BadRecord`."""

    def columns_at_once(self, values: Sequence[bytes]) -> tuple[np.ndarray, ...] | None:
        """As `columns` of all these parsed; None if they have to be parsed one by one."""

    def columns(self, rows: Sequence[Any]) -> tuple[np.ndarray, ...]:
        """Parsed subscriptions as an index takes them, one array a column."""

    def to_arrays(self, columns: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
        """Columns as they are stored: arrays of numbers, equal bytes for equal content."""

    def from_arrays(self, arrays: Mapping[str, np.ndarray]) -> tuple[np.ndarray, ...]:
        """The columns that `to_arrays` was given."""
