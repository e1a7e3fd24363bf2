"""The stack as a library: real Kafka, Redis and worker processes."""

import json
import os
import signal
import socket
import stat
import sys
import textwrap
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest
import redis
import yaml
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from podium.stack import Stack, StackError
from podium.stack.errors import FolderInUse
from podium.stack.run import ports
from podium.stack.run.folder import StackFolder
from podium.stack.status.lag import group_lag
from tests.podium.processes import eventually, is_running

LARGEST_RECORD = 16 * 1024 * 1024


def pids(stack: Stack) -> dict[str, int]:
    return {process.name: process.pid for process in stack.processes()}


def python(code: str) -> list[str]:
    return [sys.executable, "-c", textwrap.dedent(code)]


SLEEPER = python("import time; time.sleep(1000)")
STUBBORN = python("""
    import signal, subprocess, sys, time
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
    print("grandchild", child.pid, flush=True)
    time.sleep(1000)
""")


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(tmp_path_factory.mktemp("stack")) as running:
        yield running


def create_topic(brokers: str, name: str, partitions: int = 1) -> None:
    admin = AdminClient({"bootstrap.servers": brokers})
    admin.create_topics([NewTopic(name, partitions, 1)])[name].result(10)


def records(brokers: str, topic: str, count: int) -> list[bytes]:
    consumer = Consumer({"bootstrap.servers": brokers, "group.id": "reader"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    try:
        return [message.value() for message in consumer.consume(count, timeout=20)]
    finally:
        consumer.close()


def test_a_record_of_16_mib_passes_through_the_broker(stack, unique_name):
    topic = unique_name("large")
    create_topic(stack.brokers, topic)
    value = os.urandom(LARGEST_RECORD)
    producer = Producer({"bootstrap.servers": stack.brokers, "message.max.bytes": 2**25})
    producer.produce(topic, value)
    assert producer.flush(20) == 0
    assert records(stack.brokers, topic, 1) == [value]


def test_a_topic_is_not_created_by_asking_for_it(stack, unique_name):
    topic = unique_name("typo")
    told = AdminClient({"bootstrap.servers": stack.brokers}).list_topics(topic, timeout=10)
    assert told.topics[topic].error is not None
    assert topic not in AdminClient({"bootstrap.servers": stack.brokers}).list_topics().topics


def test_both_servers_listen_on_the_loopback_address_only(stack):
    for pid in pids(stack).values():
        listening = [c for c in psutil.Process(pid).net_connections() if c.status == "LISTEN"]
        assert listening
        assert {c.laddr.ip.removeprefix("::ffff:") for c in listening} == {"127.0.0.1"}


def test_the_log_of_the_broker_tells_what_happens_and_not_every_setting(stack):
    log = stack.folder.log_path("kafka").read_text()
    assert "Kafka Server started" in log
    assert "KafkaConfig values" not in log


def test_the_settings_file_names_both_addresses_and_is_private(stack):
    assert yaml.safe_load(stack.settings_path.read_text()) == {
        "kafka": {"brokers": stack.brokers},
        "redis": {"url": stack.redis_url},
    }
    assert stat.S_IMODE(stack.settings_path.stat().st_mode) == 0o600


def test_a_second_stack_in_the_same_folder_is_refused_with_the_pid_of_the_first(stack):
    with pytest.raises(FolderInUse, match=rf"pid {os.getpid()}.*podium down") as refused:
        Stack(stack.folder.path).start()
    assert refused.value.exit_code == 2
    assert redis.Redis.from_url(stack.redis_url).ping()


def test_the_record_survives_writers_at_the_same_moment(stack):
    with ThreadPoolExecutor(8) as threads:
        for written in [threads.submit(stack.mark_ready) for _ in range(400)]:
            written.result()
    assert stack.folder.read().state == "ready"


def test_two_stacks_live_and_die_independently(stack, stack_folder):
    with Stack(stack_folder) as other:
        other.start_worker("worker", SLEEPER)
        assert {stack.brokers, stack.redis_url}.isdisjoint({other.brokers, other.redis_url})
        create_topic(other.brokers, "early")
        # The first question about any group, before the broker has loaded its offsets.
        assert group_lag({"bootstrap.servers": other.brokers}, "unheard-of") == {}
        redis.Redis.from_url(other.redis_url).set("whose", "other")
        assert redis.Redis.from_url(stack.redis_url).get("whose") is None
        others = pids(other)
        os.kill(others["kafka"], signal.SIGKILL)  # nothing can go on without it
        eventually(lambda: not any(map(is_running, others.values())), timeout_s=30)
        with pytest.raises(StackError, match=r"kafka \(pid \d+\) ended: killed by SIGKILL"):
            other.check()
    assert other.folder.read().state == "failed"
    assert "SIGKILL" in other.folder.read().error
    stack.check()
    assert all(map(is_running, pids(stack).values()))


def test_a_worker_that_dies_is_restarted_and_its_log_says_so(stack):
    stack.start_worker("mortal", SLEEPER)
    first = pids(stack)["mortal"]
    os.kill(first, signal.SIGKILL)
    eventually(lambda: pids(stack)["mortal"] != first)
    assert is_running(pids(stack)["mortal"])
    (record,) = (process for process in stack.processes() if process.name == "mortal")
    assert record.restarts == 1
    log = stack.folder.log_path("mortal").read_text()
    assert log.count(" start ---") == 2
    assert "ended (killed by SIGKILL); starts again in 1 s" in log
    stack.stop_worker("mortal")


def test_the_delay_grows_while_a_worker_keeps_dying(stack):
    stack.start_worker("failing", python("raise SystemExit('no such topic')"))
    with pytest.raises(StackError, match=r"failing died 3 times(.|\n)*no such topic"):
        stack.wait_worker("failing", lambda: False, timeout_s=15)
    log = stack.folder.log_path("failing").read_text()
    assert [f"again in {delay} s" in log for delay in (1, 2, 4)] == [True, True, True]
    stack.stop_worker("failing")
    assert "failing" not in pids(stack)


def test_a_killed_worker_stays_dead_when_the_test_wants_it_so(stack):
    stack.start_worker("victim", SLEEPER)
    first = pids(stack)["victim"]
    stack.kill_worker("victim", restart=False)
    assert not is_running(first)
    eventually(lambda: "victim" in pids(stack) and not stack.processes()[-1].alive())
    time.sleep(1.5)  # longer than the first delay
    assert pids(stack)["victim"] == first
    stack.start_worker("victim", SLEEPER)
    assert is_running(pids(stack)["victim"])
    stack.stop_worker("victim")


def test_stopping_a_worker_kills_what_ignores_the_request(stack, monkeypatch):
    monkeypatch.setattr("podium.stack.run.supervisor.WORKER_GRACE_S", 0.5)
    stack.start_worker("stubborn", STUBBORN)
    log = stack.folder.log_path("stubborn")
    eventually(lambda: "grandchild" in log.read_text())
    leader, grandchild = pids(stack)["stubborn"], int(log.read_text().split()[-1])
    stack.stop_worker("stubborn")
    assert not is_running(leader)
    eventually(lambda: not is_running(grandchild))  # nobody waits for it but init


def test_workers_of_a_dead_broker_are_not_waited_for(stack_folder, monkeypatch):
    """They would wait for its answers; Redis is stopped as ever."""
    monkeypatch.setattr("podium.stack.run.supervisor.WORKER_GRACE_S", 90)
    with Stack(stack_folder) as stack:
        stack.start_worker("stubborn", STUBBORN)
        eventually(lambda: "grandchild" in stack.folder.log_path("stubborn").read_text())
        everyone = pids(stack)
        os.kill(everyone["kafka"], signal.SIGKILL)
        eventually(lambda: not any(map(is_running, everyone.values())), timeout_s=45)
        with pytest.raises(StackError, match=r"kafka \(pid \d+\) ended: killed by SIGKILL"):
            stack.check()


def test_a_worker_gets_the_environment_it_is_given(stack):
    code = "import os, time; print(os.environ['GREETING'], flush=True); time.sleep(1000)"
    stack.start_worker("greeter", python(code), env={"GREETING": "hello"})
    eventually(lambda: "hello" in stack.folder.log_path("greeter").read_text())
    stack.stop_worker("greeter")


def test_an_unknown_worker_is_named_and_a_server_is_no_worker(stack):
    with pytest.raises(KeyError, match="no worker 'nobody'"):
        stack.stop_worker("nobody")
    with pytest.raises(KeyError, match="no worker 'kafka'"):
        stack.kill_worker("kafka")


def test_a_guard_that_is_killed_is_replaced_and_knows_every_process(stack):
    before = StackFolder(stack.folder.path).read()
    os.kill(before.guard_pid, signal.SIGKILL)
    eventually(lambda: stack.folder.read().guard_pid != before.guard_pid)
    assert is_running(stack.folder.read().guard_pid)


def test_lag_is_what_lies_between_the_committed_offset_and_the_end(stack, unique_name):
    topic, group = unique_name("lag"), unique_name("group")
    create_topic(stack.brokers, topic, partitions=3)
    producer = Producer({"bootstrap.servers": stack.brokers})
    for partition, count in enumerate((10, 5, 7)):
        for number in range(count):
            producer.produce(topic, str(number), partition=partition)
    assert producer.flush(10) == 0
    config = {"bootstrap.servers": stack.brokers}
    assert group_lag(config, group) == {}
    consumer = Consumer(config | {"group.id": group})
    committed = [TopicPartition(topic, 0, 4), TopicPartition(topic, 1, 5)]
    consumer.commit(offsets=committed, asynchronous=False)
    consumer.close()
    lags = group_lag(config, group)
    assert lags == {TopicPartition(topic, 0): 6, TopicPartition(topic, 1): 0}


def test_data_survive_a_restart_and_addresses_too_while_their_ports_are_free(stack_folder):
    with Stack(stack_folder) as first:
        create_topic(first.brokers, "kept")
        producer = Producer({"bootstrap.servers": first.brokers})
        producer.produce("kept", b"a record")
        assert producer.flush(10) == 0
        redis.Redis.from_url(first.redis_url).set("snapshot", "bytes")
        addresses, running = (first.brokers, first.redis_url), pids(first)
        guard_pid = first.folder.read().guard_pid
    assert not any(map(is_running, [*running.values(), guard_pid]))
    assert json.loads((stack_folder / "stack.json").read_text())["state"] == "stopped"
    with Stack(stack_folder) as second:
        assert (second.brokers, second.redis_url) == addresses
        assert records(second.brokers, "kept", 1) == [b"a record"]
        assert redis.Redis.from_url(second.redis_url).get("snapshot") == b"bytes"
    taken = int(second.brokers.rpartition(":")[2])
    with socket.create_server((ports.HOST, taken)), Stack(stack_folder) as third:
        assert third.brokers != second.brokers
        assert yaml.safe_load(third.settings_path.read_text())["kafka"]["brokers"] == third.brokers
        assert records(third.brokers, "kept", 1) == [b"a record"]


def test_a_broker_that_cannot_start_shows_the_end_of_its_log(stack_folder):
    broken = Stack(stack_folder, broker_properties={"num.io.threads": "plenty"})
    with pytest.raises(StackError, match=r"last lines of .*kafka\.log(.|\n)*num\.io\.threads"):
        broken.start()
    assert broken.processes() == []
    assert StackFolder(stack_folder).holder() is None
