import io
import os
import sys
from typing import NamedTuple

import pytest
from confluent_kafka import Consumer, TopicPartition

from podium.cli import main


class Ended(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def podium(monkeypatch, capsys, tmp_path):
    """Runs `podium …` in this process, in an empty folder and without variables of ours."""
    for name in os.environ:
        if name.startswith("PODIUM_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)

    def run(*arguments, stdin=b""):
        monkeypatch.setattr(sys, "argv", ["podium", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = 0
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
        return Ended(code, *capsys.readouterr())

    return run


class Topics(NamedTuple):
    """A collection of its own on the session's broker."""

    file: str
    name: str
    brokers: str

    @property
    def options(self):
        return ("--collection", self.file, "--brokers", self.brokers)

    def topic(self, topic):
        return f"podium.{self.name}.{topic}"

    def read(self, topic):
        """Everything in a topic, partition by partition."""
        consumer = Consumer({"bootstrap.servers": self.brokers, "group.id": "tests"})
        name = self.topic(topic)
        messages = []
        for partition in consumer.list_topics(name, timeout=10).topics[name].partitions:
            _, end = consumer.get_watermark_offsets(TopicPartition(name, partition), timeout=10)
            consumer.assign([TopicPartition(name, partition, 0)])
            while end and (not messages or messages[-1].partition() != partition):
                messages += consumer.consume(end, timeout=1)
            while messages and messages[-1].partition() == partition:
                if messages[-1].offset() == end - 1:
                    break
                messages += consumer.consume(end, timeout=1)
        consumer.close()
        return messages


@pytest.fixture
def undeclared(broker, unique_name, tmp_path):
    """A collection whose topics do not exist."""
    name = unique_name("ads")
    file = tmp_path / f"{name}.yaml"
    file.write_text(f"name: {name}\nkind: ranked\nattributes: [age]\n")
    return Topics(str(file), name, broker)


@pytest.fixture
def topics(undeclared, podium):
    ended = podium("topics", "create", *undeclared.options)
    assert ended.code == 0, ended.err
    return undeclared


@pytest.fixture
def parking(broker, unique_name, tmp_path, podium):
    """A collection of lists, without workers."""
    name = unique_name("parking")
    file = tmp_path / f"{name}.yaml"
    file.write_text(f"name: {name}\nkind: range_topk\nk: 5\n")
    declared = Topics(str(file), name, broker)
    ended = podium("topics", "create", *declared.options)
    assert ended.code == 0, ended.err
    return declared
