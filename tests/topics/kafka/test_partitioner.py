import numpy as np
import pytest
from aiokafka.partitioner import DefaultPartitioner
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import collection as oracle
from topics.kafka.partitioner import partition_of, partitions_of

MOST = 2**31 - 1  # with so many partitions the number of one is nearly the hash itself

keys = st.one_of(st.binary(max_size=40), st.text(max_size=8).map(str.encode))


@pytest.mark.parametrize(
    ("key", "hashed"),
    [
        # From org.apache.kafka.common.utils.UtilsTest.testMurmur2.
        pytest.param(b"21", -973932308, id="two-bytes"),
        pytest.param(b"foobar", -790332482, id="six-bytes"),
        pytest.param(b"a-little-bit-long-string", -985981536, id="whole-words"),
        pytest.param(b"a-little-bit-longer-string", -1486304829, id="two-bytes-over"),
        pytest.param(
            b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971, id="forty-eight-bytes"
        ),
        pytest.param(b"abc", 479470107, id="three-bytes"),
        # What the Java client computes for keys shorter than a word.
        pytest.param(b"", 275646681, id="empty"),
        pytest.param(b"a", -1563381124, id="one-byte"),
        pytest.param(b"ab", 316155434, id="two-letters"),
    ],
)
def test_keys_are_hashed_as_kafkas_own_client_hashes_them(key, hashed):
    assert partition_of(key, MOST) == (hashed & 0x7FFFFFFF) % MOST
    assert [partition_of(key, n) for n in range(1, 9)] == [
        (hashed & 0x7FFFFFFF) % n for n in range(1, 9)
    ]


@settings(max_examples=200, deadline=None)
@given(key=keys, partitions=st.integers(1, 300))
def test_a_key_goes_where_the_other_clients_send_it(key, partitions):
    chosen = partition_of(key, partitions)
    assert chosen == DefaultPartitioner()(key, list(range(partitions)), [])
    assert chosen == (oracle.murmur2(key) & 0x7FFFFFFF) % partitions


@settings(max_examples=100, deadline=None)
@given(batch=st.lists(keys, max_size=20), partitions=st.integers(1, 300))
def test_a_batch_gives_each_key_the_partition_it_has_alone(batch, partitions):
    chosen = partitions_of(batch, partitions)
    assert chosen.tolist() == [partition_of(key, partitions) for key in batch]
    assert (chosen.dtype, chosen.shape) == (np.int32, (len(batch),))


def test_a_key_of_a_megabyte_is_hashed_whole():
    key = bytes(range(256)) * 4096
    assert partition_of(key, MOST) == (oracle.murmur2(key) & 0x7FFFFFFF) % MOST
