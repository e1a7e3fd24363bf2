"""What the experiments share: sizes, workloads, indexes side by side, answers compared."""

import gc
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.measure import REPETITIONS, Timing, joined, repeat
from benchmarks.spatial_text.users import RarestTokenLists, StrRTree
from benchmarks.workloads.spatial_texts import (
    DENSE,
    LONG,
    SHORT,
    Messages,
    SpatialTexts,
    Subscriptions,
    messages,
    subscriptions,
)
from indexes.spatial_text import InvertedRTree, LFilter, MBRTrie, PTQuadtree, RtTree

__all__ = [
    "CLASSES", "LISTS", "L_FILTER", "QUADTREE", "R_TREE", "TRIE", "Built", "Lab", "Sizes", "Texts",
    "once",
]  # fmt: skip

L_FILTER, TRIE, QUADTREE = "LFilter", "MBRTrie", "PT-Quadtree"
LISTS, R_TREE = "lists by rarest token", "STR R-tree"
RT_TREE, IR_TREE = "R^t++-tree", "IR-tree"
INDEXES: dict[str, Callable[[], Any]] = {
    L_FILTER: LFilter,
    TRIE: MBRTrie,
    QUADTREE: PTQuadtree,
    RT_TREE: RtTree,
    IR_TREE: InvertedRTree,
}
USERS: dict[str, Callable[[Subscriptions, int], Any]] = {LISTS: RarestTokenLists, R_TREE: StrRTree}
_MOST_S = 0.3  # that one repetition may take
_COMPARED = 20  # messages of a class whose answers are compared before anything is timed

Answer = Callable[[Messages], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Sizes:
    subscriptions: int = 10_000_000  # of the targets and of the scalability
    fewer: int = 2_000_000  # where many indexes are compared
    scale: tuple[int, ...] = (2_000_000, 4_000_000, 6_000_000, 8_000_000, 10_000_000)
    messages: int = 200  # of each class
    turns: int = 2  # of asking one index after another
    short: tuple[int, ...] = (6, 10, 15, 20)  # tokens of a message
    long: tuple[int, ...] = (100, 200, 400, 600, 800, 1_000)
    updates: int = 100_000


QUICK = Sizes(
    subscriptions=20_000,
    fewer=5_000,
    scale=(5_000, 20_000),
    messages=20,
    turns=1,
    short=(6, 20),
    long=(100, 1_000),
    updates=2_000,
)


class Class(NamedTuple):
    words: tuple[int, int]
    ranged: bool
    where: str = ""


CLASSES = {
    "short point": Class(SHORT, False),
    "short range": Class(SHORT, True),
    "long point": Class(LONG, False),
    "long range": Class(LONG, True),
    "short point, dense": Class(SHORT, False, DENSE),
    "short range, dense": Class(SHORT, True, DENSE),
    "long point, dense": Class(LONG, False, DENSE),
    "long range, dense": Class(LONG, True, DENSE),
}


class Texts(NamedTuple):
    wanted: SpatialTexts
    data: Subscriptions

    @property
    def words(self) -> list[str]:
        return [f"word {number}" for number in range(self.wanted.vocabulary)]


class Built(NamedTuple):
    index: Any
    taken: Timing
    nbytes: float  # a subscription


class Lab:
    """Makes workloads and indexes; keeps the last workload."""

    def __init__(self, sizes: Sizes, step: Callable[[str], None]) -> None:
        self.sizes, self.step = sizes, step
        self._texts: Texts | None = None

    def texts(self, data: str, count: int) -> Texts:
        wanted = SpatialTexts(data, count)
        if self._texts is None or self._texts.wanted != wanted:
            self._texts = None
            self.step(f"making {count:,} subscriptions, {data}")
            self._texts = Texts(wanted, subscriptions(wanted))
        return self._texts

    def messages(self, texts: Texts, one: Class) -> Messages:
        return messages(texts.wanted, self.sizes.messages, one.words, one.ranged, one.where)

    def classes(self, texts: Texts) -> dict[str, Messages]:
        return {name: self.messages(texts, one) for name, one in CLASSES.items()}

    def build(self, texts: Texts, name: str, **options: Any) -> Built:
        """An index of all subscriptions, and how long that took."""
        self.step(f"{name}, {texts.wanted.subscriptions:,} subscriptions")
        made: list[Any] = []

        def make(given: Texts) -> Any:
            if name in USERS:
                return USERS[name](given.data, given.wanted.vocabulary)
            index = INDEXES[name](**options)
            fill(index, given.data, given.words)
            return index

        warm_up = Texts(texts.wanted, first(texts.data, 2_000))
        ask(make(warm_up))(first_messages(self.messages(texts, CLASSES["short range"]), 2))
        gc.collect()
        taken = once(lambda: made.append(make(texts)))
        index = made.pop()
        return Built(index, taken, index.nbytes / texts.wanted.subscriptions)

    def compare(
        self, ways: Mapping[str, Answer], classes: Mapping[str, Messages]
    ) -> dict[str, dict[str, Timing]]:
        """Times a message, by class and index, after all answers were found to be the same.

        In turns: what disturbs the machine for a while is to meet all indexes.
        """
        for name, asked in classes.items():
            self._require_same(ways, name, first_messages(asked, _COMPARED))
        turns = []
        for turn in range(self.sizes.turns):
            self.step(f"asking {', '.join(ways)}, turn {turn + 1}")
            turns.append(
                {
                    name: {way: per_message(answer, asked) for way, answer in ways.items()}
                    for name, asked in classes.items()
                }
            )
        return {
            name: {way: joined(turn[name][way] for turn in turns) for way in ways}
            for name in classes
        }

    def _require_same(self, ways: Mapping[str, Answer], name: str, asked: Messages) -> None:
        answers = {way: answer(asked) for way, answer in ways.items()}
        wanted_by = next(iter(answers))
        ids, starts = answers[wanted_by]
        for way, (found, found_starts) in answers.items():
            if not (np.array_equal(starts, found_starts) and np.array_equal(ids, found)):
                raise RuntimeError(f"{name}: {way} gives other answers than {wanted_by}")


def ask(index: Any) -> Answer:
    """What answers messages: an index of ours, or a part of one, or what a user would write."""
    if isinstance(index, RarestTokenLists | StrRTree):
        return index.match
    return partial(_columns, index)


def _columns(index: Any, asked: Messages) -> tuple[np.ndarray, np.ndarray]:
    answers: tuple[np.ndarray, np.ndarray] = index.match_columns(*asked)
    return answers


def fill(index: Any, data: Subscriptions, words: Sequence[str]) -> None:
    """All words have their places as numbers, so that messages are ready to be asked."""
    index.dictionary.ids_of([words])
    index.insert_columns(np.arange(len(data.boxes)), *data)


def first(data: Subscriptions, count: int) -> Subscriptions:
    end = data.starts[min(count, len(data.boxes))]
    return Subscriptions(
        data.boxes[:count], data.tokens[:end], data.starts[: count + 1], data.scores[:count]
    )


def first_messages(asked: Messages, count: int) -> Messages:
    end = asked.starts[min(count, len(asked.boxes))]
    return Messages(asked.boxes[:count], asked.tokens[:end], asked.starts[: count + 1])


def once(work: Callable[[], object]) -> Timing:
    """Work that takes seconds, timed a single time."""
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return Timing((time.process_time() - cpu,), (time.perf_counter() - wall,))


def per_message(answer: Callable[[Messages], object], asked: Messages) -> Timing:
    """Time one batch; of slow answers only as many messages as take about `_MOST_S`."""
    few = first_messages(asked, 5)
    answer(few)
    seconds = once(lambda: answer(few)).best / len(few.boxes)
    count = min(len(asked.boxes), max(10, int(_MOST_S / max(seconds, 1e-9))))
    batch = first_messages(asked, count)
    return repeat(lambda: answer(batch), units=len(batch.boxes))


def repetitions(sizes: Sizes) -> str:
    return f"{REPETITIONS} in each of {sizes.turns} turns, after a warm-up; seed 0"
