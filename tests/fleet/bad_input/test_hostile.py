"""Records and deeds that once stopped a fleet, or made it answer wrongly: it goes on, and rightly.

No worker dies of a record.  One whose topic is made anew starts again by itself.
"""

import json
from collections.abc import Callable, Iterator
from itertools import count

import pytest
from confluent_kafka import Message, Producer
from confluent_kafka.admin import AdminClient, NewPartitions

from podium.topics_setup import ensure_topics
from tests.fleet.conftest import MakeFleet, fleets_of
from tests.fleet.fleet import IMPATIENT, ROLES, Fleet
from tests.fleet.odd_headers import send_oddly
from tests.fleet.traffic import SILENT, TopicReader, eventually
from topics import frames
from topics.codecs.columns import bundle, unbundle

MIB = 1024 * 1024
ONE_OF_EACH = {"shards": 1, "partitions": {"events": 1, "partials": 1, "matches": 1}}
COLLECTIONS = {
    "plain": {"attributes": ["age"], **ONE_OF_EACH},
    "open": {"kind": "boolean", "attributes": [], **ONE_OF_EACH},
    "node": {"attributes": ["age"], "layout": "replicated", **ONE_OF_EACH},
}
# Unpacked, a record of 80 MB is too much.
BOMB = 80_000_000
SETTINGS = {"kafka": {"most_unpacked_mib": 64}, "matcher": {"session_timeout_s": 6}}
numbers = count()


@pytest.fixture(scope="module")
def fleets(make_fleet: MakeFleet, broker: str, redis_url: str) -> Iterator[dict[str, Fleet]]:
    options = {"settings": SETTINGS, "entry": IMPATIENT}
    with fleets_of(make_fleet, broker, redis_url, COLLECTIONS, **options) as made:
        yield made


@pytest.fixture
def plain(fleets: dict[str, Fleet]) -> Iterator[Fleet]:
    yield from unharmed(fleets["plain"])


@pytest.fixture(params=["plain", pytest.param("node", marks=pytest.mark.long)])
def either(request: pytest.FixtureRequest, fleets: dict[str, Fleet]) -> Iterator[Fleet]:
    """Of each layout one: what they read goes the same way."""
    yield from unharmed(fleets[request.param])


@pytest.fixture
def open_fleet(fleets: dict[str, Fleet]) -> Iterator[Fleet]:
    yield from unharmed(fleets["open"])


def unharmed(fleet: Fleet) -> Iterator[Fleet]:
    """It answers before and after, and nobody has died."""
    check_that_it_answers(fleet)
    yield fleet
    check_that_it_answers(fleet)
    fleet.wait_ready(*fleet.roles)
    fleet.check_that_none_has_died()


def check_that_it_answers(fleet: Fleet) -> None:
    """With a subscription of just now, which nobody else has."""
    number = next(numbers) + 1000
    fleet.subscribe(f"witness-{number}", {"age": [number, number]}, 5)
    assert fleet.ask({"age": number}) == [(f"witness-{number}", 5.0)]


def produce(fleet: Fleet, topic: str, *values: bytes, codec: str = "none", **options) -> None:
    """In one batch, by somebody whose client allows everything."""
    producer = Producer(
        {
            "bootstrap.servers": fleet.brokers,
            "compression.type": codec,
            "message.max.bytes": 1_000_000_000,
            "batch.size": 1_000_000_000,
            "linger.ms": 1000,
            "partitioner": "murmur2_random",
            "logger": SILENT,
        }
    )
    failed: list[object] = []
    for value in values:
        producer.produce(
            fleet.topic(topic),
            value,
            **options,
            on_delivery=lambda error, _: failed.append(error) if error else None,
        )
    assert producer.flush(60) == 0
    assert not failed


def new_letter(fleet: Fleet, topic: str, act: Callable[[], object]) -> Message:
    """The dead letter that comes of doing something."""
    before = len(fleet.letters(topic))
    act()
    letters = eventually(
        lambda: fleet.letters(topic)[before:], lambda: f"a letter\n{fleet.diagnosis()}", 60
    )
    assert len(letters) == 1
    return letters[0]


def error_of(letter: Message) -> str:
    return dict(letter.headers())["podium-error"].decode()


# Records that cannot be read, or are larger than they look


@pytest.mark.parametrize("topic", ["events", "subscriptions"])
@pytest.mark.parametrize(
    "codec",
    ["zstd", "gzip", *(pytest.param(codec, marks=pytest.mark.long) for codec in ("lz4", "snappy"))],
)
def test_a_small_record_that_unpacks_to_much_is_a_dead_letter(either: Fleet, topic, codec):
    size = 50_000_000 if codec == "snappy" else BOMB
    value = b'{"age": 5, "pad": "' + b"a" * size + b'"}'
    letter = new_letter(
        either, topic, lambda: produce(either, topic, value, codec=codec, key=b"bomb")
    )
    if codec == "zstd":
        assert "cannot be read" in error_of(letter)
        assert letter.value() is None
    else:
        assert "expected at most 1048576" in error_of(letter)
        assert letter.value() == value[:MIB]


def test_a_matcher_that_starts_comes_past_a_record_that_cannot_be_read(either: Fleet):
    bomb = b"a" * BOMB
    act = lambda: produce(either, "subscriptions", bomb, codec="zstd", key=b"bomb")  # noqa: E731
    new_letter(either, "subscriptions", act)
    either.subscribe("behind", {"age": [1, 1]}, 9)
    either.terminate(either.holder)
    either.start(either.holder)
    either.wait_ready(either.holder)
    assert either.ask({"age": 1}) == [("behind", 9.0)]


@pytest.mark.parametrize("topic", ["events", "subscriptions"])
def test_good_records_that_were_packed_to_little_are_all_used(either: Fleet, topic):
    """Unpacked; of 64 MiB a third is read in any case."""
    pad = "x" * 700_000
    if topic == "events":
        events = [{"age": 1, "pad": f"{i}{pad}"} for i in range(28)]
        before = len(either.answers)
        produce(either, "events", *(json.dumps(e).encode() for e in events), codec="zstd")

        def answered() -> bool:
            either.read_answers()
            return len(either.answers) >= before + len(events)

        eventually(answered, lambda: f"all answers\n{either.diagnosis()}", 60)
    else:
        value = {"where": {"age": [2, 2]}, "score": 1}
        values = [(json.dumps(value) + " " * 700_000).encode() for _ in range(28)]
        produce(either, "subscriptions", *values, codec="zstd", key=b"padded")
        assert ("padded", 1.0) in either.answer_to(after_all(either, {"age": 2})).hits


def after_all(fleet: Fleet, event: dict):
    """An event that waits for a subscription of just now, and so for all before it."""
    fleet.subscribe("last", {"age": [-1, -1]}, 1)
    return fleet.publish(event, after=fleet.token(), k=20)


@pytest.mark.parametrize("topic", ["events", "subscriptions"])
def test_a_header_name_that_is_not_utf_8_stops_nobody(either: Fleet, topic):
    place = (either.brokers, either.topic(topic), 0, "odd")
    letter = new_letter(either, topic, lambda: send_oddly(*place, '{"where": 3}'))
    assert letter.value() == b'{"where": 3}'
    # Of a good subscription nobody reads the headers.
    if topic == "events":
        assert error_of(letter) == "headers: got a name that is not UTF-8, expected text"
    else:
        send_oddly(*place, '{"where": {"age": [3, 3]}, "score": 2}')
        assert either.answer_to(after_all(either, {"age": 3})).hits == [("odd", 2.0)]


@pytest.mark.parametrize("topic", ["frames", "partials"])
def test_a_header_name_that_is_not_utf_8_on_an_internal_topic_stops_nobody(plain: Fleet, topic):
    act = lambda: send_oddly(plain.brokers, plain.topic(topic), 0, "odd", "what")  # noqa: E731
    letter = new_letter(plain, "events", act)
    assert dict(letter.headers())["podium-topic"].decode() == plain.topic(topic)


@pytest.mark.parametrize("topic", ["frames", "partials"])
@pytest.mark.parametrize("value", [None, b"", b"junk", bundle([]), bundle([b"junk"])], ids=repr)
def test_what_is_no_frame_or_partial_is_a_dead_letter(plain: Fleet, topic, value):
    letter = new_letter(plain, "events", lambda: produce(plain, topic, value, partition=0))
    assert dict(letter.headers())["podium-topic"].decode() == plain.topic(topic)


@pytest.mark.parametrize("codec", ["zstd", "gzip", "lz4", "snappy"])
def test_compressed_records_on_frames_stop_nobody(plain: Fleet, codec):
    new_letter(plain, "events", lambda: produce(plain, "frames", b"x" * 1000, codec=codec))


@pytest.mark.parametrize(
    "headers",
    [[("\U0001f600" * 2_000_000, b"")], [("", b"")] * 90_000, [("n", b"x" * 8_000_000)]],
    ids=["long-name", "many", "long-value"],
)
@pytest.mark.parametrize("topic", ["events", "subscriptions"])
def test_headers_that_a_dead_letter_has_no_room_for_are_left_out(either: Fleet, topic, headers):
    letter = new_letter(
        either,
        topic,
        lambda: produce(either, topic, b"not json", codec="zstd", key=b"k", headers=headers),
    )
    assert letter.value() == b"not json"
    kept = {name for name, _ in letter.headers()}
    assert kept >= {"podium-error", "podium-offset"}


def test_long_names_of_fields_do_not_make_a_frame_too_large(open_fleet: Fleet):
    """In one batch, so that the router has them all at once."""
    open_fleet.subscribe_with("home", {"all": [{"attr": "page", "op": "=", "value": "/home"}]})
    open_fleet.ask({"page": "/home"})
    events = [{f"{i:06}" + "n" * 1_000_000: 1, "page": "/home"} for i in range(18)]
    values = [json.dumps(event).encode() for event in events]
    produce(open_fleet, "events", *values, codec="zstd", key=b"long")

    def found() -> list[list[tuple[str, float]]]:
        open_fleet.read_answers()
        return [answer.hits for answer in open_fleet.answers if answer.key == b"long"]

    expected = [[("home", 1.0)]] * len(events)
    eventually(lambda: found() == expected, lambda: f"answers\n{open_fleet.diagnosis()}", 60)


def test_frames_of_other_attributes_are_not_answered(plain: Fleet):
    """As from a router that has read another collection file."""
    reader = plain._reader("frames", 1)
    reader.read_to_end()
    check_that_it_answers(plain)
    (part,) = unbundle(reader.read_to_end()[-1].value())
    frame = frames.decode(part)
    assert frame.fingerprint == frames.fingerprint("ranked", ["age"])
    swapped = frame._replace(fingerprint=frames.fingerprint("ranked", ["height"]))
    record = bundle([frames.encode(swapped)])
    letter = new_letter(plain, "events", lambda: produce(plain, "frames", record, partition=0))
    assert f"events[0]@{frame.frame_id.first} to {frame.frame_id.last}" in error_of(letter)


def test_a_frame_that_is_to_be_answered_nowhere_is_a_dead_letter(plain: Fleet):
    reader = plain._reader("frames", 1)
    reader.read_to_end()
    check_that_it_answers(plain)
    (part,) = unbundle(reader.read_to_end()[-1].value())
    record = bundle([frames.encode(frames.decode(part)._replace(answers=9999))])
    letter = new_letter(plain, "events", lambda: produce(plain, "frames", record, partition=0))
    assert "partition 9999 of partials, which does not exist" in error_of(letter)


def test_a_plain_subscription_behind_an_open_transaction_is_waited_for(either: Fleet):
    producer = Producer(
        {"bootstrap.servers": either.brokers, "transactional.id": "open", "logger": SILENT}
    )
    producer.init_transactions(30)
    producer.begin_transaction()
    value = b'{"where": {"age": [7, 7]}, "score": 1}'
    producer.produce(either.topic("subscriptions"), value, b"slow")
    producer.flush(30)
    either.subscribe("quick", {"age": [7, 7]}, 2)
    sent = either.publish({"age": 7}, after=either.token())
    either.deliver(sent)
    part = "frames" if "matcher" in either.roles else "events"
    either.wait_reason(either.holder, part, "has waited for subscriptions up to offset")
    producer.commit_transaction(30)
    assert either.answer_to(sent).hits == [("quick", 2.0), ("slow", 1.0)]
    either.wait_ready(either.holder)


# Topics that change under running workers


@pytest.fixture(params=["open", "node"])
def anew(request: pytest.FixtureRequest, fleets: dict[str, Fleet]) -> Fleet:
    """Tests that need workers who have not died come before: here they start again."""
    return fleets[request.param]


def recreate(fleet: Fleet, topic: str) -> None:
    """As an operator does to start afresh."""
    admin = AdminClient({"bootstrap.servers": fleet.brokers})
    admin.delete_topics([fleet.topic(topic)])[fleet.topic(topic)].result()
    gone = lambda: fleet.topic(topic) not in admin.list_topics(timeout=10).topics  # noqa: E731
    eventually(gone, f"{topic} is deleted", 30)
    eventually(lambda: created(fleet), f"{topic} is there again", 30)


def created(fleet: Fleet) -> bool:
    try:
        ensure_topics(fleet._settings, fleet.declared)
    except RuntimeError:  # still being deleted somewhere
        return False
    return True


# They notice by the topic's id, whatever its length is; `tests/workers/process` has that.
@pytest.mark.parametrize(
    "more",
    [
        pytest.param(100, id="longer"),
        *(
            pytest.param(more, id=id, marks=pytest.mark.long)
            for more, id in ((0, "as-long"), (-100, "shorter"))
        ),
    ],
)
def test_subscriptions_made_anew_are_what_is_answered_from(anew: Fleet, more: int):
    for i in range(200):
        anew.subscribe(f"old-{i}", {"age": [0, 9]}, 1000 + i)
    assert anew.ask({"age": 5}, k=1) == [("old-199", 1199.0)]
    new, starts = anew.ends[0] + 1 + more, anew.starts(anew.holder)
    recreate(anew, "subscriptions")
    anew.ends.clear()
    for i in range(new):
        anew.subscribe(f"new-{i}", {"age": [0, 9]}, i / 1000)
    anew.deliver()
    assert anew.ends[0] == new - 1
    eventually(lambda: anew.starts(anew.holder) > starts, "who holds the shard starts again", 60)
    anew.wait_ready(*anew.roles)
    best = [(f"new-{i}", i / 1000) for i in (new - 1, new - 2)]
    assert anew.ask({"age": 5}, k=2) == best
    assert anew.metric(anew.holder, "podium_subscriptions") == new


@pytest.mark.parametrize(
    "more",
    [
        pytest.param(-3, id="shorter"),
        *(
            pytest.param(more, id=id, marks=pytest.mark.long)
            for more, id in ((0, "as-long"), (3, "longer"))
        ),
    ],
)
def test_events_made_anew_are_all_answered(anew: Fleet, more: int):
    anew.subscribe("best", {"age": [0, 9]}, 9999)
    asked = [anew.publish({"age": 5}, k=1, after=anew.token()) for _ in range(5)]
    anew.answers_to(asked)
    new = asked[-1].place.offset + 1 + more
    recreate(anew, "events")
    keys = {f"{more}/{i}".encode() for i in range(new)}
    for key in sorted(keys):
        anew.publish({"age": 5}, key, k=1)
    anew.deliver()

    def missing() -> set[bytes]:
        anew.read_answers()
        return keys - {answer.key for answer in anew.answers}

    eventually(lambda: not missing(), lambda: f"{missing()}\n{anew.diagnosis()}", 90)


def test_partitions_that_are_added_to_subscriptions_are_said(anew: Fleet):
    admin = AdminClient({"bootstrap.servers": anew.brokers})
    topic = anew.topic("subscriptions")
    admin.create_partitions([NewPartitions(topic, 2)])[topic].result()
    for role in {anew.roles[0], anew.holder}:
        anew.wait_reason(role, "topics", "got 2 partitions, expected 1, as many as shards")


def test_more_partials_partitions_lose_nothing(make_fleet: MakeFleet, broker: str, redis_url: str):
    """Raised with the command that is proposed; workers learn of it one after the other."""
    few = {"attributes": ["age"], "shards": 2, "partitions": {"events": 4, "partials": 2}}
    fleet = make_fleet("raised", broker, redis_url, collection=few)
    fleet.create_topics()
    fleet.start(*ROLES, "merger-2")
    fleet.wait_ready(*ROLES, "merger-2")
    for i in range(20):
        fleet.subscribe(f"ad-{i}", {"age": [0, 9]}, i)
    token = fleet.token()

    def publish() -> None:
        for i in range(80):
            fleet.publish({"age": 5}, b"%d" % i, after=token, partition=i % 4)
        fleet.deliver()

    publish()
    admin = AdminClient({"bootstrap.servers": fleet.brokers})
    topic = fleet.topic("partials")
    admin.create_partitions([NewPartitions(topic, 4)])[topic].result()
    text = fleet.collection_path.read_text()
    assert "partials: 2" in text
    fleet.collection_path.write_text(text.replace("partials: 2", "partials: 4"))
    for name in ("matcher", "router", "merger", "merger-2"):
        publish()
        fleet.terminate(name)
        publish()
        fleet.start(name)
        fleet.wait_ready(name)
    publish()
    fleet.answers_to(fleet.events)
    reader = TopicReader({"bootstrap.servers": broker, "logger": SILENT}, topic, 4)
    used = {message.partition() for message in reader.read_to_end()}
    reader.close()
    assert used == {0, 1, 2, 3}
    fleet.check_all(repeats=True)
