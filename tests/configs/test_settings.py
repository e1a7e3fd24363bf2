import pytest
from pydantic import ValidationError

from configs import (
    ConfigError,
    Http,
    Kafka,
    Settings,
    Snapshots,
    load_settings,
    load_with_origins,
)


def problems(load):
    with pytest.raises(ConfigError) as caught:
        load()
    return {problem.path or problem.source: problem.message for problem in caught.value.problems}


def test_without_any_source_the_defaults_hold():
    settings = load_settings()
    assert settings == Settings()
    assert settings.kafka.brokers == "localhost:9092"
    assert settings.redis.url.get_secret_value() == "redis://localhost:6379/0"


def test_flags_win_over_the_environment_which_wins_over_the_file(write, monkeypatch):
    write("kafka: {brokers: 'file:1', replication: 3}\nhttp: {port: 1}\nprefix: file\n")
    monkeypatch.setenv("PODIUM_KAFKA__BROKERS", "environment:2")
    monkeypatch.setenv("PODIUM_HTTP__PORT", "2")
    settings = load_settings(overrides={"kafka.brokers": "flag:3"})
    assert settings.kafka == Kafka(brokers="flag:3", replication=3)
    assert settings.http == Http(port=2)
    assert settings.prefix == "file"


def test_overrides_may_be_nested_and_a_flag_that_was_not_given_is_none():
    settings = load_settings(overrides={"kafka": {"brokers": "flag:3"}, "http.port": None})
    assert settings.kafka.brokers == "flag:3"
    assert settings.http.port == 0


def test_settings_themselves_read_no_environment(monkeypatch):
    monkeypatch.setenv("PODIUM_PREFIX", "other")
    assert Settings().prefix == "podium"
    assert load_settings().prefix == "other"


def test_settings_are_frozen():
    settings = load_settings()
    for change in (
        lambda: setattr(settings, "prefix", "x"),
        lambda: setattr(settings.kafka, "brokers", "x:1"),
    ):
        with pytest.raises(ValidationError, match="frozen"):
            change()


def test_all_problems_of_a_file_are_reported_at_once_with_their_paths(write):
    file = write(
        "kafka:\n"
        "  brokers: 9092\n"
        "  replicas: 3\n"
        "  security: tls\n"
        "redis: {timeout_s: 0}\n"
        "router: {linger_min_ms: 30, frame_events: many}\n"
        "http: {port: yes}\n"
        "colections: x\n"
    )
    with pytest.raises(ConfigError) as caught:
        load_settings(file)
    found = {(p.source, p.path): p.message for p in caught.value.problems}
    assert found == {
        (f"{file}:2", "kafka.brokers"): "got 9092, expected host:port[,host:port…]",
        (f"{file}:3", "kafka.replicas"): "unknown key; did you mean `replication`?",
        (f"{file}:4", "kafka.security"): (
            "got 'tls', expected 'plaintext', 'ssl', 'sasl_plaintext' or 'sasl_ssl'"
        ),
        (f"{file}:5", "redis.timeout_s"): "got 0, expected a number above 0.0",
        (f"{file}:6", "router.linger_max_ms"): "got 20.0, expected linger_min_ms (30.0) or more",
        (f"{file}:6", "router.frame_events"): "got 'many', expected a whole number",
        (f"{file}:7", "http.port"): "got True, expected a number",
        (f"{file}:8", "colections"): "unknown key; did you mean `collections`?",
    }
    assert str(caught.value).count("\n") == 7


def test_problems_of_file_environment_and_flags_come_together(write, monkeypatch):
    write("prefix: ''\n")
    monkeypatch.setenv("PODIUM_ROUTER__POLL_EVENTS", "none")
    monkeypatch.setenv("PODIUM_KAKFA__BROKERS", "x:1")
    with pytest.raises(ConfigError) as caught:
        load_settings(overrides={"kafka.brokers": "nowhere"})
    sources = {problem.source for problem in caught.value.problems}
    assert sources == {
        "podium.yaml:1",
        "PODIUM_ROUTER__POLL_EVENTS",
        "PODIUM_KAKFA__BROKERS",
        "command line",
    }


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        pytest.param("PODIUM_KAFKA__BROKRES", "did you mean `brokers`?", id="misspelt-key"),
        pytest.param("PODIUM_KAKFA__BROKERS", "did you mean `kafka`?", id="misspelt-group"),
        pytest.param("PODIUM_KAFKA_BROKERS", "mean PODIUM_KAFKA__BROKERS?", id="one-underscore"),
        pytest.param("PODIUM_VERBOSE", "known here: collections", id="unheard-of"),
        pytest.param("PODIUM_PREFIX__X", "unknown variable", id="below-a-single-value"),
        pytest.param("podium_prefx", "did you mean `prefix`?", id="lower-case"),
    ],
)
def test_a_misspelt_variable_is_refused(monkeypatch, name, hint):
    monkeypatch.setenv(name, "x:1")
    with pytest.raises(ConfigError) as caught:
        load_settings()
    (problem,) = caught.value.problems
    assert problem.source == name
    assert hint in problem.message


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PODIUM_FOLDER", "/somewhere"),
        ("PODIUM_TEST_BROKERS", "x:1"),
        ("PODIUM_KAFKA__BROKERS", ""),
        ("PODIUM_ROUTER_SERVICE_HOST", "10.0.0.1"),
        ("PODIUM_ROUTER_SERVICE_PORT_HTTP", "80"),
        ("PODIUM_ROUTER_PORT_80_TCP_ADDR", "10.0.0.1"),
        ("PODIUM_ROUTER_PORT", "tcp://10.0.0.1:80"),
        ("PODIUM_PORT", "tcp://10.0.0.1:80"),
    ],
)
def test_variables_that_are_no_settings_are_left_alone(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    assert load_settings() == Settings()


def test_the_file_is_looked_for_in_the_documented_order(write, monkeypatch):
    assert load_with_origins().file is None
    stack = write("prefix: stack", ".podium/podium.yaml")
    assert load_settings().prefix == "stack"
    write("prefix: here")
    assert load_settings().prefix == "here"
    monkeypatch.setenv("PODIUM_CONFIG", str(write("prefix: variable", "variable.yaml")))
    assert load_settings().prefix == "variable"
    assert load_settings(stack).prefix == "stack"


def test_a_file_that_was_named_must_exist(monkeypatch):
    monkeypatch.setenv("PODIUM_CONFIG", "nowhere.yaml")
    assert problems(load_settings) == {"nowhere.yaml": "there is no such file"}


def test_every_value_knows_its_source(write, monkeypatch):
    write("kafka:\n  replication: 3\n")
    monkeypatch.setenv("PODIUM_HTTP__PORT", "2")
    given = load_with_origins(overrides={"kafka.brokers": "flag:3"}).given
    assert {".".join(path): entry.source for path, entry in given.items()} == {
        "kafka.replication": "podium.yaml:2",
        "http.port": "PODIUM_HTTP__PORT",
        "kafka.brokers": "command line",
    }


def test_a_group_may_be_left_empty(write):
    write("kafka:\nredis: {}\n")
    assert load_settings() == Settings()


def test_a_group_that_is_no_group_is_named(write):
    write("kafka: localhost:9092\n")
    expected = "got 'localhost:9092', expected a group of `key: value` lines"
    assert problems(load_settings) == {"kafka": expected}


def test_sasl_needs_a_mechanism_a_user_and_a_password(write):
    write("kafka: {security: sasl_ssl}")
    assert problems(load_settings) == {
        f"kafka.{name}": "is missing; security sasl_ssl needs it"
        for name in ("sasl_mechanism", "username", "password")
    }


def test_credentials_without_a_protocol_that_uses_them_are_refused(write):
    write("kafka: {username: app, ca_file: ca.pem, security: plaintext}")
    write("", "ca.pem")
    found = problems(load_settings)
    assert set(found) == {"kafka.username", "kafka.ca_file"}
    assert "is not used with security plaintext" in found["kafka.username"]


def test_a_certificate_and_its_key_come_together(write):
    write("", "cert.pem")
    write("kafka: {security: ssl, cert_file: cert.pem}")
    assert "go together" in problems(load_settings)["kafka.key_file"]


def test_files_are_relative_to_the_settings_file_and_must_exist(write, tmp_path):
    write("", "etc/ca.pem")
    (tmp_path / "etc/kinds").mkdir()
    text = "kafka: {security: ssl, ca_file: ca.pem}\ncollections: kinds\n"
    file = write(text, "etc/podium.yaml")
    assert load_settings(file).kafka.ca_file == tmp_path / "etc/ca.pem"
    assert load_settings(file).collections == tmp_path / "etc/kinds"
    (tmp_path / "etc/ca.pem").unlink()
    assert "expected an existing file" in problems(lambda: load_settings(file))["kafka.ca_file"]


SECRETS = (
    "kafka: {security: sasl_ssl, sasl_mechanism: PLAIN, username: app, password: hunter2}\n"
    "redis: {url: 'redis://cache:hunter2@localhost:6379/0?password=hunter2'}\n"
)


def test_secrets_are_nowhere_to_be_seen(write):
    write(SECRETS)
    settings = load_settings()
    shown = [repr(settings), str(settings), str(settings.redis.url), settings.model_dump_json()]
    assert not [text for text in shown if "hunter2" in text]
    assert str(settings.redis.url) == "redis://cache:***@localhost:6379/0?password=***"
    assert settings.kafka.password.get_secret_value() == "hunter2"
    assert "hunter2" in settings.redis.url.get_secret_value()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("kafka: {password: 4242}", id="a-number"),
        pytest.param("kafka: {pasword: '4242'}", id="misspelt"),
        pytest.param("kafka: {password: [4242]}", id="a-list"),
        pytest.param("kafka: {password: '4242'}", id="not-used"),
        pytest.param("redis: {url: 'http://:4242@localhost'}", id="foreign-scheme"),
        pytest.param("redis: {url: 'redis://:4242@localhost:port'}", id="bad-port"),
        pytest.param("redis: {url: 'app:4242@localhost'}", id="no-scheme"),
        pytest.param("redis: {password: 4242}", id="unknown"),
        pytest.param("kafka: {password: '4242'\nprefix: x", id="broken-yaml"),
    ],
)
def test_a_refusal_does_not_tell_the_secret(write, text):
    write(text)
    with pytest.raises(ConfigError) as caught:
        load_settings()
    assert "4242" not in str(caught.value)


SASL = "kafka: {security: sasl_ssl, sasl_mechanism: PLAIN, username: app}\n"


class TestASecretInAFile:
    def test_its_variable_names_the_file(self, write, monkeypatch, tmp_path):
        write(SASL)
        (tmp_path / "password").write_text("hunter2\n")
        (tmp_path / "url").write_text("redis://:hunter2@cache:6379/0")
        monkeypatch.setenv("PODIUM_KAFKA__PASSWORD_FILE", str(tmp_path / "password"))
        monkeypatch.setenv("PODIUM_REDIS__URL_FILE", str(tmp_path / "url"))
        loaded = load_with_origins()
        assert loaded.settings.kafka.password.get_secret_value() == "hunter2"
        assert "hunter2" in loaded.settings.redis.url.get_secret_value()
        assert "PODIUM_KAFKA__PASSWORD_FILE" in loaded.given["kafka", "password"].source

    def test_both_variables_are_refused(self, write, monkeypatch, tmp_path):
        write(SASL)
        monkeypatch.setenv("PODIUM_KAFKA__PASSWORD", "4242")
        monkeypatch.setenv("PODIUM_KAFKA__PASSWORD_FILE", str(tmp_path / "password"))
        with pytest.raises(ConfigError, match="expected one of both") as caught:
            load_settings()
        assert "4242" not in str(caught.value)

    def test_a_file_that_is_not_there_is_named(self, write, monkeypatch):
        write(SASL)
        monkeypatch.setenv("PODIUM_KAFKA__PASSWORD_FILE", "/nowhere/password")
        with pytest.raises(ConfigError, match="/nowhere/password cannot be read: No such file"):
            load_settings()

    def test_settings_that_are_no_secrets_have_no_such_variable(self, monkeypatch):
        monkeypatch.setenv("PODIUM_KAFKA__BROKERS_FILE", "/nowhere")
        with pytest.raises(ConfigError, match="unknown variable"):
            load_settings()


@pytest.mark.parametrize("value", ["localhost", "localhost:", ":9092", "a:1,,b:2", "a:70000", ""])
def test_brokers_that_are_no_host_and_port_are_refused(value):
    found = problems(lambda: load_settings(overrides={"kafka.brokers": value}))
    assert found == {"kafka.brokers": f"got {value!r}, expected host:port[,host:port…]"}


@pytest.mark.parametrize("value", ["a:1, b-2.example:9092", "[::1]:9092", "10.0.0.1:9092"])
def test_brokers_are_taken_without_their_blanks(value):
    settings = load_settings(overrides={"kafka.brokers": value})
    assert settings.kafka.brokers == value.replace(" ", "")


@pytest.mark.parametrize("number", [".nan", ".inf"])
def test_numbers_are_finite(write, number):
    write(f"router: {{linger_max_ms: {number}}}")
    assert "finite" in problems(load_settings)["router.linger_max_ms"]


def test_snapshots_are_on_and_can_be_switched_off(write, monkeypatch):
    assert load_settings().snapshots == Snapshots(enabled=True, every_s=300)
    monkeypatch.setenv("PODIUM_SNAPSHOTS__ENABLED", "false")
    write("snapshots: {every_s: 5, least_changes: 0, chunk_bytes: 65536}\n")
    assert load_settings().snapshots == Snapshots(
        enabled=False, every_s=5, least_changes=0, chunk_bytes=64 * 1024
    )


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("enabled", "perhaps", "true or false"),
        ("every_s", "0", "a number above 0.0"),
        ("every_s", "yes", "a number"),
        ("least_changes", "-1", "0 or more"),
        ("chunk_bytes", "1000", "65536 or more"),
        ("chunk_bytes", "600_000_000", "67108864 or less"),  # Redis takes at most 512 MB
        ("keep_old_s", "0.5", "1.0 or more"),
        ("timeout_s", "0", "a number above 0.0"),
    ],
)
def test_snapshot_settings_that_cannot_work_are_refused(write, field, value, expected):
    write(f"snapshots: {{{field}: {value}}}")
    found = problems(load_settings)
    assert list(found) == [f"snapshots.{field}"]
    assert found[f"snapshots.{field}"].endswith(f"expected {expected}")


def test_a_group_as_one_variable_must_be_json(monkeypatch):
    monkeypatch.setenv("PODIUM_KAFKA", '{"brokers": "json:1"}')
    assert load_settings().kafka.brokers == "json:1"
    monkeypatch.setenv("PODIUM_KAFKA", "json:1")
    assert "expected JSON" in problems(load_settings)["environment"]


@pytest.mark.parametrize(("session_s", "heartbeat_s"), [(6, 1.5), (10, 2.5), (90, 3.0)])
def test_a_long_session_does_not_make_heartbeats_rare(session_s, heartbeat_s):
    assert Settings(matcher={"session_timeout_s": session_s}).matcher.heartbeat_s == heartbeat_s
