"""`/livez`, `/readyz` and `/metrics` of a worker, the probes behind them, and how busy it is."""

import contextlib
import json
import logging
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import make_wsgi_app

from workers.process import metrics

log = logging.getLogger(__name__)

# A main loop that has not come round for so long is stuck, and a restart is the remedy.
STUCK_AFTER_S = 120.0


class Health:
    """Why a worker is not ready, part by part.  Ready when no part has a reason left.

    What a worker can do without is `degraded` instead: it is said, but the worker is ready.
    """

    def __init__(self, parts: Iterable[str], now: Callable[[], float] = time.monotonic) -> None:
        self._reasons: dict[str, str] = dict.fromkeys(parts, "starting")
        self._degraded: dict[str, tuple[str, float]] = {}  # why, and when that was said last
        self._now, self._last_beat = now, now()
        self._lock = threading.Lock()

    def ready(self, part: str) -> None:
        with self._lock:
            reason = self._reasons.pop(part, None)
            degraded = self._degraded.pop(part, None)
        if degraded or reason not in (None, "starting"):
            log.info("%s: fine again", part)

    def not_ready(self, part: str, reason: str) -> None:
        with self._lock:
            known, self._reasons[part] = self._reasons.get(part), reason
        if known != reason:
            log.warning("%s: %s", part, reason)

    def degraded(self, part: str, reason: str) -> None:
        """The worker does its work without `part`, only not as well."""
        with self._lock:
            known, _ = self._degraded.get(part, ("", 0.0))
            self._degraded[part] = reason, self._now()
        if known != reason:
            log.warning("%s: %s", part, reason)

    def degraded_within(self, part: str, seconds: float) -> str | None:
        """Why the part is degraded, if that was said in the last seconds."""
        with self._lock:
            reason, said_at = self._degraded.get(part, ("", 0.0))
        return reason if reason and self._now() - said_at <= seconds else None

    def beat(self) -> None:
        """The main loop has come round."""
        self._last_beat = self._now()

    @property
    def reasons(self) -> dict[str, str]:
        with self._lock:
            return dict(self._reasons)

    @property
    def degradations(self) -> dict[str, str]:
        with self._lock:
            return {part: reason for part, (reason, _) in self._degraded.items()}

    @property
    def stuck(self) -> bool:
        return self._now() - self._last_beat > STUCK_AFTER_S


class Probe(threading.Thread):
    """Asks `ask` again and again; reports to `health` and backs off while it fails.

    A part that is not `needed` leaves the worker ready, and is only degraded.
    """

    def __init__(
        self,
        health: Health,
        part: str,
        ask: Callable[[], None],
        every_s: float = 2.0,
        longest_s: float = 10.0,
        *,
        needed: bool = True,
    ) -> None:
        super().__init__(name=f"probe-{part}", daemon=True)
        self._health, self._part, self._ask = health, part, ask
        self._every_s, self._longest_s = every_s, longest_s
        self._report = health.not_ready if needed else health.degraded
        self._stopping = threading.Event()

    def run(self) -> None:
        wait_s = self._every_s
        while not self._stopping.is_set():
            try:
                self._ask()
            except Exception as error:  # whatever it is, it is the reason
                self._report(self._part, f"{error}; trying again")
                wait_s = min(2 * wait_s, self._longest_s)
            else:
                self._health.ready(self._part)
                wait_s = self._every_s
            self._stopping.wait(wait_s)

    def stop(self) -> None:
        self._stopping.set()


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _QuietHandler(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Probes come every few seconds; a line for each would drown the log."""


def serve(health: Health, host: str, port: int) -> int:
    """Serve in the background; return the port, which the system chooses if it is 0."""
    served = make_wsgi_app()

    def app(environ: dict, start_response: Callable) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if path == "/metrics":
            return served(environ, start_response)
        if path == "/livez":
            return _reply(start_response, not health.stuck, {"stuck": health.stuck})
        if path == "/readyz":
            reasons = health.reasons
            said = {"reasons": reasons, "degraded": health.degradations}
            return _reply(start_response, not reasons, {"ready": not reasons, **said})
        start_response("404 Not Found", [("Content-Type", "text/plain")])
        return [b"expected /livez, /readyz or /metrics\n"]

    try:
        server = make_server(host, port, app, server_class=_Server, handler_class=_QuietHandler)
    except OSError as error:
        problem = f"cannot serve on {host}:{port}: {error.strerror}; choose another http.port"
        raise OSError(error.errno, problem) from None
    threading.Thread(target=server.serve_forever, name="http", daemon=True).start()
    return server.server_port


def _reply(start_response: Callable, fine: bool, body: dict) -> list[bytes]:
    status = "200 OK" if fine else "503 Service Unavailable"
    start_response(status, [("Content-Type", "application/json")])
    return [json.dumps(body).encode() + b"\n"]


# How busy a worker is: the share of the time in which its busiest thread works, or would.  A thread
# that waits for a processor has work to do as well, so on a machine that is full a worker is busier
# than its share of the processors.  Linux tells both times of each thread; elsewhere the processor
# time of the whole process is all there is.
_LOAD_EVERY_S = 2.0
_TASKS = Path("/proc/self/task")

Seconds = dict[str, float]


def work_of_threads() -> Seconds:
    """Seconds in which each thread has had a processor or has waited for one."""
    if not _TASKS.is_dir():
        return {"process": time.process_time()}
    found = {}
    for task in _TASKS.iterdir():
        with contextlib.suppress(OSError):  # it has ended meanwhile
            running, waiting, _ = (task / "schedstat").read_text().split()
            found[task.name] = (int(running) + int(waiting)) / 1e9
    return found or {"process": time.process_time()}


def busy_share(before: Seconds, after: Seconds, elapsed_s: float) -> float:
    """
    >>> busy_share({"1": 2.0, "2": 7.0}, {"1": 3.5, "2": 7.1}, 2.0)
    0.75
    """
    worked = (seconds - before.get(thread, 0.0) for thread, seconds in after.items())
    return min(1.0, max(worked, default=0.0) / max(elapsed_s, 1e-9))


class LoadMeter(threading.Thread):
    """Publishes the busy share every two seconds until the worker stops."""

    def __init__(
        self,
        collection: str,
        stopping: threading.Event,
        work: Callable[[], Seconds] = work_of_threads,
    ) -> None:
        super().__init__(name="load", daemon=True)
        self._collection, self._stopping, self._work = collection, stopping, work

    def run(self) -> None:
        before, at = self._work(), time.monotonic()
        while not self._stopping.wait(_LOAD_EVERY_S):
            after, now = self._work(), time.monotonic()
            share = busy_share(before, after, now - at)
            metrics.BUSY_SHARE.labels(self._collection).set(share)
            before, at = after, now
