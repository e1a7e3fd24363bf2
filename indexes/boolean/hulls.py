"""Boxes around Boolean expressions: the numbers that an event must have to match."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from indexes.boolean.arrays import named_columns
from indexes.boolean.batches import BETWEEN, EQ, GE, GT, IN, LE, LT, Batch, BooleanArrays
from indexes.boolean.naming import Expressions, compile_expressions
from indexes.boolean.vocabulary import Vocabulary

__all__ = ["Hulls", "hulls_of_arrays", "hulls_of_expressions"]


class Hulls(NamedTuple):
    """Of the expressions that can match at all; infinite where nothing is asked.

    An attribute has ends only where all alternatives ask for a number there.  One that asks for
    what no number is matches nothing, and does not count.
    """

    ids: np.ndarray  # i8[n]
    lows: np.ndarray  # f8[n, d]
    highs: np.ndarray  # f8[n, d]


def hulls_of_expressions(
    ids: np.ndarray, expressions: Expressions, attributes: Sequence[str]
) -> Hulls:
    vocabulary = Vocabulary()
    batch, alternatives = compile_expressions(expressions, vocabulary)
    columns = [
        (name, strings is not None)
        for name, strings in zip(vocabulary.names, vocabulary.codes, strict=True)
    ]
    return _hulls(np.repeat(ids, alternatives), batch, columns, attributes)


def hulls_of_arrays(arrays: BooleanArrays, attributes: Sequence[str]) -> Hulls:
    return _hulls(arrays.ids, arrays.batch, named_columns(arrays), attributes)


def _hulls(
    ids: np.ndarray, batch: Batch, columns: list[tuple[str, bool]], attributes: Sequence[str]
) -> Hulls:
    lows, highs = _conjunction_boxes(batch, columns, attributes)
    possible = (lows <= highs).all(axis=1)
    ids, lows, highs = ids[possible], lows[possible], highs[possible]
    if not len(ids):
        return Hulls(ids, lows, highs)
    starts = np.flatnonzero(np.append(True, ids[1:] != ids[:-1]))
    return Hulls(ids[starts], np.minimum.reduceat(lows, starts), np.maximum.reduceat(highs, starts))


def _conjunction_boxes(
    batch: Batch, columns: list[tuple[str, bool]], attributes: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    place_of = {name: place for place, name in enumerate(attributes)}
    places = [-1 if is_text else place_of.get(name, -1) for name, is_text in columns]
    conjunctions = len(batch.counts)
    lows = np.full((conjunctions, len(attributes)), -np.inf)
    highs = np.full((conjunctions, len(attributes)), np.inf)
    if conjunctions:
        place = np.array(places, np.int64)[batch.columns]
        owner = np.repeat(np.arange(conjunctions), batch.counts)
        named = place >= 0
        low, high = _intervals(batch)
        np.maximum.at(lows, (owner[named], place[named]), low[named])
        np.minimum.at(highs, (owner[named], place[named]), high[named])
    return lows, highs


def _intervals(batch: Batch) -> tuple[np.ndarray, np.ndarray]:
    """The closed interval of each predicate; that of `!=` and `not in` has no ends."""
    kinds, firsts, seconds = batch.kinds, batch.firsts, batch.seconds
    low, high = np.full(len(kinds), -np.inf), np.full(len(kinds), np.inf)
    from_first = np.isin(kinds, (EQ, BETWEEN, GT, GE))
    to_first = np.isin(kinds, (EQ, LT, LE))
    low[from_first], high[to_first] = firsts[from_first], firsts[to_first]
    between, listed = kinds == BETWEEN, kinds == IN
    high[between] = seconds[between]
    start = firsts[listed].astype(np.int64)
    low[listed] = batch.lists[start]  # a list ascends
    high[listed] = batch.lists[start + seconds[listed].astype(np.int64) - 1]
    return low, high
