"""A fleet of real worker processes for one collection, started with the command people type."""

import json
import os
import re
import signal
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from prometheus_client.parser import text_string_to_metric_families

from configs import kafka_client_config, load_collection, load_settings
from podium.stack.run import ports
from podium.stack.run.supervisor import Supervised, Supervisor, log_tail
from podium.topics_setup import ensure_topics
from tests.fleet.traffic import Traffic, eventually
from topics import partials
from topics.codecs.columns import unbundle
from topics.frames import FrameId
from workers.kinds import roles_of

ROLES = ("router", "matcher", "merger")
LAYOUTS = ("sharded", "replicated")
# Each layout with each of its roles.
WORKERS = [*(("sharded", role) for role in ROLES), ("replicated", "node")]
ROOT = Path(__file__).parents[2]
READY_S = 240.0  # processes that compile kernels at first, on two busy cores
# For fleets whose workers are killed: the least that a broker allows by default.  Others have more
# time, as on a busy machine a worker may be taken for dead that is not, and then answers repeat.
IMPATIENT = "tests.fleet.impatient_worker"  # an entry of workers that wait for nothing
SOON_MISSED = {"matcher": {"session_timeout_s": 6}}


class Reply(NamedTuple):
    status: int
    body: dict[str, Any]


class Fleet(Traffic):
    """`collection` and `settings` are merged into the files that the workers read."""

    def __init__(
        self,
        supervisor: Supervisor,
        folder: Path,
        name: str,
        brokers: str,
        redis_url: str,
        collection: Mapping[str, Any] | None = None,
        settings: Mapping[str, Mapping[str, Any]] | None = None,
        entry: str = "podium",
    ) -> None:
        declared = {"name": name, "kind": "ranked", "attributes": ["age", "visits"], "k": 3}
        declared |= {"max_k": 20, "emit_empty": True, **(collection or {})}
        chosen: dict[str, Any] = {
            "kafka": {"brokers": brokers},
            "redis": {"url": redis_url, "timeout_s": 2},
            "matcher": {"session_timeout_s": 30},
        }
        for group, values in (settings or {}).items():
            chosen[group] = {**chosen.get(group, {}), **values}
        # Workers run in a folder of their own, so that what they leave in it can be seen.
        self.working_folder = folder / "cwd"
        self.working_folder.mkdir(parents=True)
        self.collection_path, self.settings_path = folder / f"{name}.yaml", folder / "podium.yaml"
        self.collection_path.write_text(yaml.safe_dump(declared))
        self.settings_path.write_text(yaml.safe_dump(chosen))
        self._settings = load_settings(self.settings_path)
        self.brokers = brokers
        self._supervisor, self._logs = supervisor, folder / "logs"
        self.ports: dict[str, int] = {}
        self.entry, self.variables = entry, dict[str, str]()  # what a worker is started with
        self.flags: dict[str, list[str]] = {}  # by worker
        client = kafka_client_config(self._settings.kafka)
        super().__init__(load_collection(self.collection_path), client)

    @property
    def roles(self) -> list[str]:
        """Of one worker each."""
        return [role.name for role in roles_of(self.declared)]

    @property
    def holder(self) -> str:
        """The role that holds shards."""
        return next(role.name for role in roles_of(self.declared) if role.holds_shards)

    def switch(self, layout: str) -> None:
        """Write another layout into the file, for workers that are started from now on."""
        declared = yaml.safe_load(self.collection_path.read_text())
        self.collection_path.write_text(yaml.safe_dump({**declared, "layout": layout}))
        self.declared = load_collection(self.collection_path)

    def held(self, name: str) -> int:
        """How many shards a matcher, or partitions of `events` a node holds, as its log tells."""
        log = self.log(name).rpartition(" start ---")[2]
        if name.startswith("matcher"):
            return log.count(": ours") - log.count(": gone")
        moves = re.findall(r"(assigned|gave up) (.*)", log)
        return moves[-1][1].count("[") if moves and moves[-1][0] == "assigned" else 0

    def create_topics(self) -> None:
        ensure_topics(self._settings, self.declared)

    def reread(self) -> None:
        """Follow what has changed in the collection's file; workers have to be started again."""
        self.check_all()
        self.declared, self._judge = load_collection(self.collection_path), None

    def start(self, *names: str) -> None:
        """Start workers; `matcher-2` is a second matcher."""
        for name, port in zip(names, ports.choose(len(names)), strict=True):
            self.ports[name] = port
            files = ["--collection", str(self.collection_path), "--config", str(self.settings_path)]
            command = [sys.executable, "-m", self.entry, "worker", name.partition("-")[0], *files]
            variables = {"PYTHONPATH": str(ROOT), **self.variables}
            given = [f"{variable}={value}" for variable, value in variables.items()]
            there = ["env", "-C", str(self.working_folder), *given]
            argv = [*there, *command, "--http-port", str(port), *self.flags.get(name, ())]
            self._supervisor.spawn(
                Supervised(self._full(name), "worker", argv, self._log_path(name), port=port)
            )

    def start_all(self) -> None:
        self.create_topics()
        self.start(*self.roles)
        self.wait_ready(*self.roles)

    def stop(self) -> None:
        self._supervisor.stop([self._full(name) for name in self.ports])
        self.close()

    def kill(self, name: str, restart: bool = True) -> None:
        """SIGKILL; with `restart` the supervisor starts it again after a second."""
        self._supervisor.kill(self._full(name), restart)

    @contextmanager
    def frozen(self, name: str) -> Iterator[None]:
        """SIGSTOP, and SIGCONT at the end: it takes no step, and does not know of it afterwards."""
        pid = self.pid(name)
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    def pid(self, name: str) -> int:
        return self._supervisor.table[self._full(name)].last_pid

    def revive(self, name: str) -> None:
        """Start a worker again that was killed for good."""
        self._supervisor.stop([self._full(name)])
        self.start(name)

    def terminate(self, name: str) -> tuple[int, float]:
        """TERM; the exit code and the seconds that it took.  It is not started again."""
        child = self._supervisor.table[self._full(name)].child
        assert child is not None, f"{name} does not run: {self.state(name)}"
        started = time.monotonic()
        self._supervisor.stop([self._full(name)])
        del self.ports[name]
        return child.reap(), time.monotonic() - started

    def starts(self, name: str) -> int:
        """How often the worker was started, by the supervisor too."""
        return self.log(name).count(" start ---")

    def check_that_none_has_died(self) -> None:
        for name in self.ports:
            deaths = self._supervisor.table[self._full(name)].deaths
            assert deaths == 0, f"{name} died {deaths} times\n{self.state(name)}"

    def log(self, name: str) -> str:
        return self._log_path(name).read_text(errors="replace")

    def get(self, name: str, path: str) -> Reply | None:
        """What the worker's health port says; None while nobody listens there."""
        try:
            url = f"http://127.0.0.1:{self.ports[name]}{path}"
            with urllib.request.urlopen(url, timeout=5) as reply:
                return Reply(reply.status, json.load(reply))
        except urllib.error.HTTPError as error:
            return Reply(error.code, json.load(error))
        except OSError:
            return None

    def metric(self, name: str, metric: str, **labels: str) -> float:
        """The sum of a worker's metric over all samples that have these labels; 0 if down."""
        url = f"http://127.0.0.1:{self.ports[name]}/metrics"
        try:
            with urllib.request.urlopen(url, timeout=5) as reply:
                families = text_string_to_metric_families(reply.read().decode())
        except OSError:
            return 0.0
        return sum(
            sample.value
            for family in families
            for sample in family.samples
            if sample.name == metric and labels.items() <= sample.labels.items()
        )

    def answers_of_shards(self) -> list[tuple[FrameId, int]]:
        """Frames and the shards that have answered them, since the last call; a node has none."""
        if self.declared.layout == "replicated":
            return []
        reader = self._reader("partials", self.declared.partitions.partials)
        records = [unbundle(message.value()) for message in reader.read_to_end()]
        answers = [partials.decode(part) for parts in records for part in parts]
        return [(answer.frame_id, answer.shard) for answer in answers]

    def is_ready(self, name: str) -> bool:
        reply = self.get(name, "/readyz")
        return reply is not None and reply.status == 200

    def wait_ready(self, *names: str) -> None:
        eventually(
            lambda: all(map(self.is_ready, names)),
            lambda: f"{names} ready\n{self.diagnosis()}",
            READY_S,
        )

    def wait_reason(self, name: str, part: str, *texts: str) -> Reply:
        """Wait until `/readyz` says no, with a reason for `part` that has all of `texts`."""

        def refusal() -> Reply | None:
            reply = self.get(name, "/readyz")
            reasons = reply.body.get("reasons", {}) if reply else {}
            said = all(text in reasons.get(part, "") for text in texts)
            return reply if part in reasons and said else None

        what = f"{name} not ready because of {part}: {texts}"
        return eventually(refusal, lambda: f"{what}\n{self.state(name)}", READY_S)

    def wait_degraded(self, name: str, part: str, *texts: str) -> Reply:
        """Wait until `/readyz` says that it does without `part`, for a reason that has `texts`."""

        def degraded() -> Reply | None:
            reply = self.get(name, "/readyz")
            said = reply.body.get("degraded", {}).get(part) if reply else None
            return reply if said and all(text in said for text in texts) else None

        what = f"{name} degraded because of {part}: {texts}"
        return eventually(degraded, lambda: f"{what}\n{self.state(name)}", READY_S)

    def state(self, name: str) -> str:
        return f"{name}: {self.get(name, '/readyz')}, {log_tail(self._log_path(name))}"

    def diagnosis(self) -> str:
        return "\n".join(map(self.state, self.ports))

    def _full(self, name: str) -> str:
        return f"{self.declared.name}/{name}"

    def _log_path(self, name: str) -> Path:
        return self._logs / f"{name}.log"
