"""What a shard of kind `spatial_text` asks of its index, against the oracle."""

import json
import random

import numpy as np
import pytest

from indexes.kinds import KINDS, new_index
from tests.fleet import places
from tests.indexes.intervals.columns import array_bytes
from tests.oracles import spatial_text as oracle
from topics.kinds import contract_for, event_form

KIND = "spatial_text"
K = 5


class Raced:
    """An index and all that is live in it, as the oracle reads it."""

    def __init__(self, space, attributes=("age",)):
        self.space, self.attributes = space, attributes
        of = KIND, attributes, {"space": space, "stemmer": "english"}
        self.dialect = of[2]
        self.contract, self.form, self.index = contract_for(*of), event_form(*of), new_index(*of)
        self.live, self.next_id = {}, 0

    def insert(self, documents):
        rows, ids = [], []
        for document in documents:
            value = json.dumps(document).encode()
            rows.append(self.contract.parse(value))
            self.live[self.next_id] = oracle.subscription_of(value, self.attributes, **self.dialect)
            ids.append(self.next_id)
            self.next_id += 1
        self.index.insert_many(np.array(ids, np.int64), *self.contract.columns(rows))

    def delete(self, ids):
        self.index.delete_many(np.array(ids, np.int64))
        for id in ids:
            del self.live[id]

    def columns(self, events):
        return self.form.columns([self.form.row(json.dumps(event).encode()) for event in events])

    def ask(self, events, k=K):
        table = self.index.top_k_many(self.columns(events), k)
        return [
            list(zip(table.ids[i, :count].tolist(), table.scores[i, :count].tolist(), strict=True))
            for i, count in enumerate(table.counts.tolist())
        ]

    def agree(self, events):
        for event, got in zip(events, self.ask(events), strict=True):
            message = oracle.message_of(event, self.attributes, **self.dialect)
            scored = {
                id: score
                for id, one in self.live.items()
                if (score := oracle.score_of(one, message)) is not None
            }
            wanted = sorted(scored.items(), key=lambda hit: (-hit[1], hit[0]))[:K]
            # Distances are rounded by each formula in its own way.
            assert [s for _, s in got] == pytest.approx([s for _, s in wanted], rel=1e-9), event
            assert dict(got) == pytest.approx({id: scored[id] for id, _ in got}, rel=1e-9), event

    def revived(self):
        arrays = self.index.to_arrays()
        again = KINDS[KIND].restore(self.attributes, arrays._asdict(), **self.dialect)
        again.check()
        assert array_bytes(again.to_arrays()) == array_bytes(arrays)
        return again


@pytest.mark.parametrize("space", ["sphere", "plane"])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_best_are_those_of_the_oracle_while_subscriptions_come_and_go(space, seed):
    random_, raced = random.Random(seed), Raced(space)
    of = space, raced.attributes
    for step in range(8):
        raced.insert([places.subscription(random_, *of) for _ in range(12)])
        raced.delete(random_.sample(sorted(raced.live), len(raced.live) // 4))
        raced.index.check()
        assert raced.index.ids().tolist() == sorted(raced.live)
        assert len(raced.index) == len(raced.live)
        if step % 3 == 2:
            raced.index = random_.choice([raced.revived, raced.index.fork])()
        if step == 5:
            raced.index.rebase()
        raced.agree([places.event(random_, *of) for _ in range(12)])


BOX = {"box": [0, 0, 1, 1], "tokens": ["a"]}
HERE = {"point": [1, 1], "text": "a"}


def test_ties_go_to_the_lower_id_and_a_decay_only_takes_away():
    raced = Raced("sphere")
    fading = {"decay": {"metres": 1000, "at": [1, 1]}, "score": 1}
    raced.insert([BOX, BOX, BOX | fading, BOX | {"score": 2}, BOX | fading | {"score": 0}])
    assert raced.ask([HERE]) == [[(3, 2.0), (0, 1.0), (1, 1.0), (2, 1.0), (4, 0.0)]]
    ((*_, last),) = raced.ask([{"point": [0, 1], "text": "a"}], k=4)
    assert last == (4, 0.0) or last[1] < 1e-9
    assert raced.ask([HERE], k=0) == [[]]
    assert raced.ask([{"point": [1, 1], "text": "b"}, {"point": [1, 1], "text": ""}]) == [[], []]


def test_a_known_id_and_an_unknown_one_are_refused_and_nothing_changes():
    raced = Raced("plane")
    raced.insert([BOX, BOX])
    before = array_bytes(raced.index.to_arrays())
    columns = raced.contract.columns([raced.contract.parse(json.dumps(BOX).encode())] * 2)
    with pytest.raises(KeyError, match="id 1 is already indexed"):
        raced.index.insert_many(np.array([7, 1]), *columns)
    with pytest.raises(KeyError, match="id 9 is not indexed"):
        raced.index.delete_many(np.array([0, 9]))
    assert array_bytes(raced.index.to_arrays()) == before
    raced.index.check()


def test_equal_content_has_equal_bytes_whatever_came_before():
    random_ = random.Random(5)
    documents = [places.subscription(random_, "sphere", ("age",)) for _ in range(30)]
    one, other = Raced("sphere"), Raced("sphere")
    one.insert(documents)
    other.insert(documents[:20])
    other.delete([4, 5])
    other.next_id = 4
    other.insert(documents[4:6])
    other.next_id = 20
    other.insert(documents[20:])
    assert array_bytes(one.index.to_arrays()) == array_bytes(other.index.to_arrays())


def test_a_crossing_area_is_found_once_from_both_sides():
    raced = Raced("sphere")
    raced.insert([{"box": [170, -5, -170, 5], "tokens": ["a"]}])
    events = [{"box": [160, 0, -160, 1], "text": "a"}, {"point": [180, 0], "text": "a"}]
    events += [{"point": [-180, 5], "text": "a"}, {"point": [169, 0], "text": "a"}]
    assert raced.ask(events) == [[(0, 1.0)], [(0, 1.0)], [(0, 1.0)], []]


def test_what_is_deleted_gives_its_room_back():
    raced = Raced("sphere")
    random_ = random.Random(6)
    for _ in range(20):
        raced.insert([places.subscription(random_, "sphere", ("age",)) for _ in range(20)])
        raced.delete(sorted(raced.live))
    grown = raced.index.nbytes
    for _ in range(20):
        raced.insert([places.subscription(random_, "sphere", ("age",)) for _ in range(20)])
        raced.delete(sorted(raced.live))
    assert raced.index.nbytes <= 1.5 * grown
    raced.index.check()
