"""How often columns are asked for, against counting, while columns keep coming."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from indexes.boolean.events import EncodedEvents
from indexes.boolean.tree_feedback import _PRIOR, Demand

# New columns, what a batch of events has of those there are by then, and whether a window ends.
steps = st.tuples(
    st.integers(0, 3), st.lists(st.sets(st.integers(0, 9)), max_size=5), st.booleans()
)


@given(st.lists(steps, max_size=8))
def test_shares_are_those_of_the_last_window_and_one_for_columns_since(steps):
    demand, columns, shares = Demand(), 1, {}
    met, events = {}, 0
    for new, batch, closes in steps:
        columns += new
        asked = [sorted(column for column in event if column < columns) for event in batch]
        starts = np.append(0, np.cumsum([len(event) for event in asked])).astype(np.int64)
        flat = np.array([column for event in asked for column in event], np.int32)
        ones = np.ones(len(flat))
        demand.meet(EncodedEvents(starts, flat, ones, ones, (columns, 0)), columns)
        events += len(asked)
        met = {c: met.get(c, 0) + (flat == c).sum() for c in range(columns)}
        assert demand.events == events
        if closes:
            demand.close_window()
            shares = {c: (count + _PRIOR) / (events + _PRIOR) for c, count in met.items()}
            met, events = {}, 0
        for more in (0, 1, 5):  # that no event has met yet
            wanted = [shares.get(column, 1.0) for column in range(columns + more)]
            assert demand.shares(columns + more).tolist() == wanted
