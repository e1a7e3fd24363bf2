"""A Faust app set up the way this fleet needs it."""

import ssl
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import faust
from aiokafka.consumer import fetcher
from faust import streams as faust_streams
from faust.assignor.partition_assignor import PartitionAssignor
from faust.types import AppT

from configs.settings import Kafka
from topics.headers import UNREADABLE
from topics.limits import FRAME_BYTES
from workers.process.context import Context

_REQUEST_TIMEOUT_S = 90.0


class _ReadableBatch:
    """A batch of records, of which those that cannot be read are one without a value.

    What is wrong with a record, such as the name of a header that is not UTF-8, aiokafka notices
    while it goes through its batch, and raises each time: the partition would be stuck for good.
    """

    def __init__(self, batch: Any) -> None:
        self._batch = batch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batch, name)

    def __next__(self) -> Any:
        return next(self._batch)

    def __iter__(self) -> Iterator[Any]:
        following = self._batch.base_offset
        try:
            for record in self._batch:
                yield record
                following = record.offset + 1
        except Exception as error:
            last = self._batch.next_offset - 1
            why = f"records {following} to {last} cannot be read ({error!r})"
            yield SimpleNamespace(
                offset=last,
                timestamp=self._batch.max_timestamp,
                timestamp_type=self._batch.timestamp_type,
                key=None,
                value=None,
                headers=[(UNREADABLE, why.encode())],
                checksum=None,
            )


class _ReadableRecords:
    """Of one partition, as they were fetched."""

    def __init__(self, records: Any) -> None:
        self._records = records
        self.has_next = records.has_next

    def next_batch(self) -> _ReadableBatch:
        return _ReadableBatch(self._records.next_batch())


class PartitionRecords(fetcher.PartitionRecords):
    def __init__(self, tp: Any, records: Any, *given: Any) -> None:
        super().__init__(tp, _ReadableRecords(records), *given)


fetcher.PartitionRecords = PartitionRecords  # aiokafka has no other way to say which


class Assignor(PartitionAssignor):
    """Faust's own, which leaves shards where they are as far as it can, without standbys.

    Those are of tables, and there are none.  With them it also leaves a worker without any shard
    as long as no other has more than its share: a third one beside two that have two each.
    (`table_standby_replicas=0` would not do: without tables Faust then takes another assignor,
    which deals all shards anew in every rebalance.)
    """

    def __init__(self, app: AppT, replicas: int = 0) -> None:
        super().__init__(app, replicas=0)


class App(faust.App):
    def _create_directories(self) -> None:
        """None: there are no tables, and Faust would put its folders where the worker starts."""


def create_app(context: Context) -> faust.App:
    settings = context.settings
    return App(
        context.names.group(context.role),
        broker=[f"kafka://{address}" for address in settings.kafka.brokers.split(",")],
        broker_credentials=_credentials(settings.kafka),
        # No tables: Kafka holds the state, the feed restores it.
        store="memory://",
        PartitionAssignor=Assignor,
        autodiscover=False,
        topic_allow_declare=False,
        topic_disable_leader=True,
        processing_guarantee="at_least_once",
        value_serializer="raw",
        key_serializer="raw",
        consumer_auto_offset_reset="earliest",
        consumer_max_fetch_size=FRAME_BYTES,
        consumer_group_instance_id=settings.matcher.instance_id,
        broker_session_timeout=settings.matcher.session_timeout_s,
        broker_heartbeat_interval=settings.matcher.heartbeat_s,
        # Faust would not start with less than the session's.
        broker_request_timeout=max(_REQUEST_TIMEOUT_S, settings.matcher.session_timeout_s),
        broker_commit_interval=1.0,
        # A frame in hand may wait for a restore; it is answered by the shard's next owner instead.
        stream_wait_empty=False,
        producer_acks=-1,
        # aiokafka's lz4 takes longer than answering the frame.
        producer_compression_type=None,
        producer_linger=0,
        producer_max_request_size=FRAME_BYTES,
        web_enabled=False,
    )


def _credentials(kafka: Kafka) -> Any:
    if kafka.security == "plaintext":
        return None
    context = _ssl_context(kafka) if kafka.security.endswith("ssl") else None
    if kafka.security == "ssl":
        return faust.SSLCredentials(context)
    return faust.SASLCredentials(
        username=kafka.username,
        password=kafka.password.get_secret_value() if kafka.password else None,
        ssl_context=context,
        mechanism=kafka.sasl_mechanism,
    )


def _ssl_context(kafka: Kafka) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=kafka.ca_file)
    if kafka.cert_file:
        context.load_cert_chain(kafka.cert_file, kafka.key_file)
    return context


def require_compiled_streams() -> None:
    if faust_streams._CStreamIterator is None:
        # Without it Faust acknowledges records that it skips during a rebalance, undone.
        raise RuntimeError(
            "Faust's compiled stream iterator is missing; install faust-streaming from a wheel"
        )


def run_app(app: faust.App, context: Context) -> int:
    """Run until TERM, Ctrl-C or a crash; the exit code."""
    worker = faust.Worker(
        app, quiet=True, loglevel="WARN", override_logging=False, redirect_stdouts=False
    )
    worker.spinner = None  # it writes terminal codes into log files
    context.health.ready(context.role)
    try:
        worker.execute_from_commandline()
    except SystemExit as exit:
        return int(exit.code or 0)
    return 0
