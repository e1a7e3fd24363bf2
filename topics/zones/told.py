"""Where a painter goes on: what its predecessor said last to each zone.

The last record of a zone names the offsets up to which everything is told.  A painter brings its
world to the least of them in silence, and speaks from there on; what a zone has heard already, it
leaves alone.
"""

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaException, TopicPartition

from topics import messages
from topics.codecs.columns import CodecError
from topics.messages import ZoneRecord

_REPLY_S = 5.0
# Records of a zone, of which the last may be of a painter that did not know of its successor.
_LOOKED_BACK = 64


class Told(NamedTuple):
    last: ZoneRecord | None  # but for claims; None: there is none, or none that can be read
    is_new: bool  # nothing was ever said to the zone
    at_ms: int = 0  # when that was said


def last_told(
    consumer: Consumer, topic: str, zones: int, stopping: Callable[[], bool]
) -> list[Told] | None:
    """By zone; None if told to stop before the broker has answered."""
    found: list[Told] = []
    while len(found) < zones and not stopping():
        place = TopicPartition(topic, len(found))
        try:
            begin, end = consumer.get_watermark_offsets(place, timeout=_REPLY_S)
            found.append(_last(consumer, place, begin, end, stopping))
        except KafkaException:
            time.sleep(0.5)
    consumer.unassign()
    return found if len(found) == zones else None


def _last(
    consumer: Consumer, place: TopicPartition, begin: int, end: int, stopping: Callable[[], bool]
) -> Told:
    if begin == end:
        return Told(None, is_new=end == 0)
    first = max(begin, end - _LOOKED_BACK)
    consumer.assign([TopicPartition(place.topic, place.partition, first)])
    last, reached, epoch = Told(None, is_new=False), first, 0
    while reached < end and not stopping():
        message = consumer.poll(1.0)
        if message is None or message.error() is not None or message.partition() != place.partition:
            continue
        reached = message.offset() + 1
        try:
            record = messages.decode(message.value() or b"")
        except CodecError:
            last = Told(None, is_new=False)
            continue
        if record.epoch < epoch:
            continue  # what a painter says that another has replaced is heard by no zone
        epoch = record.epoch
        if record.phase != messages.CLAIM:
            last = Told(record, is_new=False, at_ms=message.timestamp()[1])
    return last


class Position(NamedTuple):
    """Next offsets: everything below is in."""

    objects: int
    subscriptions: list[int]  # by shard


def common_position(told: Sequence[ZoneRecord]) -> Position:
    """What all zones have heard."""
    shards = zip(*(record.positions.tolist() for record in told), strict=True)
    return Position(min(record.objects for record in told), [min(offsets) for offsets in shards])


def begun_batches(told: Sequence[ZoneRecord]) -> list[int]:
    """By shard, where the batch of subscriptions ends that the painter was at."""
    return [max(ends) for ends in zip(*(record.begun.tolist() for record in told), strict=True)]


def is_usable(
    told: Sequence[Told],
    world: int,
    slices: Sequence[tuple[float, float]] | None,
    since_ms: float = 0.0,
) -> Any:
    """Whether a painter of this world can go on where the zones are: `slices` are wanted ones.

    What was said last before `since_ms` is too old: of the logs, compaction may have taken what was
    told then and is overwritten since, so that the world of that time cannot be had again.
    """
    if any(one.at_ms < since_ms for one in told):
        return False
    records = [one.last for one in told]
    if any(one is None for one in records):
        return False
    found = [record for record in records if record is not None]
    fits = all(
        record.world == world
        and record.zones == len(told)
        and not record.more
        and record.phase in (0, messages.LAST)
        for record in found
    )
    there = [(record.low, record.high) for record in found]
    return fits and (slices is None or there == list(slices))


def fingerprint(
    topic_ids: Sequence[str], kind: str, k: int, epsilon: float | None, painter: str
) -> int:
    """Of what offsets and lists are of: another topic or another k makes them mean other things.

    So does another kind of painter: one that takes over from it has no world that was kept as of
    what was told, and topics may have been compacted since, so that it cannot build that either.
    """
    declared = [*topic_ids, kind, k, epsilon, painter]
    digest = hashlib.blake2b(json.dumps(declared).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")
