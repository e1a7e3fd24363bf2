"""Names of an index made canonical for saving, and taken over when loading."""

import numpy as np

from indexes.boolean.batches import IN, NOT_IN, Batch, BooleanArrays
from indexes.boolean.vocabulary import Vocabulary


def canonical_arrays(ids: np.ndarray, batch: Batch, vocabulary: Vocabulary) -> BooleanArrays:
    """Columns by name, strings in ascending order, nothing that no predicate uses."""
    used = np.unique(batch.columns).tolist()
    used.sort(key=lambda column: (vocabulary.names[column], vocabulary.codes[column] is not None))
    place = np.zeros(max(len(vocabulary), 1), np.int32)
    place[used] = np.arange(len(used))
    firsts, lists = batch.firsts.copy(), batch.lists.copy()
    strings: list[str] = []
    counts = np.zeros(len(used), np.int64)
    for i, column in enumerate(used):
        names = vocabulary.strings(column)
        if names is not None:
            own = _sorted_strings(batch, column, np.array(names), firsts, lists)
            counts[i] = len(own)
            strings += own
    return BooleanArrays(
        np.array([vocabulary.names[column] for column in used], dtype=np.str_),
        np.array([vocabulary.codes[column] is not None for column in used], np.bool_),
        np.array(strings, dtype=np.str_),
        counts,
        ids,
        batch.counts,
        place[batch.columns],
        batch.kinds,
        batch.weights,
        firsts,
        batch.seconds,
        lists,
    )


def _sorted_strings(
    batch: Batch, column: int, names: np.ndarray, firsts: np.ndarray, lists: np.ndarray
) -> list[str]:
    """Write new codes of a column's strings into `firsts` and `lists`; return those in use."""
    own = batch.columns == column
    listed = (batch.kinds == IN) | (batch.kinds == NOT_IN)
    runs = np.flatnonzero(own & listed).tolist()
    single = np.flatnonzero(own & ~listed)
    spans = [(int(batch.firsts[i]), int(batch.firsts[i] + batch.seconds[i])) for i in runs]
    codes = np.concatenate([batch.firsts[single], *(batch.lists[a:b] for a, b in spans)])
    in_use = np.unique(codes.astype(np.int64))
    in_use = in_use[np.argsort(names[in_use], kind="stable")]
    code = np.zeros(len(names))
    code[in_use] = np.arange(len(in_use))
    firsts[single] = code[batch.firsts[single].astype(np.int64)]
    for a, b in spans:
        lists[a:b] = np.sort(code[batch.lists[a:b].astype(np.int64)])
    return names[in_use].tolist()


def adopt_names(arrays: BooleanArrays, vocabulary: Vocabulary) -> Batch:
    """The conjunctions of saved arrays in the columns and codes of this vocabulary."""
    columns = [
        vocabulary.column(name, bool(text))
        for name, text in zip(arrays.attributes.tolist(), arrays.texts.tolist(), strict=True)
    ]
    batch = arrays.batch
    firsts, lists = batch.firsts.copy(), batch.lists.copy()
    start = 0
    for i, column in enumerate(columns):
        if arrays.texts[i]:
            own = arrays.strings[start : start + arrays.string_counts[i]].tolist()
            start += int(arrays.string_counts[i])
            codes = np.array([vocabulary.code(column, string) for string in own], np.float64)
            _recode(batch, i, codes, firsts, lists)
    return batch._replace(
        columns=np.array(columns, np.int32)[batch.columns] if columns else batch.columns,
        firsts=firsts,
        lists=lists,
    )


def _recode(
    batch: Batch, column: int, codes: np.ndarray, firsts: np.ndarray, lists: np.ndarray
) -> None:
    own = batch.columns == column
    listed = (batch.kinds == IN) | (batch.kinds == NOT_IN)
    single = own & ~listed
    firsts[single] = codes[batch.firsts[single].astype(np.int64)]
    for i in np.flatnonzero(own & listed).tolist():
        a, b = int(batch.firsts[i]), int(batch.firsts[i] + batch.seconds[i])
        lists[a:b] = np.sort(codes[batch.lists[a:b].astype(np.int64)])
