"""What an index of Boolean expressions has to say about how its rows are found."""

import numpy as np

from indexes.boolean.events import EncodedEvents
from indexes.hits import HitTable


class Structure:
    """`_place` and `_remove` follow rows; `_rank` and `_collect` answer encoded events."""

    def _clear_structure(self) -> None:
        """Forget all rows."""
        raise NotImplementedError

    def _place(self, rows: np.ndarray) -> None:
        """Index new rows."""
        raise NotImplementedError

    def _remove(self, rows: np.ndarray) -> None:
        """Forget rows, which are still in the store."""
        raise NotImplementedError

    def _rank(self, events: EncodedEvents, table: HitTable) -> None:
        """Fill the table with the best hits of each event."""
        raise NotImplementedError

    def _collect(
        self, events: EncodedEvents, first: int, starts: np.ndarray, ids: np.ndarray
    ) -> int:
        """Write the ids that match each event from `first` on; return the event that lacked room.

        starts[i + 1] is where the ids of event i end, ascending and each once.
        """
        raise NotImplementedError

    def _check_structure(self) -> None:
        raise NotImplementedError

    @property
    def _structure_nbytes(self) -> int:
        raise NotImplementedError
