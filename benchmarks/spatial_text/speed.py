"""The targets for location-aware matching, each beside what it is measured against."""

from functools import partial

import numpy as np

from benchmarks.intervals.targets import Row
from benchmarks.measure import Timing, micro
from benchmarks.report import Section, Table
from benchmarks.spatial_text.lab import (
    L_FILTER,
    LISTS,
    QUADTREE,
    R_TREE,
    TRIE,
    Lab,
    Texts,
    ask,
    once,
)
from benchmarks.workloads.spatial_texts import SpatialTexts, subscriptions

__all__ = ["speed"]

_WITHIN = 1.15  # of the better of both indexes
_LEAD = 10  # over lists on long messages, over the R-tree in dense places
_GIGABYTES, _BOTH = 1.5, 3.0  # for 10 million subscriptions
_BUILD_S, _INSERTS = 120, 100_000
_TARGETS_ARE_FOR = 10_000_000
_DATA = ("twitter", "cities")


def speed(lab: Lab) -> Section:
    rows: list[Row] = []
    for data in _DATA:
        texts = lab.texts(data, lab.sizes.subscriptions)
        built = lab.build(texts, L_FILTER)
        index = built.index
        ways = {L_FILTER: ask(index), TRIE: ask(index.trie), QUADTREE: ask(index.quadtree)}
        ways |= {name: ask(lab.build(texts, name).index) for name in (LISTS, R_TREE)}
        for name, taken in lab.compare(ways, lab.classes(texts)).items():
            _of_class(rows, f"{data}, {name}", taken)
        del ways
        if data == _DATA[0]:
            gigabytes = _for_all(built.nbytes)
            rows.append(Row("memory, LFilter", gigabytes, most=_BOTH, unit=" GB"))
            seconds = built.taken.best * _TARGETS_ARE_FOR / lab.sizes.subscriptions
            rows.append(Row("construction, LFilter", seconds, most=_BUILD_S, unit=" s"))
            _inserts(rows, lab, texts, index)
        del index, built
    texts = lab.texts(_DATA[0], lab.sizes.subscriptions)
    for name in (TRIE, QUADTREE):
        alone = lab.build(texts, name)
        rows.append(Row(f"memory, {name}", _for_all(alone.nbytes), most=_GIGABYTES, unit=" GB"))
        seconds = alone.taken.best * _TARGETS_ARE_FOR / lab.sizes.subscriptions
        rows.append(Row(f"construction, {name}", seconds, most=_BUILD_S, unit=" s"))
        del alone
    words = (
        f"{lab.sizes.subscriptions:,} subscriptions, {lab.sizes.messages:,} messages of each class."
        " A ratio is of the best CPU times a message, all in one run; the answers of all were"
        " compared first. The lists by rarest token and the STR R-tree are what a user would write,"
        " in numba, and laid out in the order in which they are read. Memory and construction are"
        " those measured, times what is lacking to 10 million."
    )
    if lab.sizes.subscriptions != _TARGETS_ARE_FOR:
        words += f" **The targets are for {_TARGETS_ARE_FOR:,} subscriptions.**"
    header = ["", "measured", "target", "", "in plain words"]
    table = Table(header, [row.cells() for row in rows], prose=4)
    return Section("spatial_text_speed", "Location-aware matching: the targets", words, [table])


def _for_all(bytes_each: float) -> float:
    return bytes_each * _TARGETS_ARE_FOR / 1e9


def _of_class(rows: list[Row], name: str, taken: dict[str, Timing]) -> None:
    ours = taken[L_FILTER].best
    better = min(taken[TRIE].best, taken[QUADTREE].best)
    which = TRIE if better == taken[TRIE].best else QUADTREE
    words = f"{micro(ours)} against {micro(better)} µs of the {which}"
    rows.append(
        Row(f"{name}: LFilter / the better index", ours / better, most=_WITHIN, words=words)
    )
    for other, counts in ((LISTS, "long" in name), (R_TREE, "dense" in name)):
        slow = taken[other].best
        words = f"{micro(ours)} against {micro(slow)} µs"
        least = _LEAD if counts else 1
        rows.append(Row(f"{name}: against the {other}", slow / ours, least=least, words=words))


def _inserts(rows: list[Row], lab: Lab, texts: Texts, index: object) -> None:
    count = lab.sizes.updates
    more = subscriptions(SpatialTexts(texts.wanted.data, count, seed=1))
    ids = np.arange(count) + texts.wanted.subscriptions
    lab.step(f"inserting {count:,} subscriptions")
    insert, delete = index.insert_columns, index.delete_many  # type: ignore[attr-defined]
    inserted = once(partial(insert, ids, *more)).best
    words = f"{count:,} into an LFilter of {texts.wanted.subscriptions:,}"
    rows.append(Row("inserts", count / inserted, _INSERTS, words=words, unit="/s"))
    deleted = once(partial(delete, ids)).best
    rows.append(Row("deletes", count / deleted, words="the same again", unit="/s"))
