from pathlib import Path

from confluent_kafka.admin import AdminClient

from configs import Kafka, kafka_client_config


def test_only_what_is_set_is_passed_on():
    assert kafka_client_config(Kafka(brokers="a:1,b:2")) == {
        "bootstrap.servers": "a:1,b:2",
        "security.protocol": "plaintext",
    }


def test_credentials_reach_the_client_in_words_that_it_takes(tmp_path):
    ca = Path(tmp_path, "ca.pem")
    ca.write_text("")
    config = kafka_client_config(
        Kafka(
            security="sasl_ssl",
            sasl_mechanism="SCRAM-SHA-512",
            username="app",
            password="hunter2",
            ca_file=ca,
        )
    )
    assert config["sasl.password"] == "hunter2"
    assert config["ssl.ca.location"] == str(ca)
    # The certificate is read by the client at once, so leave that one out to see it take the rest.
    AdminClient({name: value for name, value in config.items() if not name.startswith("ssl")})
