"""What every matcher promises: all that a shard asks of an index (`indexes.kinds.ShardIndex`).

A `Subject` is one way of making a matcher, with the oracle that it is compared with.  `machine` is
the contract as a state machine, which a suite may add rules to; `tests/indexes/test_matchers.py`
has it in sentences.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.indexes.intervals.columns import ID_ERRORS, array_bytes, assert_table, refused

Subscription = tuple[Any, ...]  # what an oracle's `insert` takes after the id
Event = Mapping[str, Any]

hot_ids = st.integers(0, 7)  # come, go and come back often
ids = hot_ids | st.integers(0, 40) | st.sampled_from([2**31, 2**53 + 1, 2**62, 2**63 - 1])
counts = st.integers(0, 8)


class Subject(ABC):
    """One way of making a matcher: the same contract holds for each."""

    name: str
    has_bases = True  # `replace_base` takes trees from elsewhere
    goes_stale = False  # has something to set in order beside its bases
    drops_bases = False  # where most has changed at once; others wait for a rebase
    subscriptions: st.SearchStrategy[Subscription]
    events: st.SearchStrategy[Event]
    probes: Sequence[Event]  # at which a matcher is looked at
    sure_event: Event  # that every subscription of `sure` holds for

    @abstractmethod
    def new(self) -> Any: ...

    @abstractmethod
    def restored(self, arrays: Any) -> Any: ...

    @abstractmethod
    def model(self) -> Any:
        """The oracle, with `insert(id, *subscription)`, `delete(id)`, `live` and `top_k`."""

    @abstractmethod
    def columns(self, subscriptions: Sequence[Subscription]) -> tuple[Any, ...]:
        """What `insert_many` takes after the ids."""

    @abstractmethod
    def forms(self, events: Sequence[Event]) -> list[Any]:
        """The same batch in every form that `top_k_many` takes."""

    @abstractmethod
    def sure(self, score: float) -> Subscription:
        """Scores this much at the `sure_event`."""

    @abstractmethod
    def crowd(self, count: int) -> list[Subscription]:
        """So many, no two of them alike in all."""

    def trees(self, live: Mapping[int, Subscription]) -> list[Any]:
        """What a job elsewhere builds of these: a tree an attribute."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.name


def insert(subject: Subject, matcher: Any, new: Mapping[int, Subscription]) -> None:
    matcher.insert_many(np.array(list(new), np.int64), *subject.columns(list(new.values())))


def filled(subject: Subject, new: Mapping[int, Subscription]) -> Any:
    matcher = subject.new()
    insert(subject, matcher, new)
    return matcher


def modelled(subject: Subject, new: Mapping[int, Subscription]) -> Any:
    model = subject.model()
    for id, subscription in new.items():
        model.insert(id, *subscription)
    return model


def answers(subject: Subject, matcher: Any, event: Event, k: int) -> list[tuple[int, float]]:
    """The hits of one event."""
    table = matcher.top_k_many(subject.forms([event])[0], k)
    count = int(table.counts[0])
    return list(zip(table.ids[0, :count].tolist(), table.scores[0, :count].tolist(), strict=True))


def frozen(arrays: Any) -> Any:
    """As they come out of storage: read-only, and nobody else's."""
    if isinstance(arrays, np.ndarray):
        copy = arrays.copy()
        copy.flags.writeable = False
        return copy
    return type(arrays)(*map(frozen, arrays))


def revived(subject: Subject, matcher: Any) -> Any:
    """Saved and restored, with the same bytes when it is saved again."""
    arrays = matcher.to_arrays()
    twin = subject.restored(frozen(arrays))
    assert array_bytes(twin.to_arrays()) == array_bytes(arrays)
    return twin


def seen(subject: Subject, matcher: Any) -> list[Any]:
    """All that a caller can see of a matcher."""
    found = matcher.top_k_many(subject.forms(subject.probes)[0], len(matcher))
    shares = [matcher.delta_share, matcher.unplaced, matcher.is_worn, matcher.is_stale]
    state = [len(matcher), matcher.nbytes, matcher.ids().tolist(), *shares]
    return [*state, array_bytes(found), array_bytes(matcher.to_arrays())]


def keeps(subject: Subject, matcher: Any, error: Any, *named: object) -> Any:
    """The block raises and leaves the matcher as it was."""
    return refused(matcher, error, *named, see=lambda it: seen(subject, it))


def agree(subject: Subject, matcher: Any, expected: Any) -> None:
    """The matcher has what the oracle has, and answers as the oracle does."""
    matcher.check()
    n = len(expected.live)
    assert len(matcher) == n
    assert matcher.ids().tolist() == sorted(expected.live)
    for k in (1, 2, n):
        wanted = [expected.top_k(event, k) for event in subject.probes]
        for form in subject.forms(subject.probes):
            assert_table(matcher.top_k_many(form, k), wanted, k)


def machine(subject: Subject) -> Any:
    """The contract as a state machine; a suite may add rules of its own to the class."""
    new = st.tuples(ids, subject.subscriptions)

    class MatcherAgainstOracle(RuleBasedStateMachine):
        def __init__(self):
            super().__init__()
            self.matcher, self.expected = subject.new(), subject.model()

        def knows(self, id):
            return id in self.expected.live

        def keeps(self, error, *named):
            return keeps(subject, self.matcher, error, *named)

        @rule(batch=st.lists(new, max_size=12), fresh=st.booleans())
        def insert_many(self, batch, fresh):
            if fresh:
                batch = list({one[0]: one for one in batch if not self.knows(one[0])}.values())
            ids = [id for id, _ in batch]
            columns = subject.columns([subscription for _, subscription in batch])
            if len(set(ids)) < len(ids) or any(map(self.knows, ids)):
                with self.keeps(ID_ERRORS):
                    self.matcher.insert_many(np.array(ids, np.int64), *columns)
            else:
                self.matcher.insert_many(np.array(ids, np.int64), *columns)
                for id, subscription in batch:
                    self.expected.insert(id, *subscription)

        @rule(ids=st.lists(ids, max_size=8), live=st.booleans())
        def delete_many(self, ids, live):
            if live:
                ids = list({id for id in ids if self.knows(id)})
            if len(set(ids)) == len(ids) and all(map(self.knows, ids)):
                self.matcher.delete_many(np.array(ids, np.int64))
                for id in ids:
                    self.expected.delete(id)
            else:
                with self.keeps(ID_ERRORS):
                    self.matcher.delete_many(np.array(ids, np.int64))

        @rule(id=hot_ids, subscription=subject.subscriptions)
        def come_back_otherwise(self, id, subscription):
            if self.knows(id):
                self.delete_many([id], live=True)
                self.insert_many([(id, subscription)], fresh=True)

        @rule(batch=st.lists(subject.events, max_size=5), k=counts)
        def top_k_many(self, batch, k):
            wanted = [self.expected.top_k(event, k) for event in batch]
            for form in subject.forms(batch):
                assert_table(self.matcher.top_k_many(form, k), wanted, k)

        @rule()
        def rebase(self):
            self.matcher.rebase()
            assert self.matcher.delta_share == 0.0
            assert not self.matcher.is_worn

        @rule()
        def refresh(self):
            self.matcher.refresh()
            assert not self.matcher.is_stale

        @rule(late=st.booleans())
        def fork(self, late):
            other = self.matcher.fork()
            if late:
                self.matcher, other = other, self.matcher
            other.delete_many(np.array(list(self.expected.live), np.int64))
            other.rebase()
            other.check()
            assert len(other) == 0

        @rule(stay=st.booleans())
        def round_trip(self, stay):
            twin = revived(subject, self.matcher)
            if stay:
                agree(subject, twin, self.expected)
            else:
                self.matcher = twin

        @invariant()
        def structure_holds(self):
            self.matcher.check()
            assert len(self.matcher) == len(self.expected.live)
            assert self.matcher.ids().tolist() == sorted(self.expected.live)

        def teardown(self):
            agree(subject, self.matcher, self.expected)

    return _with_bases(subject, MatcherAgainstOracle) if subject.has_bases else MatcherAgainstOracle


def _with_bases(subject: Subject, plain: Any) -> Any:
    """Also with bases from elsewhere, which change no answer."""

    class RebasedMatcherAgainstOracle(plain):
        def __init__(self):
            super().__init__()
            self.elsewhere = []  # trees of what was live at some time

        @rule(since=ids)
        def replace_base(self, since):
            live = self.expected.live
            old = {id: row for id, row in live.items() if id < since}
            self.matcher.replace_base(subject.trees(old), since)
            late = self.matcher.delta_share * len(live)
            assert late == pytest.approx(len(live) - len(old))

        @rule()
        def build_trees_elsewhere(self):
            self.elsewhere = [*self.elsewhere[-2:], subject.trees(self.expected.live)]

        @rule(drawn=st.lists(st.integers(0, 2), min_size=3, max_size=3), since=ids)
        def replace_base_with_trees_of_several_ages(self, drawn, since):
            if self.elsewhere:
                ages = [self.elsewhere[age % len(self.elsewhere)] for age in drawn]
                trees = [age[j] for j, age in enumerate(ages[: len(self.elsewhere[0])])]
                self.matcher.replace_base(trees, since)

    return RebasedMatcherAgainstOracle
