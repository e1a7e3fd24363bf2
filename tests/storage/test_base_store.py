import pytest
import redis

from storage.base_store import (
    CHUNK_BYTES,
    UNFINISHED_S,
    BaseStore,
    NotStored,
    StoreFailed,
    chunks,
)

NAME = "podium.ads.subscriptions/id/3/00000000000000000042/tree-0"


@pytest.fixture(params=["redis", "file"])
def store(request, tmp_path):
    if request.param == "file":
        return BaseStore.open(f"file://{tmp_path}/bases")
    return BaseStore.open(request.getfixturevalue("redis_url"))


@pytest.fixture
def name(unique_name):
    return NAME.replace("ads", unique_name())


def test_a_blob_comes_back_whole_however_it_was_cut(store, name):
    parts = [b"ab", memoryview(bytes(range(256)) * 20_000), b"", b"c" * CHUNK_BYTES]
    store.put(name, parts)
    assert store.get(name) == b"".join(map(bytes, parts))
    store.put(name, [b"shorter"])
    assert store.get(name) == b"shorter"
    store.drop(name)


def test_an_empty_blob_is_a_blob(store, name):
    store.put(name, [])
    assert store.get(name) == b""


def test_what_was_dropped_or_never_there_is_not_stored(store, name):
    with pytest.raises(NotStored, match=name):
        store.get(name)
    store.drop(name)
    store.put(name, [b"x"])
    store.drop(name)
    store.drop(name)
    with pytest.raises(NotStored, match=name):
        store.get(name)


def test_a_blob_is_looked_for_without_reading_it(store, name):
    assert not store.has(name)
    store.put(name, [b"x" * 10])
    assert store.has(name)
    store.drop(name)
    assert not store.has(name)


def test_no_value_in_redis_is_larger_than_a_chunk(redis_url, name):
    client = redis.Redis.from_url(redis_url)
    BaseStore.open(redis_url).put(name, [b"x" * (2 * CHUNK_BYTES + 5)])
    sizes = {key: client.strlen(key) for key in client.scan_iter(f"podium:base:{name}*")}
    extent = len(f"3 {2 * CHUNK_BYTES + 5}")
    assert sorted(sizes.values()) == [5, extent, CHUNK_BYTES, CHUNK_BYTES]
    BaseStore.open(redis_url).drop(name)
    assert not list(client.scan_iter(f"podium:base:{name}*"))


def test_a_blob_that_lacks_a_chunk_is_not_stored(redis_url, name):
    client = redis.Redis.from_url(redis_url)
    BaseStore.open(redis_url).put(name, [b"x" * (CHUNK_BYTES + 5)])
    client.delete(f"podium:base:{name}:0")
    with pytest.raises(NotStored, match=f"Redis has 5 of its {CHUNK_BYTES + 5} bytes"):
        BaseStore.open(redis_url).get(name)


def test_what_a_killed_writer_left_in_redis_expires(redis_url, name):
    client, store = redis.Redis.from_url(redis_url), BaseStore.open(redis_url)
    blob = [b"x" * CHUNK_BYTES, b"y" * CHUNK_BYTES]

    def expiries():
        return [client.ttl(key) for key in client.scan_iter(f"podium:base:{name}*")]

    def put_half():
        with pytest.raises(TypeError):  # as sudden as a kill: nothing is done after it
            store.put(name, [blob[0], None])

    put_half()
    (expiry,) = expiries()
    assert 0 < expiry <= UNFINISHED_S
    assert not store.has(name)
    store.put(name, blob)
    assert expiries() == [-1] * 3
    put_half()  # the same once more: what is whole must stay so
    assert expiries() == [-1] * 3
    assert store.get(name) == b"".join(blob)
    store.drop(name)


def test_a_folder_goes_with_its_last_blob_and_what_a_killed_writer_left(tmp_path):
    store = BaseStore.open(f"file://{tmp_path}")
    store.put("a/b/tree-0", [b"x"])
    store.put("a/b/state", [b"y"])
    (tmp_path / "a/b/.state.1f").write_bytes(b"half")
    store.drop("a/b/tree-0")
    assert store.get("a/b/state") == b"y"
    store.drop("a/b/state")
    assert not (tmp_path / "a/b").exists()


def test_a_redis_that_does_not_answer_is_named_without_its_password():
    store = BaseStore.open("redis://:hunter2@127.0.0.1:1/0", timeout_s=1)
    for act in (lambda: store.get(NAME), lambda: store.put(NAME, [b"x"]), lambda: store.drop(NAME)):
        with pytest.raises(StoreFailed, match=r"127\.0\.0\.1:1") as caught:
            act()
        assert "hunter2" not in str(caught.value)


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreFailed, match="was not written"):
        BaseStore.open(f"file://{tmp_path}/file").put("a/b", [b"x"])


@pytest.mark.parametrize("uri", ["nowhere://x", "bases"])
def test_an_address_that_is_none_is_refused(uri):
    with pytest.raises(StoreFailed, match="expected redis://"):
        BaseStore.open(uri)


def test_chunks_are_cut_from_large_parts_and_joined_from_small_ones():
    assert list(chunks([b"a", b"", b"b", b"cdefg", b"h"], most=3)) == [b"ab", b"cde", b"fg", b"h"]
    assert list(chunks([b"a", b"bcd", b"e", b"fg"], most=3)) == [b"a", b"bcd", b"efg"]
    assert list(chunks([], most=3)) == []
