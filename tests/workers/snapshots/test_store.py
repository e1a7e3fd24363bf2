import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from configs import Collection, Settings
from storage.redis_client import open_redis
from tests.own_redis import own_redis
from tests.workers.snapshots.samples import (
    COLLECTION,
    DAY_S,
    EXPECTED,
    MADE_AT,
    PREFIX,
    SHARD,
    TOPIC_ID,
    a_head,
    a_snapshot,
    assert_whole,
)
from workers.snapshots import (
    Expected,
    NoSnapshot,
    Snapshot,
    SnapshotHead,
    SnapshotStore,
    StaleWriter,
)
from workers.snapshots.snapshot import VERSION

POINTER = f"{{{PREFIX}:{COLLECTION}:snapshot:{SHARD}}}"
CHUNK_BYTES = 500


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with own_redis(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def client(server):
    client = open_redis(server.url, timeout_s=5)
    client.flushall()
    yield client
    client.close()


def a_store(client, **options):
    options = {"chunk_bytes": CHUNK_BYTES, "now": lambda: MADE_AT} | options
    return SnapshotStore(client, PREFIX, COLLECTION, **options)


@pytest.fixture
def store(client):
    return a_store(client)


def absence(store, expected=EXPECTED, shard=SHARD):
    with pytest.raises(NoSnapshot) as caught:
        store.read(shard, expected)
    return caught.value


def chunk_keys(client, name="*"):
    return sorted(client.keys(f"{POINTER}:{name}:*"))


def test_what_is_written_is_read_bit_by_bit(store, client):
    written = store.write(a_snapshot(), store.claim(SHARD))
    assert written.chunks == -(-written.bytes // CHUNK_BYTES) > 3
    assert sorted(map(client.strlen, chunk_keys(client, written.name)))[-1] == CHUNK_BYTES
    assert_whole(store.read(SHARD, EXPECTED))


@pytest.mark.parametrize("chunk_bytes", [1, 7, 64, 4096, 1024 * 1024])
def test_the_size_of_a_chunk_is_of_the_writer_alone(client, store, chunk_bytes):
    a_store(client, chunk_bytes=chunk_bytes).write(a_snapshot(size=3), epoch=1)
    assert_whole(store.read(SHARD, EXPECTED), size=3)


def test_a_chunk_is_read_in_pieces(client):
    store = a_store(client, chunk_bytes=3_000_000)
    assert store.write(a_snapshot(size=250_000), epoch=1).chunks == 2
    assert_whole(store.read(SHARD, EXPECTED), size=250_000)


texts = st.text(max_size=8)
whole_numbers = st.integers(0, 2**53)
some_heads = st.builds(
    SnapshotHead,
    collection=st.just(COLLECTION),
    kind=texts,
    attributes=st.lists(texts, max_size=4).map(tuple),
    shard=st.integers(0, 1023),
    topic_id=texts,
    next_offset=whole_numbers,
    subscriptions=whole_numbers,
    made_at=st.floats(0, 2e9),
    podium=texts,
)
some_arrays = st.dictionaries(
    texts.filter(lambda name: "/" not in name),  # a slash parts what is stored narrowed
    st.tuples(
        st.sampled_from(["f8", "i8", "i4", "u1", "?"]), st.lists(st.integers(0, 1), max_size=99)
    ).map(lambda drawn: np.array(drawn[1], drawn[0])),
    max_size=4,
)


@settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(head=some_heads, arrays=some_arrays)
def test_any_head_and_any_arrays_come_back(client, head, arrays):
    client.flushall()
    store = a_store(client, now=lambda: head.made_at)
    store.write(Snapshot(head, arrays), epoch=1)
    got = store.read(head.shard, Expected(head.kind, head.attributes, head.topic_id, 1.0))
    assert got.head == head
    assert {name: (a.dtype, a.tolist()) for name, a in got.arrays.items()} == {
        name: (a.dtype, a.tolist()) for name, a in arrays.items()
    }


def test_a_shard_without_a_snapshot_has_none(store):
    absent = absence(store)
    assert absent.reason == "missing"
    assert str(absent) == f"there is no {POINTER}"


@pytest.mark.parametrize(
    ("changes", "reason", "message"),
    [
        ({"kind": "relaxed"}, "foreign", "got kind 'ranked', expected 'relaxed'"),
        ({"attributes": ("age",)}, "foreign", "expected ('age',)"),
        ({"topic_id": "other"}, "foreign", f"got topic_id '{TOPIC_ID}', expected 'other'"),
        ({"end_offset": 99}, "foreign", "got next offset 100, expected at most 99"),
        ({"max_age_s": -1.0}, "too_old", "got one that is 0.0 days old"),
    ],
)
def test_a_snapshot_of_something_else_is_refused(store, changes, reason, message):
    store.write(a_snapshot(), epoch=1)
    absent = absence(store, EXPECTED._replace(**changes))
    assert absent.reason == reason
    assert message in str(absent)


def test_what_is_not_known_is_not_compared(store):
    store.write(a_snapshot(), epoch=1)
    assert_whole(store.read(SHARD, EXPECTED._replace(topic_id=None, end_offset=100)))


@pytest.mark.parametrize(("field", "value"), [("shard", 0), ("collection", "cars")])
def test_a_snapshot_that_was_copied_to_another_place_is_refused(client, store, field, value):
    """Its pointer is in its place, but the blob says whose it is."""
    home = SnapshotStore(client, PREFIX, str(value), chunk_bytes=10**6)
    if field == "shard":
        home = a_store(client, chunk_bytes=10**6)
    home.write(a_snapshot(**{field: value}), epoch=1)
    (source,) = [key for key in client.keys("*") if key.endswith(b"}")]
    (chunk,) = client.keys("*:0")
    fields = client.hgetall(source)
    client.hset(POINTER, mapping=fields)
    client.set(f"{POINTER}:{fields[b'name'].decode()}:0", client.get(chunk))
    absent = absence(store)
    assert absent.reason == "foreign"
    assert f"got {field} {value!r}" in str(absent)


@pytest.mark.parametrize(
    ("age_s", "usable"),
    [
        pytest.param(7 * DAY_S, True, id="just-in-time"),
        pytest.param(7 * DAY_S + 1, False, id="too-old"),
        pytest.param(-60.0, True, id="a-clock-that-is-a-minute-behind"),
        pytest.param(-2 * 3600.0, False, id="from-the-future"),
    ],
)
def test_age_is_limited_by_what_the_log_keeps(client, age_s, usable):
    store = a_store(client, now=lambda: MADE_AT + age_s)
    store.write(a_snapshot(), epoch=1)
    if usable:
        assert_whole(store.read(SHARD, EXPECTED))
    else:
        assert absence(store).reason == "too_old"


def test_what_is_expected_follows_from_the_collection():
    collection = Collection(
        name="ads", kind="ranked", attributes=["a"], retention={"unsubscriptions_days": 2}
    )
    # An unsubscription must still be there at the end of the replay, not only at its start.
    max_age_s = 0.9 * 2 * DAY_S
    assert Expected.of(collection, "id", 5) == Expected("ranked", ("a",), "id", max_age_s, 5)


def test_every_missing_chunk_is_a_truncation(store, client):
    store.write(a_snapshot(), epoch=1)
    for key in chunk_keys(client):
        value = client.getdel(key)
        absent = absence(store)
        assert absent.reason == "truncated"
        assert f"got 0 bytes in {key.decode()}" in str(absent)
        client.set(key, value)
    assert_whole(store.read(SHARD, EXPECTED))


def test_every_byte_that_is_missing_or_wrong_is_noticed(client):
    store = a_store(client, chunk_bytes=10**6)
    store.write(a_snapshot(size=1), epoch=1)
    (key,) = chunk_keys(client)
    blob = client.get(key)
    reasons = set()
    for at in range(len(blob)):
        client.set(key, blob[:at])
        assert absence(store).reason == "truncated"
        damaged = bytearray(blob)
        damaged[at] ^= 0x55
        client.set(key, bytes(damaged))
        reasons.add(absence(store).reason)
    assert reasons == {"foreign", "newer", "corrupt"}


def test_a_newer_format_is_named_as_one(client, monkeypatch):
    store = a_store(client)
    monkeypatch.setattr("workers.snapshots.snapshot.VERSION", 9)
    store.write(a_snapshot(), epoch=1)
    monkeypatch.undo()
    absent = absence(store)
    assert absent.reason == "newer"
    assert f"got version 9, expected {VERSION}" in str(absent)


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda client: client.hset(POINTER, "chunks", "many"), id="no-number"),
        pytest.param(lambda client: client.hset(POINTER, "chunks", "0"), id="no-chunks"),
        pytest.param(lambda client: client.hset(POINTER, "bytes", str(10**15)), id="huge"),
        pytest.param(lambda client: client.hdel(POINTER, "name"), id="no-name"),
        pytest.param(lambda client: client.hset(POINTER, "head", "{"), id="no-json"),
        pytest.param(lambda client: client.hset(POINTER, "name", b"\xff"), id="no-text"),
        pytest.param(lambda client: client.set(POINTER, "mine"), id="of-another-type"),
    ],
)
def test_a_damaged_pointer_is_refused_and_can_be_dropped(store, client, damage):
    store.write(a_snapshot(), epoch=1)
    damage(client)
    assert absence(store).reason == "corrupt"
    assert store.ls([SHARD])[SHARD].reason == "corrupt"
    assert store.drop(SHARD)
    assert absence(store).reason == "missing"


def test_a_shard_that_was_claimed_refuses_its_former_owner(client):
    former, owner = (a_store(client, holder=name) for name in ("former:1", "owner:2"))
    first = former.claim(SHARD)
    former.write(a_snapshot(100), first)
    second = owner.claim(SHARD)
    assert second > first
    with pytest.raises(StaleWriter) as caught:  # though the new owner has written nothing yet
        former.write(a_snapshot(200), first)
    assert str(caught.value) == (
        f"snapshot of shard 1 at 200 refused: got epoch {first}, but the shard is held by owner:2"
        f" with epoch {second}"
    )
    assert_whole(former.read(SHARD, EXPECTED))
    assert former.read(SHARD, EXPECTED).head.next_offset == 100


def test_a_former_owner_that_claims_again_does_not_take_the_pointer_back(client):
    """As it may when it has been asleep, and knows nothing but that it was refused."""
    former, owner = (a_store(client, holder=name) for name in ("former:1", "owner:2"))
    first, second = former.claim(SHARD), owner.claim(SHARD)
    owner.write(a_snapshot(500), second)
    with pytest.raises(StaleWriter):
        former.write(a_snapshot(200), first)
    with pytest.raises(StaleWriter) as caught:
        former.claim(SHARD, a_head(200))
    assert str(caught.value) == (
        "snapshot of shard 1 at 200 refused: got another claim, but the shard is held by owner:2"
        f" with epoch {second} at 500"
    )
    owner.write(a_snapshot(600), second)  # the claim that was refused has disturbed nobody
    third = former.claim(SHARD)  # as one that takes over
    with pytest.raises(StaleWriter, match="at 600"):
        former.write(a_snapshot(200), third)
    assert former.read(SHARD, EXPECTED).head.next_offset == 600
    with pytest.raises(StaleWriter):
        owner.write(a_snapshot(700), second)
    owner.write(a_snapshot(700), owner.claim(SHARD, a_head(700)))
    assert former.read(SHARD, EXPECTED).head.next_offset == 700


def test_a_topic_made_anew_begins_with_lower_offsets(store):
    store.write(a_snapshot(500), store.claim(SHARD))
    anew = a_snapshot(9, topic_id="anew")
    store.write(anew, store.claim(SHARD, anew.head))
    assert store.read(SHARD, EXPECTED._replace(topic_id="anew")).head.next_offset == 9


def lose_a_chunk(client):
    client.delete(chunk_keys(client)[0])


def flip_a_bit(client):
    client.setrange(chunk_keys(client)[0], 80, b"\xaa\x55")


@pytest.mark.parametrize(
    ("damage", "expected", "reason"),
    [
        pytest.param(lose_a_chunk, EXPECTED, "truncated", id="truncated"),
        pytest.param(flip_a_bit, EXPECTED, "corrupt", id="corrupt"),
        pytest.param(
            lambda client: client.hset(POINTER, "bytes", "1"), EXPECTED, "corrupt", id="pointer"
        ),
        pytest.param(
            lambda client: client.hset(POINTER, "next_offset", str(2**52)),
            EXPECTED,
            "corrupt",
            id="offset-of-the-pointer",
        ),
        pytest.param(
            lambda client: None, EXPECTED._replace(end_offset=99), "foreign", id="beyond-the-end"
        ),
        pytest.param(
            lambda client: None, EXPECTED._replace(kind="relaxed"), "foreign", id="other-kind"
        ),
    ],
)
def test_what_is_unusable_may_be_replaced_by_one_that_is_behind_it(
    store, client, damage, expected, reason
):
    written = store.write(a_snapshot(100), store.claim(SHARD))
    damage(client)
    absent = absence(store, expected)
    assert (absent.reason, absent.generation) == (reason, written.name.encode())
    behind = a_snapshot(90)
    with pytest.raises(StaleWriter):  # for who has not looked it is a snapshot as any other
        store.write(behind, store.claim(SHARD))
    store.write(behind, store.claim(SHARD, behind.head, absent.generation), absent.generation)
    assert store.read(SHARD, EXPECTED).head.next_offset == 90
    with pytest.raises(StaleWriter):  # only that generation was given up
        store.write(a_snapshot(80), store.claim(SHARD), absent.generation)


def test_an_older_format_is_replaced(store, monkeypatch):
    monkeypatch.setattr("workers.snapshots.snapshot.VERSION", 1)
    store.write(a_snapshot(100), epoch=1)
    monkeypatch.undo()
    absent = absence(store)
    assert absent.reason == "foreign"
    store.write(a_snapshot(90), 2, absent.generation)
    assert store.read(SHARD, EXPECTED).head.next_offset == 90


def test_a_refused_snapshot_leaves_no_chunks(client, store):
    store.write(a_snapshot(100), epoch=5)
    before = chunk_keys(client)
    for epoch, next_offset in ((4, 200), (5, 99)):
        with pytest.raises(StaleWriter, match="with epoch 5"):
            store.write(a_snapshot(next_offset), epoch)
    assert chunk_keys(client) == before


def test_the_same_offset_may_be_written_again(store):
    epoch = store.claim(SHARD)
    names = {store.write(a_snapshot(), epoch).name for _ in range(3)}
    assert len(names) == 3
    assert_whole(store.read(SHARD, EXPECTED))


def test_claims_are_per_shard(store):
    first = store.claim(0)
    second = store.claim(1)
    store.write(a_snapshot(100, shard=0), first)
    store.write(a_snapshot(200, shard=1), second)
    read = [store.read(shard, EXPECTED) for shard in (0, 1)]
    assert [(one.head.shard, one.head.next_offset) for one in read] == [(0, 100), (1, 200)]
    for one in read:
        assert (one.arrays["scores"] == one.head.next_offset).all()


def test_epochs_grow_also_when_redis_has_lost_everything(store, client):
    epochs = [store.claim(SHARD) for _ in range(5)]
    former = epochs[-1]
    client.flushall()
    owner = store.claim(SHARD)
    assert [*epochs, owner] == sorted({*epochs, owner})
    with pytest.raises(StaleWriter):
        store.write(a_snapshot(), former)


def test_an_epoch_is_above_that_of_the_pointer_too(store, client):
    ahead = 2**52
    store.write(a_snapshot(), ahead)
    client.delete(f"{POINTER}:claim")
    assert store.claim(SHARD) == ahead + 1


def test_publishing_twice_is_publishing_once(store, client):
    """A client that lost the answer may ask again."""
    store.write(a_snapshot(100), epoch=1)
    written = store.write(a_snapshot(200), epoch=1)
    keys = store._chunk_keys(SHARD, written.name, written.chunks)
    expiries = {key: client.ttl(key) for key in chunk_keys(client)}
    store._swap(a_head(200), 1, written, keys)
    assert {key: client.ttl(key) for key in chunk_keys(client)}.keys() == expiries.keys()
    assert {client.ttl(key) for key in keys} == {-1}


def test_the_former_generation_expires_and_the_newest_does_not(client):
    store = a_store(client, keep_old_s=40, timeout_s=20)
    first = store.write(a_snapshot(100), epoch=1)
    assert {client.ttl(key) for key in chunk_keys(client, first.name)} == {-1}
    second = store.write(a_snapshot(200), epoch=1)
    assert {client.ttl(key) for key in chunk_keys(client, second.name)} == {-1}
    assert all(0 < client.ttl(key) <= 40 for key in chunk_keys(client, first.name))
    assert len(chunk_keys(client)) == first.chunks + second.chunks


def test_nothing_is_left_but_the_newest_of_many(client):
    store = a_store(client, keep_old_s=100)
    for next_offset in range(100, 110):
        newest = store.write(a_snapshot(next_offset), epoch=1)
    lasting = {key.decode() for key in client.keys("*") if client.ttl(key) < 0}
    assert lasting == {
        POINTER,
        f"{POINTER}:claim",
        *(f"{POINTER}:{newest.name}:{index}" for index in range(newest.chunks)),
    }


def test_a_reader_whose_generation_expires_goes_on_with_the_newest(client, store):
    store.write(a_snapshot(100), epoch=1)
    old = chunk_keys(client)

    class Overtaken(SnapshotStore):
        """Another worker publishes, and the old chunks expire, after the pointer was read."""

        def _pointer(self, shard):
            pointer = super()._pointer(shard)
            if pointer.next_offset == 100:
                store.write(a_snapshot(200), epoch=2)
                client.delete(*old)
            return pointer

    reader = Overtaken(client, PREFIX, COLLECTION, now=lambda: MADE_AT)
    snapshot = reader.read(SHARD, EXPECTED)
    assert_whole(snapshot)
    assert snapshot.head.next_offset == 200


def test_dropping_leaves_only_the_fence(store, client):
    former = store.claim(SHARD)
    store.write(a_snapshot(), former)
    owner = store.claim(SHARD)
    assert store.drop(SHARD)
    assert client.keys("*") == [f"{POINTER}:claim".encode()]
    assert client.ttl(f"{POINTER}:claim") > 0
    assert not store.drop(SHARD)
    with pytest.raises(StaleWriter):
        store.write(a_snapshot(), former)
    store.write(a_snapshot(), owner)
    assert client.ttl(f"{POINTER}:claim") == -1


def test_the_list_says_what_there_is(client):
    store = a_store(client, holder="worker:7")
    written = store.write(a_snapshot(), epoch=3)
    listed = store.ls(range(3))
    assert list(listed) == [0, 1, 2]
    assert listed[0].reason == listed[2].reason == "missing"
    pointer = listed[SHARD]
    assert (pointer.name, pointer.bytes, pointer.chunks) == written
    assert (pointer.epoch, pointer.next_offset, pointer.holder) == (3, 100, "worker:7")
    assert pointer.head == a_head()
    assert sum(pointer.lengths) == pointer.bytes


def test_verifying_reads_everything(store, client):
    store.write(a_snapshot(), epoch=1)
    assert store.verify(SHARD).next_offset == 100
    last = chunk_keys(client)[-1]
    client.setrange(last, 0, b"\xaa\x55")
    with pytest.raises(NoSnapshot) as caught:
        store.verify(SHARD)
    assert caught.value.reason == "corrupt"


def test_shards_collections_and_prefixes_do_not_meet(client):
    places = [("podium", "ads", 0), ("podium", "ads", 1), ("podium", "cars", 0), ("x", "ads", 0)]
    for number, (prefix, collection, shard) in enumerate(places):
        store = SnapshotStore(client, prefix, collection)
        store.write(a_snapshot(number, collection=collection, shard=shard), epoch=1)
    for number, (prefix, collection, shard) in enumerate(places):
        pointer = SnapshotStore(client, prefix, collection).verify(shard)
        assert pointer.next_offset == number


def test_all_keys_of_a_shard_are_in_one_slot(store, client):
    store.write(a_snapshot(), store.claim(SHARD))
    tags = {key.decode().split("}")[0] for key in client.keys("*")}
    assert tags == {POINTER[:-1]}


def test_a_snapshot_of_another_collection_is_not_written(store):
    with pytest.raises(ValueError, match="got a snapshot of 'cars', expected 'ads'"):
        store.write(a_snapshot(collection="cars"), epoch=1)


def test_the_settings_reach_the_store(server, client):
    settings = Settings(
        prefix="other",
        redis={"url": server.url},
        snapshots={"chunk_bytes": 64 * 1024, "keep_old_s": 5},
    )
    store = SnapshotStore.of(client, settings, COLLECTION)
    for _ in range(2):
        store.write(a_snapshot(size=20_000), epoch=1)
    keys = client.keys("{other:ads:snapshot:1}:*:*")
    assert max(map(client.strlen, keys)) == 64 * 1024
    assert max(map(client.ttl, keys)) <= 5


def test_the_head_is_readable_without_podium(store, client):
    store.write(a_snapshot(), epoch=1)
    assert msgspec.json.decode(client.hget(POINTER, "head"))["topic_id"] == TOPIC_ID
