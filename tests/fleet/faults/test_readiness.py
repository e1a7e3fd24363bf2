"""A fleet that was started before everything it needs, and says what it waits for.

Its broker wants a password, and so does its Redis: neither may be seen in a log.  The fixture
`story` walks through the stages once and notes what the workers said at each; the tests look at
the notes.
"""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
import redis

from podium.stack.run import ports
from podium.stack.run.broker import Broker
from podium.stack.run.child import Child
from podium.stack.run.redis_server import RedisServer
from podium.stack.run.supervisor import Supervised, Supervisor
from podium.stack.setup import tools
from podium.stack.setup.jars import ensure_jars
from tests.fleet.conftest import MakeFleet
from tests.fleet.fleet import ROLES, Fleet, Reply
from tests.fleet.traffic import Hits

KAFKA_PASSWORD = "kafka-hunter2"
REDIS_PASSWORD = "redis-hunter2"
WRONG_PASSWORD = "wrong-hunter2"

Stage = Mapping[str, Reply]  # what /readyz said, by role


class Story(NamedTuple):
    fleet: Fleet
    no_broker: Stage
    live: Stage  # /livez at that time
    no_topics: Stage
    no_redis: Reply  # of the matcher
    hits_without_redis: Hits
    wrong_passwords: Reply  # of a matcher that has a wrong one for Kafka and for Redis
    broker_gone: Stage
    live_without_broker: Stage
    seconds_gone: float
    lines_while_gone: Mapping[str, int]  # logged by each role
    hits_at_the_end: Hits
    logs: Mapping[str, str]


class SecuredBroker:
    """A broker whose listener at `address` asks for a password."""

    def __init__(self, supervisor: Supervisor, folder: Path) -> None:
        plain, secured, controller = ports.choose(3)
        self.address = f"{ports.HOST}:{secured}"
        listeners = f"PLAINTEXT://{ports.HOST}:{plain},SECURED://{self.address}"
        login = "org.apache.kafka.common.security.plain.PlainLoginModule required"
        self._broker = Broker(
            ensure_jars(print) / "kafka",
            folder,
            plain,
            controller,
            {
                "listeners": f"{listeners},CONTROLLER://{ports.HOST}:{controller}",
                "advertised.listeners": listeners,
                "listener.security.protocol.map": (
                    "PLAINTEXT:PLAINTEXT,SECURED:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT"
                ),
                "sasl.enabled.mechanisms": "PLAIN",
                "listener.name.secured.plain.sasl.jaas.config": (
                    f'{login} user_podium="{KAFKA_PASSWORD}";'
                ),
            },
        )
        self._supervisor, self._log_path = supervisor, folder / "kafka.log"
        self._name = f"secured-broker-{secured}"

    def start(self) -> None:
        java = tools.require("java")
        self._broker.write_properties()
        if not self._broker.formatted():
            format = Child(self._broker.format_argv(java), self._log_path, self._supervisor.link)
            format.wait(120)
            assert format.reap() == 0, self._log_path.read_text()
        # As a worker, because the end of a broker would be the end of the supervisor.
        argv = self._broker.argv(java)
        self._supervisor.spawn(Supervised(self._name, "worker", argv, self._log_path))
        self._supervisor.wait_ready(self._name, self._broker.ready, 120)

    def stop(self) -> None:
        self._supervisor.stop([self._name])


class SecuredRedis:
    def __init__(self, supervisor: Supervisor, folder: Path) -> None:
        (port,) = ports.choose(1)
        self._supervisor, self._folder = supervisor, folder
        self._server = RedisServer(folder, port)
        self._name = f"secured-redis-{port}"

    def url(self, password: str) -> str:
        return f"redis://:{password}@{ports.HOST}:{self._server.port}/0"

    def start(self) -> None:
        server = self._server.argv(tools.require("redis-server"))
        argv = [*server, "--requirepass", REDIS_PASSWORD]
        log_path = self._folder / "redis.log"
        self._supervisor.spawn(Supervised(self._name, "worker", argv, log_path))
        self._supervisor.wait_ready(self._name, self._answers, 30)

    def _answers(self) -> bool:
        with redis.Redis.from_url(self.url(REDIS_PASSWORD)) as client:
            try:
                return bool(client.ping())
            except redis.ConnectionError:
                return False

    def stop(self) -> None:
        self._supervisor.stop([self._name])


def account(password: str) -> dict[str, dict[str, str]]:
    name = {"username": "podium", "password": password}
    return {"kafka": {"security": "sasl_plaintext", "sasl_mechanism": "PLAIN", **name}}


@pytest.fixture(scope="module")
def story(
    supervisor: Supervisor, make_fleet: MakeFleet, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Story]:
    broker = SecuredBroker(supervisor, tmp_path_factory.mktemp("secured-broker"))
    cache = SecuredRedis(supervisor, tmp_path_factory.mktemp("secured-redis"))
    fleet = make_fleet(
        "early", broker.address, cache.url(REDIS_PASSWORD), settings=account(KAFKA_PASSWORD)
    )
    stranger = make_fleet(
        "stranger", broker.address, cache.url(WRONG_PASSWORD), settings=account(WRONG_PASSWORD)
    )

    def refused_by_all(part: str, *texts: str) -> Stage:
        return {role: fleet.wait_reason(role, part, *texts) for role in ROLES}

    def live() -> Stage:
        return {role: reply for role in ROLES if (reply := fleet.get(role, "/livez"))}

    def lines() -> dict[str, int]:
        return {role: len(fleet.log(role).splitlines()) for role in ROLES}

    fleet.start(*ROLES)
    no_broker = refused_by_all("topics", broker.address)
    live_at_first = live()
    broker.start()
    no_topics = refused_by_all("topics", "missing")
    fleet.create_topics()
    fleet.wait_ready("router", "merger")
    hits_without_redis = without_redis(fleet)
    fleet.wait_ready("matcher")
    no_redis = fleet.wait_degraded("matcher", "redis", "no answer from")
    cache.start()
    stranger.start("matcher")
    stranger.wait_reason("matcher", "broker", broker.address)
    wrong_passwords = stranger.wait_degraded("matcher", "redis", "no answer from")
    stranger.terminate("matcher")
    before, gone_at = lines(), time.monotonic()
    broker.stop()
    broker_gone = refused_by_all("broker", broker.address)
    live_without_broker = live()
    broker.start()
    fleet.wait_ready(*ROLES)
    seconds_gone = time.monotonic() - gone_at
    lines_while_gone = {role: count - before[role] for role, count in lines().items()}
    hits_at_the_end = fleet.ask({"age": 6})
    fleet.check_all(repeats=True)
    yield Story(
        fleet,
        no_broker,
        live_at_first,
        no_topics,
        no_redis,
        hits_without_redis,
        wrong_passwords,
        broker_gone,
        live_without_broker,
        seconds_gone,
        lines_while_gone,
        hits_at_the_end,
        {role: fleet.log(role) for role in ROLES} | {"stranger": stranger.log("matcher")},
    )
    fleet.stop()
    broker.stop()
    cache.stop()


def without_redis(fleet: Fleet) -> Hits:
    """Answers of a matcher that has no Redis; the first is from an empty collection."""
    assert fleet.ask({"age": 5}) == []
    fleet.subscribe("a", {"age": [0, 9]}, 1)
    fleet.subscribe("b", {"age": [6, 9]}, 2)
    return fleet.ask({"age": 5})


def test_without_a_broker_a_worker_lives_and_says_that_nobody_answers(story: Story):
    for role in ROLES:
        assert story.live[role].status == 200
        assert story.no_broker[role].status == 503
        assert story.no_broker[role].body["ready"] is False
        reason = story.no_broker[role].body["reasons"]["topics"]
        assert f"no answer from {story.fleet.brokers}" in reason
        assert f"no answer from {story.fleet.brokers}" in story.logs[role]
        assert "trying again" in story.logs[role]


def test_without_topics_a_worker_says_which_and_how_to_make_them(story: Story):
    wanted = {
        "router": ["events", "frames", "subscriptions", "events.dlq"],
        "matcher": ["frames", "partials", "subscriptions", "subscriptions.dlq"],
        "merger": ["partials", "matches"],
    }
    command = f"podium topics create --collection {story.fleet.declared.name}"
    for role, topics in wanted.items():
        assert story.no_topics[role].status == 503
        reason = story.no_topics[role].body["reasons"]["topics"]
        assert all(story.fleet.topic(topic) in reason for topic in topics)
        assert command in reason
        assert command in story.logs[role]


def test_without_redis_the_matcher_answers_and_is_ready_and_says_what_it_does_without(
    story: Story,
):
    assert story.no_redis.status == 200
    assert story.no_redis.body["ready"] is True
    assert story.no_redis.body["reasons"] == {}
    assert list(story.no_redis.body["degraded"]) == ["redis"]
    assert "redis: no answer from" in story.logs["matcher"]
    assert story.hits_without_redis == [("a", 1.0)]


@pytest.mark.parametrize(
    ("kind", "part", "text"),
    [("reasons", "broker", "uthentication"), ("degraded", "redis", "password")],
)
def test_a_wrong_password_is_named_as_the_reason(story: Story, kind: str, part: str, text: str):
    assert text in story.wrong_passwords.body[kind][part]


def test_a_worker_outlives_its_broker_and_goes_on_when_it_is_back(story: Story):
    for role in ROLES:
        assert story.broker_gone[role].status == 503
        assert story.live_without_broker[role].status == 200
    assert story.hits_at_the_end == [("b", 2.0), ("a", 1.0)]
    story.fleet.check_that_none_has_died()


@pytest.mark.parametrize("role", ROLES)
def test_an_absent_broker_does_not_flood_the_log(story: Story, role: str):
    """It was away for about ten seconds; it could as well be a night."""
    assert story.lines_while_gone[role] <= 6 * max(story.seconds_gone, 10)


@pytest.mark.parametrize("role", [*ROLES, "stranger"])
def test_no_password_is_ever_logged(story: Story, role: str):
    assert story.logs[role]
    for password in (KAFKA_PASSWORD, REDIS_PASSWORD, WRONG_PASSWORD):
        assert password not in story.logs[role]


@pytest.mark.parametrize("role", [*ROLES, "stranger"])
def test_what_is_missing_is_told_in_lines_and_not_by_a_traceback(story: Story, role: str):
    assert "Traceback" not in story.logs[role]
