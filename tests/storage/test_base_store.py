import tempfile

import pytest
import redis
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from storage.base_store import (
    CHUNK_BYTES,
    UNFINISHED_S,
    BaseStore,
    NotStored,
    StoreFailed,
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
    with pytest.raises(
        NotStored, match=f"{name} .*got 5 bytes in 2 chunks, expected {CHUNK_BYTES + 5}"
    ):
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


def test_a_blob_in_redis_is_readable_however_its_writer_cut_it(redis_url, name):
    client = redis.Redis.from_url(redis_url)
    for i, chunk in enumerate([b"abc", b"d" * (CHUNK_BYTES + 1), b"e"]):
        client.set(f"podium:base:{name}:{i}", chunk)
    client.set(f"podium:base:{name}", f"3 {CHUNK_BYTES + 5}")
    store = BaseStore.open(redis_url)
    assert store.get(name) == b"abc" + b"d" * (CHUNK_BYTES + 1) + b"e"
    store.drop(name)
    assert not list(client.scan_iter(f"podium:base:{name}*"))


def test_a_blob_lies_in_redis_as_it_always_has(redis_url, name):
    """Jobs of two versions may write one name: the chunks must be the same."""
    client, store = redis.Redis.from_url(redis_url), BaseStore.open(redis_url)
    store.put(name, [b"ab", b"c", b"x" * (CHUNK_BYTES + 1), b"d", b"e" * (CHUNK_BYTES - 1)])
    assert client.get(f"podium:base:{name}") == f"4 {2 * CHUNK_BYTES + 4}".encode()
    chunks = [client.get(f"podium:base:{name}:{i}") for i in range(5)]
    assert chunks == [
        b"abc",
        b"x" * CHUNK_BYTES,
        b"x",
        b"d" + b"e" * (CHUNK_BYTES - 1),
        None,
    ]
    store.drop(name)


class FilesAgainstDict(RuleBasedStateMachine):
    """Names that share folders: one that is emptied goes, and comes again."""

    names = st.sampled_from(["a/b/tree-0", "a/b/tree-1", "a/b/state", "a/c/tree-0", "d"])
    blobs = st.lists(st.binary(max_size=5), max_size=4)

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.store = BaseStore.open(f"file://{self.folder.name}/bases")
        self.stored = {}

    @rule(name=names, parts=blobs)
    def put(self, name, parts):
        self.store.put(name, parts)
        self.stored[name] = b"".join(parts)

    @rule(name=names)
    def drop(self, name):
        self.store.drop(name)
        self.stored.pop(name, None)

    @invariant()
    def blobs_are_those_of_the_dict(self):
        for name in ["a/b/tree-0", "a/b/tree-1", "a/b/state", "a/c/tree-0", "d"]:
            assert self.store.has(name) == (name in self.stored)
            if name in self.stored:
                assert self.store.get(name) == self.stored[name]
            else:
                with pytest.raises(NotStored):
                    self.store.get(name)

    def teardown(self):
        self.folder.cleanup()


TestFilesAgainstDict = FilesAgainstDict.TestCase
TestFilesAgainstDict.settings = settings(max_examples=40, stateful_step_count=20)
