"""Kafka clients of the command line: quiet, and with one clear line when nobody answers.

librdkafka writes every failed attempt to stderr and reports a bare time-out; here its attempts are
kept, and the last one becomes the cause in our own message.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from configs import Kafka, kafka_client_config
from podium.terminal import Exit, Failure
from topics.kafka.creation import ANSWER_S, NO_ANSWER, BrokerUnreachable

QUIET = logging.getLogger("podium.librdkafka")
REMEDY = "start a local stack with `podium up`, or name the broker: --brokers HOST:PORT"


class KafkaClients:
    """Makes clients for one cluster and remembers what went wrong with their connections."""

    def __init__(self, kafka: Kafka) -> None:
        self.brokers = kafka.brokers
        self._config = kafka_client_config(kafka)
        self._last_error: str | None = None
        if not QUIET.handlers:
            QUIET.addHandler(logging.NullHandler())
            QUIET.propagate = False

    def admin(self) -> AdminClient:
        return self._made(AdminClient, {})

    def producer(self, options: Mapping[str, Any]) -> Producer:
        return self._made(Producer, options)

    def consumer(self, options: Mapping[str, Any]) -> Consumer:
        return self._made(Consumer, options)

    def _made(self, client: Any, options: Mapping[str, Any]) -> Any:
        try:
            return client({**self._config, "error_cb": self._remember, **options}, logger=QUIET)
        except (KafkaException, ValueError) as error:
            raise Failure(f"the kafka settings are not usable: {error}", "", Exit.USAGE) from error

    def _remember(self, error: KafkaError) -> None:
        if error.code() != KafkaError._ALL_BROKERS_DOWN:  # says less than the error before it
            self._last_error = error.str()

    def require_topics(self, names: Iterable[str], remedy: str) -> dict[str, int]:
        """Their partitions; a `Failure` unless all exist.  No topic is created by asking."""
        admin = self.admin()
        with self.reaching(admin):
            existing = admin.list_topics(timeout=ANSWER_S).topics
        wanted = list(names)
        missing = [name for name in wanted if name not in existing]
        if missing:
            found = f"{', '.join(missing)} not found at {self.brokers}"
            raise Failure(f"topic {found}", f"create what is missing: {remedy}")
        return {name: len(existing[name].partitions) for name in wanted}

    @contextmanager
    def reaching(self, client: Any) -> Iterator[None]:
        """Turn a broker that does not answer, or says no, into a `Failure` that says why."""
        try:
            yield
        except (BrokerUnreachable, KafkaException) as error:
            if isinstance(error, KafkaException) and error.args[0].code() not in NO_ANSWER:
                reason = error.args[0].str()
                raise Failure(f"Kafka at {self.brokers} refuses: {reason}") from error
            client.poll(0)  # delivers what `_remember` waits for
            cause = self._last_error or str(error)
            raise Failure(
                f"Kafka does not answer at {self.brokers}: {cause}", REMEDY, Exit.UNREACHABLE
            ) from error
