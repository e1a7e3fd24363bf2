"""Names of an index made canonical for saving, and taken over when loading."""

from collections.abc import Iterable

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
            own = _sorted_strings(batch, column, names, firsts, lists)
            counts[i] = len(own)
            strings += own
    return BooleanArrays(
        *packed_texts(vocabulary.names[column] for column in used),
        np.array([vocabulary.codes[column] is not None for column in used], np.bool_),
        *packed_texts(strings),
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
    batch: Batch, column: int, names: list[str], firsts: np.ndarray, lists: np.ndarray
) -> list[str]:
    """Write new codes of a column's strings into `firsts` and `lists`; return those in use."""
    own = batch.columns == column
    listed = (batch.kinds == IN) | (batch.kinds == NOT_IN)
    runs = np.flatnonzero(own & listed).tolist()
    single = np.flatnonzero(own & ~listed)
    spans = [(int(batch.firsts[i]), int(batch.firsts[i] + batch.seconds[i])) for i in runs]
    codes = np.concatenate([batch.firsts[single], *(batch.lists[a:b] for a, b in spans)])
    in_use = sorted(np.unique(codes.astype(np.int64)).tolist(), key=names.__getitem__)
    code = np.zeros(len(names))
    code[in_use] = np.arange(len(in_use))
    firsts[single] = code[batch.firsts[single].astype(np.int64)]
    for a, b in spans:
        lists[a:b] = np.sort(code[batch.lists[a:b].astype(np.int64)])
    return [names[code] for code in in_use]


def named_columns(arrays: BooleanArrays) -> list[tuple[str, bool]]:
    """The attribute of each column, and whether it is of strings."""
    names = _unpacked(arrays.name_lengths, arrays.name_bytes)
    return list(zip(names, arrays.texts.tolist(), strict=True))


def packed_texts(texts: Iterable[str]) -> tuple[np.ndarray, np.ndarray]:
    encoded = [text.encode() for text in texts]
    lengths = np.array([len(text) for text in encoded], np.int32)
    return lengths, np.frombuffer(b"".join(encoded), np.uint8)


def _unpacked(lengths: np.ndarray, data: np.ndarray) -> list[str]:
    ends = np.cumsum(lengths, dtype=np.int64)
    whole, starts = data.tobytes(), (ends - lengths).tolist()
    return [whole[a:b].decode() for a, b in zip(starts, ends.tolist(), strict=True)]


def adopt_names(arrays: BooleanArrays, vocabulary: Vocabulary) -> Batch:
    """The conjunctions of saved arrays in the columns and codes of this vocabulary."""
    columns = [vocabulary.column(name, is_text) for name, is_text in named_columns(arrays)]
    strings = _unpacked(arrays.string_lengths, arrays.string_bytes)
    batch = arrays.batch
    firsts, lists = batch.firsts.copy(), batch.lists.copy()
    start = 0
    for i, column in enumerate(columns):
        if arrays.texts[i]:
            own = strings[start : start + int(arrays.string_counts[i])]
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
