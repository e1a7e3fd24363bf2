"""One Kafka broker that is its own controller (KRaft), and what it takes to run it on a laptop."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from podium.stack.run import ports
from topics.limits import FRAME_BYTES, MIB

BATCH_OVERHEAD_BYTES = 64 * 1024  # headers of the batch and of its records count as well
# Fixed: a folder holds one cluster, and a client never meets two by the same address.
CLUSTER_ID = "cG9kaXVtLWxvY2FsLWtmaw"

PROPERTIES = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "PLAINTEXT",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "auto.create.topics.enable": "false",
    # One broker holds every copy.
    "default.replication.factor": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    # Internal topics of 50 partitions cost a second of start-up and 50 open files each.
    "offsets.topic.num.partitions": "5",
    "transaction.state.log.num.partitions": "5",
    "share.coordinator.state.topic.num.partitions": "5",
    # A worker that starts alone need not wait for others, and a killed one is noticed soon.
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "message.max.bytes": str(FRAME_BYTES + BATCH_OVERHEAD_BYTES),
    "replica.fetch.max.bytes": str(FRAME_BYTES + BATCH_OVERHEAD_BYTES),
    "socket.request.max.bytes": str(100 * MIB),
    "socket.send.buffer.bytes": str(MIB),
    "socket.receive.buffer.bytes": str(MIB),
    "num.network.threads": "2",
    "num.io.threads": "4",
    "background.threads": "2",
    "num.recovery.threads.per.data.dir": "2",
    "log.retention.check.interval.ms": "60000",
    # Its default of 128 MiB would be a sixth of the heap.
    "log.cleaner.dedupe.buffer.size": str(16 * MIB),
}
JVM = (
    "-Xms256m",
    "-Xmx768m",
    "-XX:MaxGCPauseMillis=20",
    "-XX:+ExitOnOutOfMemoryError",
    "-Djava.awt.headless=true",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
    "-Dorg.slf4j.simpleLogger.showThreadName=false",
    "-Dorg.slf4j.simpleLogger.showShortLogName=true",
    # It lists all settings nine times a start: 2,400 of 2,800 lines. server.properties has ours.
    "-Dorg.slf4j.simpleLogger.log.org.apache.kafka.common.config.AbstractConfig=warn",
)

SILENT = logging.getLogger("podium.stack.librdkafka")
SILENT.addHandler(logging.NullHandler())
SILENT.propagate = False


@dataclass(frozen=True)
class Broker:
    """`overrides` are Kafka properties that win over the ones above."""

    jars: Path
    folder: Path
    port: int
    controller_port: int
    overrides: Mapping[str, str] = field(default_factory=dict)

    @property
    def address(self) -> str:
        return f"{ports.HOST}:{self.port}"

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    @property
    def _properties_path(self) -> Path:
        return self.folder / "server.properties"

    def argv(self, java: str) -> list[str]:
        return [*self._java(java), "kafka.Kafka", str(self._properties_path)]

    def format_argv(self, java: str) -> list[str]:
        tool = [*self._java(java), "kafka.tools.StorageTool", "format", "--standalone"]
        return [*tool, "-t", CLUSTER_ID, "-c", str(self._properties_path)]

    def formatted(self) -> bool:
        return (self._data / "meta.properties").exists()

    def write_properties(self) -> None:
        self._data.mkdir(parents=True, exist_ok=True)
        controller = f"{ports.HOST}:{self.controller_port}"
        properties = PROPERTIES | {
            "log.dirs": str(self._data),
            "listeners": f"PLAINTEXT://{self.address},CONTROLLER://{controller}",
            "advertised.listeners": f"PLAINTEXT://{self.address}",
            "controller.quorum.bootstrap.servers": controller,
            **self.overrides,
        }
        lines = [f"{name}={value}\n" for name, value in properties.items()]
        self._properties_path.write_text("".join(lines))

    def _java(self, java: str) -> list[str]:
        return [java, *JVM, "-cp", f"{self.jars}/*"]

    def ready(self) -> bool:
        """Whether a client gets an answer; the first look costs no client."""
        if not ports.answers(self.port):
            return False
        try:
            quiet_admin({"bootstrap.servers": self.address}).list_topics(timeout=2)
        except KafkaException:
            return False
        return True


def quiet_admin(config: Mapping[str, Any]) -> AdminClient:
    """An admin client that keeps its connection attempts to itself: our own lines tell of them."""
    return AdminClient(dict(config), logger=SILENT)
