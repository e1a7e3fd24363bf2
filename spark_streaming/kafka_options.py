"""The `kafka` settings in the words of Spark's Kafka source.  Holds secrets: never log them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from configs.settings import Kafka

_LOGIN_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}

# Spark's source asks for the ends of a partition after every poll.  That drops what was fetched
# beyond it: with Kafka's 500 records a poll, a megabyte is fetched anew for each 500.  And it waits
# behind the fetch that the consumer has sent ahead, which the broker keeps for as long as it may
# where there is nothing more: half a second of every batch.
READING = {
    "includeHeaders": "true",
    "kafka.max.poll.records": "100000",
    "kafka.max.partition.fetch.bytes": str(4 * 1024 * 1024),
    "kafka.fetch.max.wait.ms": "5",
}
# Of what a job or a task sends: a batch that cannot be delivered fails, and is done again.
DELIVERY = {"message.timeout.ms": 300_000}


def spark_kafka_options(kafka: Kafka) -> dict[str, str]:
    """Certificates travel by content, so that executors need no files of ours."""
    options = {
        "kafka.bootstrap.servers": kafka.brokers,
        "kafka.security.protocol": kafka.security.upper(),
        # As the fleet's clients do: what a producer took back has never been there.
        "kafka.isolation.level": "read_committed",
    }
    if kafka.sasl_mechanism and kafka.username and kafka.password:
        options["kafka.sasl.mechanism"] = kafka.sasl_mechanism
        options["kafka.sasl.jaas.config"] = _jaas(
            kafka.sasl_mechanism, kafka.username, kafka.password.get_secret_value()
        )
    return options | _certificates(kafka)


def executor_client(client: Mapping[str, str]) -> dict[str, Any]:
    """Options of confluent-kafka, quiet, in which files are replaced by what is in them."""
    contents = {
        "ssl.ca.location": "ssl.ca.pem",
        "ssl.certificate.location": "ssl.certificate.pem",
        "ssl.key.location": "ssl.key.pem",
    }
    carried = {
        contents.get(name, name): Path(value).read_text() if name in contents else value
        for name, value in client.items()
    }
    return {**carried, "log_level": 3}  # its errors; what they mean for the job the job says


def _jaas(mechanism: str, username: str, password: str) -> str:
    user, secret = (text.replace("\\", "\\\\").replace('"', '\\"') for text in (username, password))
    return f'{_LOGIN_MODULES[mechanism]} required username="{user}" password="{secret}";'


def _certificates(kafka: Kafka) -> dict[str, str]:
    options = {}
    if kafka.ca_file:
        options["kafka.ssl.truststore.type"] = "PEM"
        options["kafka.ssl.truststore.certificates"] = kafka.ca_file.read_text()
    if kafka.cert_file and kafka.key_file:
        options["kafka.ssl.keystore.type"] = "PEM"
        options["kafka.ssl.keystore.certificate.chain"] = kafka.cert_file.read_text()
        options["kafka.ssl.keystore.key"] = kafka.key_file.read_text()
    return options
