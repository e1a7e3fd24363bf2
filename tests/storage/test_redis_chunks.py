import time

import numpy as np
import pytest
import redis
from hypothesis import given, settings
from hypothesis import strategies as st

from storage import redis_chunks
from storage.array_blob import decode, encode
from storage.redis_chunks import (
    Deadline,
    DeadlinePassed,
    WrongLength,
    cut,
    cut_between_parts,
    download,
    upload,
)
from storage.redis_client import open_redis

some_parts = st.lists(st.binary(max_size=20))


@settings(max_examples=100, deadline=None)
@given(parts=some_parts, chunk_bytes=st.integers(1, 30))
def test_chunks_are_the_parts_cut_elsewhere(parts, chunk_bytes):
    chunks = [bytes(chunk) for chunk in cut(parts, chunk_bytes)]
    assert b"".join(chunks) == b"".join(parts)
    assert {len(chunk) for chunk in chunks[:-1]} <= {chunk_bytes}
    assert all(0 < len(chunk) <= chunk_bytes for chunk in chunks)


@given(parts=some_parts, most=st.integers(1, 9))
def test_chunks_between_parts_are_the_same_bytes_none_of_them_too_large(parts, most):
    chunks = [bytes(chunk) for chunk in cut_between_parts(parts, most)]
    assert b"".join(chunks) == b"".join(parts)
    assert all(0 < len(chunk) <= most for chunk in chunks)
    given_small = sum(0 < len(part) < most for part in parts)
    large = sum(-(-len(part) // most) for part in parts if len(part) >= most)
    assert len(chunks) <= large + given_small


def test_chunks_between_parts_are_cut_from_large_ones_and_joined_from_small_ones():
    assert list(cut_between_parts([b"a", b"", b"b", b"cdefg", b"h"], 3)) == [
        b"ab",
        b"cde",
        b"fg",
        b"h",
    ]
    assert list(cut_between_parts([b"a", b"bcd", b"e", b"fg"], 3)) == [b"a", b"bcd", b"efg"]
    assert list(cut_between_parts([], 3)) == []


@pytest.mark.parametrize("cutting", [cut, cut_between_parts])
def test_a_chunk_within_one_part_is_not_copied(cutting):
    part = np.arange(100, dtype=np.uint8)
    for chunk in cutting([part.data], 10):
        assert np.shares_memory(np.frombuffer(chunk, np.uint8), part)


@pytest.mark.parametrize("cutting", [cut, cut_between_parts])
def test_parts_of_larger_items_are_cut_by_bytes(cutting):
    numbers = np.arange(5, dtype=np.int64)
    chunks = [bytes(chunk) for chunk in cutting([numbers.data], 16)]
    assert list(map(len, chunks)) == [16, 16, 8]
    assert b"".join(chunks) == numbers.tobytes()


@pytest.fixture
def client(redis_url):
    with open_redis(redis_url, timeout_s=5) as client:
        yield client


@pytest.fixture
def key(unique_name, client):
    name = f"chunks:{unique_name()}"
    yield name
    if left := client.keys(f"{name}:*"):
        client.delete(*left)


def write(client, key, chunks, **options):
    """The keys of the chunks."""
    named = [(f"{key}:{i}", memoryview(chunk)) for i, chunk in enumerate(chunks)]
    options = {"expire_s": 60} | options
    assert upload(client, named, **options) == list(map(len, chunks))
    return [name for name, _ in named]


def test_what_is_uploaded_is_downloaded(client, key):
    keys = write(client, key, [b"abc", b"d", b"efghi"])
    assert download(client, keys, 9) == b"abcdefghi"
    assert download(client, keys, 9, [3, 1, 5]) == b"abcdefghi"


def test_a_blob_without_chunks_is_empty(client):
    assert download(client, [], 0) == b""


def test_a_chunk_of_many_pieces_comes_back_whole(client, key):
    data = np.random.default_rng(1).integers(0, 256, 3 * redis_chunks._PIECE_BYTES + 5, np.uint8)
    keys = write(client, key, [data[:7].data, data[7:].data])
    assert download(client, keys, len(data)) == data.data


def test_no_answer_is_larger_than_a_piece(client, key, monkeypatch):
    """The client copies an answer with the GIL held."""
    sizes = []
    getrange = redis.Redis.getrange

    def noted(self, *arguments):
        piece = getrange(self, *arguments)
        sizes.append(len(piece))
        return piece

    keys = write(client, key, [bytes(2 * redis_chunks._PIECE_BYTES + 1)])
    monkeypatch.setattr(redis.Redis, "getrange", noted)
    download(client, keys, 2 * redis_chunks._PIECE_BYTES + 1)
    assert sizes == [redis_chunks._PIECE_BYTES, redis_chunks._PIECE_BYTES, 1]


def test_arrays_of_a_downloaded_blob_are_views_of_it(client, key):
    parts = encode(b"TEST", 1, {}, {"a": np.arange(1000), "b": np.ones(3, np.float32)})
    size = sum(map(len, parts))
    keys = write(client, key, list(cut(parts, 1000)))
    blob = download(client, keys, size)
    _, arrays = decode(b"TEST", 1, blob)
    for array in arrays.values():
        assert np.shares_memory(array, np.frombuffer(blob, np.uint8))
        assert array.ctypes.data % 64 == 0


def test_unfinished_uploads_expire_and_others_stay(client, key):
    write(client, key, [b"abc"], expire_s=30)
    assert 0 < client.ttl(f"{key}:0") <= 30
    write(client, key, [b"abc"], expire_s=None)
    assert client.ttl(f"{key}:0") == -1


def hurt_by_deletion(client, key):
    client.delete(f"{key}:1")


def hurt_by_truncation(client, key):
    client.set(f"{key}:1", b"x")


def hurt_by_growth(client, key):
    client.append(f"{key}:1", b"x")


@pytest.mark.parametrize("hurt", [hurt_by_deletion, hurt_by_truncation, hurt_by_growth])
@pytest.mark.parametrize("lengths", [None, [3, 2, 3]])
def test_a_chunk_of_another_length_is_told(client, key, hurt, lengths):
    keys = write(client, key, [b"abc", b"de", b"fgh"])
    hurt(client, key)
    with pytest.raises(WrongLength, match=r"got \d+ bytes in .*, expected [28]"):
        download(client, keys, 8, lengths)


def test_chunks_that_add_up_are_refused_if_their_lengths_are_known(client, key):
    keys = write(client, key, [b"abc", b"de"])
    assert download(client, keys, 5) == b"abcde"
    with pytest.raises(WrongLength, match=f"got 3 bytes in {key}:0, expected 4"):
        download(client, keys, 5, [4, 1])


def test_lengths_are_checked_before_memory_is_taken(client, key, monkeypatch):
    monkeypatch.setattr(redis_chunks, "_aligned", None)  # to call it would be a TypeError
    keys = write(client, key, [b"abc"])
    with pytest.raises(WrongLength):
        download(client, keys, 10**15)


@pytest.mark.parametrize("shorter", [b"", b"x"])
def test_a_chunk_that_is_lost_while_it_is_read_is_told(client, key, monkeypatch, shorter):
    monkeypatch.setattr(redis_chunks, "_PIECE_BYTES", 2)
    keys = write(client, key, [b"abcde"])
    getrange = redis.Redis.getrange

    def losing(self, name, start, end):
        if start == 2:
            client.set(name, shorter)
        return getrange(self, name, start, end)

    monkeypatch.setattr(redis.Redis, "getrange", losing)
    with pytest.raises(WrongLength, match=f"in {key}:0, expected 4"):
        download(client, keys, 5)


def test_a_deadline_is_for_the_whole_transfer(client, key):
    keys = write(client, key, [b"abc"] * 5)
    with pytest.raises(DeadlinePassed, match="not read within 0 s"):
        download(client, keys, 15, deadline=Deadline(0))
    with pytest.raises(DeadlinePassed, match="not written within 0 s"):
        write(client, f"{key}:late", [b"abc"] * 5, deadline=Deadline(0))
    assert client.keys(f"{key}:late:*") == [f"{key}:late:0".encode()]


def test_an_upload_that_rests_leaves_most_of_the_time_to_others(client, key, monkeypatch):
    rests = []
    monkeypatch.setattr(time, "sleep", rests.append)
    write(client, key, [bytes(100_000)] * 3)
    assert rests == []
    write(client, key, [bytes(100_000)] * 3, rests=True)
    assert len(rests) == 3
    assert all(0 < rest <= 0.02 for rest in rests)
