"""Why a subscription matches an event, or why not: predicate by predicate, in plain values."""

from typing import Any, NamedTuple

import numpy as np

from indexes.boolean.batches import BETWEEN, IN, NOT_IN, Batch
from indexes.boolean.evaluation import holds_one
from indexes.boolean.events import Event, encode_events
from indexes.boolean.predicates import OPERATORS
from indexes.boolean.vocabulary import Vocabulary

__all__ = ["Explanation", "Term"]


class Term(NamedTuple):
    attribute: str
    operator: str
    wanted: Any  # a number, a string, or a tuple of either; of lists in ascending order
    got: Any  # what the event has, None if it lacks the attribute
    held: bool
    contribution: float  # weight times weight where it held, otherwise 0


class Explanation(NamedTuple):
    """Of alternatives the best is explained: one that matches, or else the one nearest to it."""

    id: int
    matched: bool
    terms: tuple[Term, ...]
    total: float  # the score if it matched, otherwise 0


def explain_conjunctions(
    id: int, batch: Batch, vocabulary: Vocabulary, event: Event
) -> Explanation:
    ends = np.cumsum(batch.counts)
    explained = [
        _explain_one(id, batch, int(end - count), int(end), vocabulary, event)
        for count, end in zip(batch.counts, ends, strict=True)
    ]
    return max(explained, key=lambda e: (e.matched, e.total, sum(t.held for t in e.terms)))


def _explain_one(
    id: int, batch: Batch, start: int, end: int, vocabulary: Vocabulary, event: Event
) -> Explanation:
    encoded = encode_events([event], vocabulary)
    values = np.full(max(len(vocabulary), 1), np.nan)
    weights = np.zeros(len(values))
    values[encoded.columns], weights[encoded.columns] = encoded.values, encoded.weights
    terms = []
    for i in range(start, end):
        column, kind = int(batch.columns[i]), int(batch.kinds[i])
        operands = np.array([batch.firsts[i], batch.seconds[i]])
        lists = np.empty(0)
        if kind in (IN, NOT_IN):
            first, size = int(batch.firsts[i]), int(batch.seconds[i])
            lists = np.concatenate(([float(size)], batch.lists[first : first + size]))
            operands = np.zeros(2)
        held = bool(holds_one(kind, operands, lists, float(values[column])))
        name = vocabulary.names[column]
        got = event.get(name)
        if isinstance(got, tuple | list):
            got = got[0]
        added = float(batch.weights[i] * weights[column]) if held else 0.0
        wanted = _wanted(kind, operands, lists, vocabulary.strings(column))
        terms.append(Term(name, OPERATORS[kind], wanted, got, held, added))
    matched = all(term.held for term in terms)
    total = 0.0
    if matched:
        for term in terms:
            total += term.contribution
    return Explanation(id, matched, tuple(terms), total)


def _wanted(kind: int, operands: np.ndarray, lists: np.ndarray, strings: list[str] | None) -> Any:
    if kind == BETWEEN:
        return operands[0].item(), operands[1].item()
    if kind in (IN, NOT_IN):
        listed = lists[1:].tolist()
        return tuple(sorted(strings[int(v)] for v in listed) if strings is not None else listed)
    return operands[0].item() if strings is None else strings[int(operands[0])]
