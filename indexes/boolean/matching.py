"""What every search does with an event: spread it over the columns, and keep or list its hits."""

import numpy as np

from indexes.kernels.decorators import fused, inner


@fused
def spread(events, i, values, weights):
    """Write the entries of event i; all other columns stay NaN, which means lacking."""
    for at in range(events.starts[i], events.starts[i + 1]):
        values[events.columns[at]] = events.values[at]
        weights[events.columns[at]] = events.weights[at]


@fused
def unspread(events, i, values):
    for at in range(events.starts[i], events.starts[i + 1]):
        values[events.columns[at]] = np.nan


@inner
def close_event(ids, start, end):
    """Sort the ids of one event and keep each once; return where they end."""
    if end - start < 2:
        return end
    found = np.sort(ids[start:end])
    at = start
    for i in range(len(found)):
        if i == 0 or found[i] != found[i - 1]:
            ids[at] = found[i]
            at += 1
    return at
