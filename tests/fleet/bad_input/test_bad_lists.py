"""Bad objects and subscriptions of lists: dead letters that name the field, and right lists."""

from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaError, Message

from tests.fleet.bad_input.bad_lists import (
    GOOD_OBJECT,
    GOOD_RANGE,
    OBJECT,
    OBJECTS,
    SUBSCRIPTION,
    SUBSCRIPTIONS,
    Bad,
)
from tests.fleet.list_fleet import WORKERS, Crowd, ListFleet
from tests.fleet.lists.conftest import make_list_fleet  # noqa: F401 (a fixture)
from tests.fleet.traffic import Place, eventually, source

FLOOD, GOOD_ONES = 50_000, 500
BAD = {"objects": OBJECTS, "subscriptions": SUBSCRIPTIONS}


@pytest.fixture(scope="module")
def fleet(make_list_fleet) -> Iterator[ListFleet]:  # noqa: F811
    fleet = make_list_fleet("bad-lists")
    fleet.start_all()
    yield fleet
    fleet.stop()


@pytest.fixture(autouse=True)
def unharmed(fleet: ListFleet) -> Iterator[None]:
    """Lists are those of brute force, nobody has died, and no list was sent anew."""
    yield
    fleet.check()
    fleet.check_that_none_has_died()
    fleet.wait_ready(*WORKERS)
    assert fleet.metric("painter", "podium_painter_resets_total") == fleet.declared.zones


def letters_of(fleet: ListFleet, topic: str, places: set[Place]) -> dict[Place, Message]:
    """Those of records that a test has sent, once each."""
    found: dict[Place, Message] = {}

    def all_there() -> bool:
        letters = [one for one in fleet.letters(topic) if source(one) in places]
        found.update({source(one): one for one in letters})
        assert len(letters) == len(found), "a second dead letter of the same record"
        return len(found) == len(places)

    what = lambda: f"{len(places)} dead letters, not {len(found)}\n{fleet.diagnosis()}"  # noqa: E731
    eventually(all_there, what, 120.0)
    return found


@pytest.mark.parametrize("topic", ["objects", "subscriptions"])
def test_bad_records_are_dead_letters_and_the_lists_around_them_are_right(
    fleet: ListFleet, topic: str
):
    crowd = Crowd(fleet, seed=1)
    fleet.put(OBJECT, 3, 0.5)
    fleet.want(SUBSCRIPTION, 2, 4)
    sent = {}
    for bad in BAD[topic]:
        sent[bad] = fleet.send(topic, bad.value, bad.key, [("trace", b"\xff")], bad.partition)
        crowd.step(3)
    fleet.deliver(*sent.values())
    letters = letters_of(fleet, topic, {one.place for one in sent.values()})
    told = {
        bad.name: headers_of(letters[one.place])["podium-error-field"] for bad, one in sent.items()
    }
    assert told == {bad.name: bad.field for bad in BAD[topic]}
    for bad, one in sent.items():
        check_letter(letters[one.place], bad, fleet.topic(topic))


def headers_of(letter: Message) -> dict[str, str]:
    return {name: value.decode(errors="replace") for name, value in letter.headers()}


def check_letter(letter: Message, bad: Bad, topic: str) -> None:
    assert (letter.key(), letter.value()) == (bad.key, bad.value), bad.name
    assert letter.headers()[0] == ("trace", b"\xff")
    told = headers_of(letter)
    assert told["podium-topic"] == topic
    assert told["podium-error"].startswith(f"{bad.field}: "), bad.name
    assert len(told["podium-error"]) < 1000


@pytest.mark.parametrize(
    ("topic", "good"),
    [
        pytest.param("objects", GOOD_OBJECT, id="object"),
        pytest.param("subscriptions", GOOD_RANGE, id="subscription"),
    ],
)
@pytest.mark.parametrize("is_null", [False, True], ids=["value", "null"])
def test_a_null_key_is_refused_by_the_broker_itself(
    fleet: ListFleet, topic: str, good: bytes, is_null: bool
):
    """A compacted topic takes none, so it is the producer who hears of it."""
    fleet.deliver()  # the broker refuses a batch as a whole
    bad = fleet.send(topic, None if is_null else good, None)
    fleet.deliver()
    assert bad.error is not None
    assert bad.error.code() == KafkaError.INVALID_RECORD


def test_a_flood_of_bad_objects_leaves_the_lists_right(fleet: ListFleet):
    def counted() -> tuple[float, float]:
        letters = fleet.metric("painter", "podium_dead_letters_total", topic="objects")
        return letters, fleet.metric("painter", "podium_painter_updates_total")

    for low in range(10):
        fleet.want(f"flooded-{low}", low, low + 2)
    fleet.check()
    before = counted()
    flood = [bad for bad in OBJECTS if len(bad.key) + len(bad.value or b"") < 1000]
    sent = []
    for number in range(FLOOD):
        bad = flood[number % len(flood)]
        sent.append(fleet.send("objects", bad.value, bad.key))
        if number % (FLOOD // GOOD_ONES) == 0:
            fleet.put(f"good-{number % 40}", number % 12, number % 7)
    fleet.deliver(*sent)
    fleet.check()
    letters = letters_of(fleet, "objects", {one.place for one in sent})
    assert len(letters) == FLOOD
    assert [now - then for now, then in zip(counted(), before, strict=True)] == [FLOOD, GOOD_ONES]
