"""A kind of its own, declared in this file alone, that runs end to end: nothing else knows it.

Kind `nearest`: a subscription is a place on a line, `{"at": 3.5}`, an event is another, and the
nearest subscriptions are the best.  As a program, `python -m` this module is `podium` with that
kind: what the workers of the fleet are started with.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pytest

import configs.kinds
import indexes.kinds
import topics.kinds
import workers.kinds
from indexes.boxes import SubscriptionBoxes
from indexes.hits import HitTable
from podium.cli import main
from tests.fleet.conftest import MakeFleet
from tests.fleet.fleet import ROLES, Fleet
from tests.oracles import collection as oracle
from topics.codecs.json_record import BadRecord, decode
from topics.events.numbers import AttributeValue, NumberEvents

NEAREST = "nearest"


class Place(msgspec.Struct, forbid_unknown_fields=True):
    at: float


class PlaceColumns(NamedTuple):
    places: np.ndarray


class PlaceContract:
    def __init__(self, attributes: Sequence[str]) -> None:
        self.attributes = tuple(attributes)
        self._decoder = msgspec.json.Decoder(Place)

    def parse(self, value: bytes) -> tuple[float]:
        place = decode(self._decoder, value, 'an object such as {"at": 3.5}').at
        if abs(place) > 1000:
            raise BadRecord("at", f"got {place}, expected -1000 to 1000")
        return (place,)

    def columns_at_once(self, values: Sequence[bytes]) -> None:
        return None

    def columns(self, rows: Sequence[tuple[float]]) -> PlaceColumns:
        return PlaceColumns(np.array(rows, np.float64).reshape(-1))

    def to_arrays(self, columns: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
        return {"places": columns[0]}

    def from_arrays(self, arrays: Mapping[str, np.ndarray]) -> PlaceColumns:
        return PlaceColumns(arrays["places"])


class Places(NamedTuple):
    ids: np.ndarray
    places: np.ndarray


class NearestIndex:
    """Every event looks at every subscription."""

    delta_share, unplaced = 0.0, 0
    is_worn = is_stale = rebases_itself = False

    def __init__(self, places: Mapping[int, float] | None = None) -> None:
        self._places = dict(places or {})

    def __len__(self) -> int:
        return len(self._places)

    @property
    def nbytes(self) -> int:
        return 16 * len(self._places)

    def insert_many(self, ids: np.ndarray, places: np.ndarray) -> None:
        self._places |= zip(np.asarray(ids).tolist(), places.tolist(), strict=True)

    def delete_many(self, ids: np.ndarray) -> None:
        for id in ids.tolist():
            del self._places[id]

    def ids(self) -> np.ndarray:
        return np.array(sorted(self._places), np.int64)

    def fork(self) -> "NearestIndex":
        return NearestIndex(self._places)

    def rebase(self) -> None:
        raise AssertionError("it is never worn")

    refresh = rebase

    def replace_base(self, trees: Any, since: int) -> None:
        raise AssertionError("there are no bases")

    def to_arrays(self) -> Places:
        ids = self.ids()
        return Places(ids, np.array([self._places[id] for id in ids.tolist()]))

    def top_k_many(self, events: np.ndarray, k: int) -> HitTable:
        found = []
        for (place,) in events.tolist():
            scores = (
                {} if np.isnan(place) else {i: -abs(place - p) for i, p in self._places.items()}
            )
            found.append(sorted(scores.items(), key=lambda hit: (-hit[1], hit[0]))[:k])
        table = HitTable(
            np.array([len(hits) for hits in found], np.int64),
            np.full((len(found), k), -1, np.int64),
            np.full((len(found), k), np.nan),
        )
        for row, hits in enumerate(found):
            for at, (id, score) in enumerate(hits):
                table.ids[row, at], table.scores[row, at] = id, score
        return table


def everywhere(ids: np.ndarray) -> SubscriptionBoxes:
    ends = np.full((len(ids), 1), np.inf)
    return SubscriptionBoxes.one_each(ids, -ends, ends)


def oracle_place(value: bytes, attributes: Sequence[str]) -> float:
    document = json.loads(value)
    if not isinstance(document, dict) or document.keys() != {"at"}:
        raise ValueError("expected at")
    place = oracle.number(document["at"], "at")
    if abs(place) > 1000:
        raise ValueError("at: too far")
    return place


def oracle_score(place: float, values: Mapping[str, float], attributes: Any) -> float | None:
    (name,) = attributes
    return -abs(values[name] - place) if name in values else None


TABLES = (
    (configs.kinds, configs.kinds.Kind(1, 1)),
    (
        topics.kinds,
        topics.kinds.Kind(
            contract=PlaceContract,
            subscription=Place,
            events=NumberEvents,
            event_value=("attribute", AttributeValue),
            topics=topics.kinds.MATCHING_TOPICS,
            has_bases=False,
        ),
    ),
    (
        indexes.kinds,
        indexes.kinds.Kind(
            new=lambda attributes: NearestIndex(),
            restore=lambda attributes, arrays: NearestIndex(
                dict(zip(arrays["ids"].tolist(), arrays["places"].tolist(), strict=True))
            ),
            most_boxes=lambda attributes: 1,
            boxes_of_columns=lambda attributes, ids, columns: everywhere(ids),
            boxes_of_arrays=lambda attributes, arrays, live: everywhere(live),
            trees_for_a_base=None,
            warm_up=lambda attributes: None,
            family=NEAREST,
        ),
    ),
    (
        workers.kinds,
        workers.kinds.Kind(
            pipeline=workers.kinds.MATCHING,
            sample=lambda name, number: {"at": number},
            shapes=(("x",),),
        ),
    ),
    (oracle, oracle.Kind(oracle_place, oracle_score, oracle.event_values)),
)


@pytest.fixture(scope="module")
def nearest(make_fleet: MakeFleet, broker: str, redis_url: str) -> Iterator[Fleet]:
    with pytest.MonkeyPatch.context() as patch:
        for layer, kind in TABLES:
            patch.setitem(layer.KINDS, NEAREST, kind)
        declared = {"kind": NEAREST, "attributes": ["x"], "routing": {"enabled": True}}
        snapshots = {"snapshots": {"every_s": 1, "least_changes": 1}}
        fleet = make_fleet(NEAREST, broker, redis_url, collection=declared, settings=snapshots)
        fleet.entry = __name__
        fleet.start_all()
        yield fleet


def test_a_kind_from_one_module_is_matched_end_to_end(nearest: Fleet):
    rng = np.random.default_rng(7)
    for i in range(40):
        nearest.subscribe_with(f"s{i}", {"at": int(rng.integers(-9, 9))})
    nearest.subscribe_with("s3", {"at": "here"})  # bad: what was there stays
    nearest.subscribe_with("far", {"at": 5000})
    for i in range(0, 40, 5):
        nearest.unsubscribe(f"s{i}")
    places, after = rng.integers(-12, 12, 30), nearest.token()
    events = [nearest.publish({"x": int(place)}, after=after) for place in places]
    events += [nearest.publish({"x": 3}, k=20, after=after), nearest.publish({"y": 3})]
    hits = [len(answer.hits) for answer in nearest.answers_to(events)]
    assert hits == [3] * 30 + [20, 0]
    nearest.check_all()


def test_its_shards_are_restored_from_snapshots(nearest: Fleet):
    nearest.terminate("matcher")
    nearest.start("matcher")
    nearest.wait_ready(*ROLES)
    assert len(nearest.ask({"x": 1})) == 3
    nearest.check_all()
    assert "from a snapshot" in nearest.log("matcher")


if __name__ == "__main__":
    for layer, kind in TABLES:
        layer.KINDS[NEAREST] = kind
    main()
