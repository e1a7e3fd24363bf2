import pytest

from configs import Kafka, kafka_client_config
from spark_streaming.kafka_options import executor_client, spark_kafka_options


def test_a_plain_broker_needs_its_address_only():
    assert spark_kafka_options(Kafka(brokers="a:1,b:2")) == {
        "kafka.bootstrap.servers": "a:1,b:2",
        "kafka.security.protocol": "PLAINTEXT",
        "kafka.isolation.level": "read_committed",
    }


def test_a_password_may_hold_quotes_and_backslashes():
    kafka = Kafka(
        security="sasl_plaintext", sasl_mechanism="SCRAM-SHA-512", username="u", password='a"b\\c'
    )
    options = spark_kafka_options(kafka)
    assert options["kafka.sasl.mechanism"] == "SCRAM-SHA-512"
    assert options["kafka.sasl.jaas.config"] == (
        "org.apache.kafka.common.security.scram.ScramLoginModule required"
        ' username="u" password="a\\"b\\\\c";'
    )


@pytest.fixture
def with_certificates(tmp_path):
    for name in ("ca", "cert", "key"):
        (tmp_path / name).write_text(f"-- {name} --")
    files = {f"{name}_file": tmp_path / name for name in ("ca", "cert", "key")}
    return Kafka(security="ssl", **files)


def test_certificates_travel_by_content(with_certificates):
    options = spark_kafka_options(with_certificates)
    assert options["kafka.ssl.truststore.certificates"] == "-- ca --"
    assert options["kafka.ssl.keystore.certificate.chain"] == "-- cert --"
    assert options["kafka.ssl.keystore.key"] == "-- key --"
    client = executor_client(kafka_client_config(with_certificates))
    assert client["ssl.ca.pem"] == "-- ca --"
    assert client["ssl.certificate.pem"] == "-- cert --"
    assert client["ssl.key.pem"] == "-- key --"
    assert not any("location" in name for name in client)
