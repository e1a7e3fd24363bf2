"""Subscriptions that begin, one by one, as gateways read them."""

import numpy as np

from topics import messages
from topics.codecs.byte_strings import ByteStrings
from topics.messages import Arrival, Coming, States, ZoneRecord

AT = np.array([5])


def test_each_subscription_arrives_with_its_own_list():
    coming = Coming(
        lives=np.array([4, 7]),
        lows=np.array([-np.inf, 3.0]),
        highs=np.array([5.0, np.inf]),
        ks=np.array([1, 2], np.int32),
        counts=np.array([0, 2], np.int32),
        entries=np.array([1, 0], np.int32),
        keys=ByteStrings.pack([b"nobody", "ä".encode()]),
    )
    states = States(
        ByteStrings.pack([b"far", b"near"]),
        np.array([9.0, 3.5]),
        np.array([0.7, 0.2]),
    )
    record = ZoneRecord(
        0, 1, -np.inf, np.inf, 1, 1, 12, AT, AT, as_of=11, coming=coming, states=states
    )
    assert list(messages.decode(messages.encode(record)).arrivals()) == [
        Arrival(4, "nobody", -np.inf, 5.0, 1, []),
        Arrival(7, "ä", 3.0, np.inf, 2, [("near", 3.5, 0.2), ("far", 9.0, 0.7)]),
    ]


def test_a_record_without_any_has_no_arrivals():
    record = ZoneRecord(0, 1, -np.inf, np.inf, 1, 1, 12, AT, AT)
    assert list(messages.decode(messages.encode(record)).arrivals()) == []
