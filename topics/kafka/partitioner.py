"""Which partition a key belongs to: murmur2, as Kafka's own producers choose it.

Every shard must see all records of a subscription, so a record whose key lies on another
partition is refused.  librdkafka's default is another hash: set `partitioner` to
`murmur2_random` there.
"""

from collections.abc import Sequence

import numpy as np


def partition_of(key: bytes, partitions: int) -> int:
    """
    >>> partition_of(b"ad-7", 8)
    1
    """
    return int(partitions_of([key], partitions)[0])


def partitions_of(keys: Sequence[bytes], partitions: int) -> np.ndarray:
    """i4[n]: the partition of each key, in one compiled call."""
    # Here, because whoever only asks what kinds there are would wait a second for the compiler.
    from topics.kafka.murmur2 import partitions_of_keys

    ends = np.cumsum(np.fromiter(map(len, keys), np.int64, len(keys)))
    return partitions_of_keys(np.frombuffer(b"".join(keys), np.uint8), ends, partitions)
