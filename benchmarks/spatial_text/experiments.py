"""The figures of Yu, Li and Feng, §6, as tables and plots."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from benchmarks.measure import Timing, micro
from benchmarks.report import Plot, Section, Table
from benchmarks.spatial_text.lab import (
    CLASSES,
    IR_TREE,
    L_FILTER,
    LISTS,
    QUADTREE,
    R_TREE,
    RT_TREE,
    TRIE,
    Answer,
    Class,
    Lab,
    Texts,
    ask,
    once,
)
from benchmarks.workloads.spatial_texts import subscriptions

__all__ = ["indexes", "others", "probing", "scale", "updates"]

_ALGORITHMS = ("probe_token_set", "probe_trie", "cost_based")
_GROUPS = {
    "short point": ("short", False),
    "long point": ("long", False),
    "short range": ("short", True),
    "long range": ("long", True),
}
_TIMES = (
    "Times are microseconds a message for all matches, the best CPU time of the repetitions; the"
    " answers of all were compared first."
)
_DATA = {"twitter": "Figure 9", "usa": "Figure 10", "cities": "our own"}


def probing(lab: Lab) -> Section:
    """Figure 7."""
    texts = lab.texts("twitter", lab.sizes.fewer)
    ways = {
        algorithm: ask(lab.build(texts, TRIE, algorithm=algorithm).index)
        for algorithm in _ALGORITHMS
    }
    words = (
        f"{lab.sizes.fewer:,} subscriptions, twitter: the MBRTrie with each of the three ways to"
        f" match children with tokens (§3.3). {_TIMES}"
    )
    return _by_tokens(lab, texts, ways, "spatial_text_probing", "Figure 7: probing", words)


def indexes(lab: Lab) -> Section:
    """Figure 8: the two indexes are those within the LFilter."""
    texts = lab.texts("twitter", lab.sizes.fewer)
    index = lab.build(texts, L_FILTER).index
    ways = {TRIE: ask(index.trie), QUADTREE: ask(index.quadtree), L_FILTER: ask(index)}
    words = f"{lab.sizes.fewer:,} subscriptions, twitter. {_TIMES}"
    title = "Figure 8: MBRTrie, PT-Quadtree and LFilter"
    return _by_tokens(lab, texts, ways, "spatial_text_indexes", title, words)


def others(lab: Lab) -> Section:
    """Figures 9 and 10, with what a user would write beside them."""
    tables = []
    for data, figure in _DATA.items():
        texts = lab.texts(data, lab.sizes.fewer)
        names = (L_FILTER, RT_TREE, IR_TREE, LISTS, R_TREE)
        ways = {name: ask(lab.build(texts, name).index) for name in names}
        classes = lab.classes(texts)
        matches = _matches(ways[L_FILTER], classes)
        rows = []
        for name, taken in lab.compare(ways, classes).items():
            ours = taken[L_FILTER].best
            ratios = (f"{taken[other].best / ours:,.1f}x" for other in names[1:])
            times = (micro(taken[index].best) for index in names)
            rows.append([name, f"{matches[name]:,.1f}", *times, *ratios])
        header = ["messages", "matches", *names, *(f"/ {name}" for name in names[1:])]
        tables.append(Table(header, rows, f"{figure}: {data}."))
    words = (
        f"{lab.sizes.fewer:,} subscriptions of each kind of data. Short messages have 6 to 20"
        " tokens, long ones 100 to 1,000; dense ones are all in the largest town. The last two"
        f" columns of times are what a user would write instead. {_TIMES}"
    )
    return Section("spatial_text_others", "Figures 9 and 10: other indexes", words, tables)


def scale(lab: Lab) -> Section:
    """Figure 11, and sizes and times of construction (Table 1)."""
    counts = [count for count in lab.sizes.long if count >= 200] or list(lab.sizes.long)
    lines: dict[str, list[float]] = {}
    rows, sizes = [], []
    for count in lab.sizes.scale:
        texts = lab.texts("twitter", count)
        for name in (TRIE, QUADTREE, L_FILTER):
            built = lab.build(texts, name)
            total = built.nbytes * count / 2**30
            per = f"{built.nbytes:,.0f}"
            sizes.append([f"{count:,}", name, f"{built.taken.best:.1f}", per, f"{total:.2f}"])
        ways = {L_FILTER: ask(built.index)}
        classes = {
            f"{kind}, {tokens} tokens": lab.messages(texts, Class((tokens, tokens), ranged))
            for kind, ranged in (("point", False), ("range", True))
            for tokens in counts
        }
        taken = {name: one[L_FILTER] for name, one in lab.compare(ways, classes).items()}
        for name, timing in taken.items():
            lines.setdefault(name, []).append(timing.best * 1e6)
        rows.append([f"{count:,}", *(micro(timing.best) for timing in taken.values())])
        del built, ways
    header = ["subscriptions", *lines]
    built_header = ["subscriptions", "index", "seconds", "bytes a subscription", "GiB"]
    words = (
        f"LFilter over twitter, by the number of subscriptions. {_TIMES} Construction is one CPU's"
        " time from columns. Bytes are all that an index owns: tokens, records and nodes; an"
        " LFilter has both indexes over one set of records. The paper has 1.33 GB for the MBRTrie"
        " and 1.28 GB for the PT-Quadtree of 10 million, and 16 ms for a range message of 600"
        " tokens."
    )
    tables = [
        Table(header, rows, "Time by the number of subscriptions."),
        Table(built_header, sizes, "Construction and memory.", prose=1),
    ]
    plot = Plot("spatial_text_scale", "subscriptions", "µs a message", lab.sizes.scale, lines)
    title = "Figure 11 and Table 1: number of subscriptions"
    return Section("spatial_text_scale", title, words, tables, [plot])


def updates(lab: Lab) -> Section:
    texts = lab.texts("twitter", lab.sizes.fewer)
    more = subscriptions(texts.wanted.__class__("twitter", lab.sizes.updates, seed=1))
    ids = np.arange(lab.sizes.updates) + lab.sizes.fewer
    classes = {name: lab.messages(texts, one) for name, one in CLASSES.items() if "," not in name}
    rows = []
    for name in (TRIE, QUADTREE, L_FILTER):
        index = lab.build(texts, name).index
        before = lab.compare({name: ask(index)}, classes)
        inserted = once(partial(index.insert_columns, ids, *more)).best
        after = lab.compare({name: ask(index)}, classes)
        deleted = once(partial(index.delete_many, ids)).best
        slower = (after[c][name].best / before[c][name].best for c in classes)
        rates = (lab.sizes.updates / seconds for seconds in (inserted, deleted))
        rows.append([name, *(f"{r:,.0f}" for r in rates), *(f"{s:.2f}x" for s in slower)])
    words = (
        f"{lab.sizes.updates:,} subscriptions come to {lab.sizes.fewer:,}, and go again: how many a"
        " second, and by how much messages take longer while they are there than before."
    )
    header = ["index", "inserts a second", "deletes a second", *classes]
    return Section("spatial_text_updates", "Updates", words, [Table(header, rows)])


def _matches(answer: Answer, classes: Mapping[str, object]) -> dict[str, float]:
    found = {}
    for name, asked in classes.items():
        _, starts = answer(asked)  # type: ignore[arg-type]
        found[name] = float(starts[-1]) / (len(starts) - 1)
    return found


def _by_tokens(
    lab: Lab, texts: Texts, ways: Mapping[str, Answer], name: str, title: str, words: str
) -> Section:
    tables, plots = [], []
    for group, (length, ranged) in _GROUPS.items():
        counts: Sequence[int] = getattr(lab.sizes, length)
        classes = {
            f"{tokens}": lab.messages(texts, Class((tokens, tokens), ranged)) for tokens in counts
        }
        taken: dict[str, dict[str, Timing]] = lab.compare(ways, classes)
        matches = _matches(next(iter(ways.values())), classes)
        rows = [
            [tokens, f"{matches[tokens]:,.1f}", *(micro(one[way].best) for way in ways)]
            for tokens, one in taken.items()
        ]
        tables.append(Table(["tokens of a message", "matches", *ways], rows, f"{group.title()}."))
        lines = {way: [one[way].best * 1e6 for one in taken.values()] for way in ways}
        where = f"{name}_{group.replace(' ', '_')}"
        plots.append(Plot(where, "tokens of a message", "µs a message", counts, lines))
    return Section(name, title, words, tables, plots)
