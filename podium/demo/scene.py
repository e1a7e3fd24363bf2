"""A stack with a collection and its fleet, for as long as the demo lasts."""

import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import yaml
from confluent_kafka.admin import AdminClient

from configs.collection import PACKAGED, Collection, load_collection
from configs.settings import load_settings
from podium.clients import KafkaClients
from podium.stack import Stack
from podium.stack.run import fleet
from podium.stack.run.folder import ProcessRecord
from podium.terminal import Failure
from podium.topics_setup import ensure_topics
from topics.catalogue import topic_name
from workers.kinds import roles_of

COLLECTION_FILE = PACKAGED / "ads.yaml"


class Scene(NamedTuple):
    stack: Stack
    prefix: str
    collection: Collection
    clients: KafkaClients
    admin: AdminClient
    worker_ports: dict[str, list[int]]  # by role, in the order of the flow
    worker_pids: set[int]  # when all were ready
    excused: set[str]  # workers that may be dead for the moment

    def topic(self, name: str) -> str:
        return topic_name(self.prefix, self.collection.name, name)

    def group(self, role: str) -> str:
        labels = {"role": role, "collection": self.collection.name, "prefix": self.prefix}
        return fleet.group_names(labels)[0]

    def check(self) -> None:
        """Raise unless everything that was started still runs.

        The stack would start a worker again and nothing would be lost, but counts and times would
        tell of that, not of the fleet.
        """
        self.stack.check()
        for process in self.stack.processes():
            excused = process.kind != "worker" or process.name in self.excused
            if not excused and not self._is_first(process):
                raise Failure(f"{process.name} ended by itself", f"its log is {process.log}")

    @contextmanager
    def killed(self, name: str) -> Iterator[None]:
        """SIGKILL for a worker, which has to be back at the end of the block."""
        self.excused.add(name)
        self.stack.kill_worker(name)
        yield
        back = next(process for process in self.stack.processes() if process.name == name)
        self.worker_pids.add(back.pid)
        self.excused.discard(name)

    def workers(self, role: str) -> list[ProcessRecord]:
        return [p for p in self.stack.processes() if p.labels.get("role") == role]

    def _is_first(self, process: ProcessRecord) -> bool:
        return process.pid in self.worker_pids and process.alive()


@contextmanager
def scene(
    folder: Path, matchers: int, say: Callable[[str], None], file: Path = COLLECTION_FILE
) -> Iterator[Scene]:
    # The one that comes with Podium, whatever else is called `ads` around here.
    collection = load_collection(file)
    with ExitStack() as opened:
        stack = opened.enter_context(Stack(folder, say=say))
        _hurry(stack.settings_path)
        settings = load_settings(stack.settings_path)
        ensure_topics(settings, collection)
        served = [fleet.Served(collection, str(file))]
        planned = fleet.plan(stack, served, matchers, settings.prefix)
        fleet.start(stack, planned, say)
        ports = {
            role.name: [worker.port for worker in planned if worker.labels["role"] == role.name]
            for role in roles_of(collection)
        }
        clients = KafkaClients(settings.kafka)
        opened.callback(_finish_in_peace)
        pids = {process.pid for process in stack.processes() if process.kind == "worker"}
        yield Scene(
            stack, settings.prefix, collection, clients, clients.admin(), ports, pids, set()
        )


def _hurry(settings_path: Path) -> None:
    """Settings for a fleet that lives a minute: what takes minutes elsewhere takes seconds here."""
    settings = yaml.safe_load(settings_path.read_text())
    settings["snapshots"] = {"every_s": 3, "least_changes": 1}
    settings["matcher"] = {"session_timeout_s": 6}
    settings_path.write_text(yaml.safe_dump(settings))


def _finish_in_peace() -> None:
    """Stopping takes a few seconds; an impatient second Ctrl-C must not leave half of it undone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
