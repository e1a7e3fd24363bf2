from typing import Any

from configs.settings import Kafka


def kafka_client_config(kafka: Kafka) -> dict[str, Any]:
    """`kafka` in the words of confluent-kafka.  Holds the password in clear: never log it."""
    options = {
        "bootstrap.servers": kafka.brokers,
        "security.protocol": kafka.security,
        "sasl.mechanism": kafka.sasl_mechanism,
        "sasl.username": kafka.username,
        "sasl.password": kafka.password.get_secret_value() if kafka.password else None,
        "ssl.ca.location": kafka.ca_file and str(kafka.ca_file),
        "ssl.certificate.location": kafka.cert_file and str(kafka.cert_file),
        "ssl.key.location": kafka.key_file and str(kafka.key_file),
    }
    return {name: value for name, value in options.items() if value is not None}
