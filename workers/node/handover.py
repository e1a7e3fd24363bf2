"""Events on their way: what routers have sent, and mergers have not written yet.

A node that takes over a partition of `events` from a router waits until matchers and mergers have
done their work.  If they do not run any more, it answers these events itself.
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping

from confluent_kafka import OFFSET_BEGINNING, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from topics import frames, partials
from topics.codecs.columns import unbundle
from topics.frames import FrameId
from workers.kinds import roles
from workers.merger.progress import MergeProgress
from workers.process.context import REPLY_S, Context
from workers.process.group_reader import understood
from workers.process.records import RecordReader

log = logging.getLogger(__name__)

_LOOK_EVERY_S = 0.5
_OTHERS_TAKE_S = 60.0
_MOST_RECORDS = 200  # at a time

# Who answers frames, by what they read.
_READERS = {
    role.name: role.reads for role in roles().values() if role.reads in ("frames", "partials")
}


def wait_for_others(context: Context, starts: Mapping[int, int]) -> dict[int, int]:
    """Where to go on, by partition of `events`; `starts` is what routers have committed."""
    admin, began = AdminClient(context.client), time.monotonic()
    while True:
        try:
            left = _left_over(context, admin, starts)
            is_over = left == starts or not _at_work(context, admin)
        except KafkaException as error:
            log.warning("what is on its way to shards is not known: %s", error.args[0].str())
            if context.stopping.wait(_LOOK_EVERY_S):
                raise
            continue
        if is_over or context.stopping.is_set() or time.monotonic() - began > _OTHERS_TAKE_S:
            break
        context.health.beat()
        context.stopping.wait(_LOOK_EVERY_S)
    if left != starts:
        listed = ", ".join(f"events[{p}]@{left[p]} to {starts[p] - 1}" for p in sorted(starts))
        log.warning("answering what matchers and mergers have left: %s", listed)
    return left


def _at_work(context: Context, admin: AdminClient) -> bool:
    """Whether there are both matchers and mergers, so that what is on its way arrives."""
    groups = [context.names.group(role) for role in _READERS]
    found = admin.describe_consumer_groups(groups, request_timeout=REPLY_S)
    return all(future.result().members for future in found.values())


def _left_over(context: Context, admin: AdminClient, starts: Mapping[int, int]) -> dict[int, int]:
    """From where on events are not all answered, by partition."""
    known = admin.list_topics(timeout=REPLY_S).topics
    names = {topic: context.names.topic(topic) for topic in _READERS.values()}
    if not set(names.values()) <= known.keys():
        return dict(starts)
    counts = {topic: len(known[name].partitions) for topic, name in names.items()}
    waiting = _first_on_their_way(context, counts)
    return {p: min(start, waiting.get(p, start)) for p, start in starts.items()}


def _first_on_their_way(context: Context, partitions: Mapping[str, int]) -> dict[int, int]:
    """The offset of the first event of frames that are not out, by partition of `events`."""
    out = _merged(context, partitions["partials"])
    first: dict[int, int] = {}
    for role, topic in _READERS.items():
        for record in _left(context, role, topic, partitions[topic]):
            for name, shards in _frames_of(topic, record):
                if not any(marks.has(name, shards) for marks in out):
                    at = first.get(name.partition, name.first)
                    first[name.partition] = min(at, name.first)
    return first


def _merged(context: Context, partitions: int) -> list[MergeProgress]:
    """What mergers have written, by what they have committed."""
    committed = _committed(context, "merger", "partials", partitions)
    return [MergeProgress.decode(place.metadata or "") for place in committed]


def _frames_of(topic: str, record: bytes) -> Iterator[tuple[FrameId, list[int]]]:
    """Names of the frames in a record, and which shards take part; nothing of strangers'."""
    decode: Callable = frames.decode if topic == "frames" else partials.decode
    try:
        for part in unbundle(record):
            found = decode(part)
            yield found.frame_id, found.taking_part.tolist()
    except Exception as error:  # it would be so each time, and matchers and mergers refuse it too
        log.warning("a record of %s is left out: %r", topic, error)


def _committed(context: Context, role: str, topic: str, partitions: int) -> list[TopicPartition]:
    """Where a role goes on; of a topic that is made anew since, at its beginning."""
    name = context.names.topic(topic)
    consumer = context.consumer(role)
    try:
        places = [TopicPartition(name, partition) for partition in range(partitions)]
        found = consumer.committed(places, timeout=REPLY_S)
    finally:
        consumer.close()
    topic_id = context.topic_id(name)
    return [understood(place, topic_id) for place in found]


def _left(context: Context, role: str, topic: str, partitions: int) -> Iterator[bytes]:
    """Records between where a role goes on and the ends as they are now."""
    committed = _committed(context, role, topic, partitions)
    places = [
        TopicPartition(at.topic, at.partition, at.offset if at.offset >= 0 else OFFSET_BEGINNING)
        for at in committed
    ]
    consumer = context.consumer("scout", {"enable.partition.eof": True})
    try:
        reader = RecordReader(context, consumer, context.names.topic(topic))
        consumer.assign(places)
        unfinished = {place.partition for place in places}
        while unfinished and not context.stopping.is_set():
            batch = reader.read(0.1, _MOST_RECORDS, lambda: 0.0)
            for message in batch.records:
                yield message.value() or b""
            unfinished -= batch.ends.keys()
            context.health.beat()
    finally:
        consumer.close()
