"""`/livez`, `/readyz` and `/metrics` of a worker, and the probes behind them."""

import json
import logging
import threading
import time
from collections.abc import Callable, Iterable
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import make_wsgi_app

log = logging.getLogger(__name__)

# A main loop that has not come round for so long is stuck, and a restart is the remedy.
STUCK_AFTER_S = 120.0


class Health:
    """Why a worker is not ready, part by part.  Ready when no part has a reason left."""

    def __init__(self, parts: Iterable[str], now: Callable[[], float] = time.monotonic) -> None:
        self._reasons: dict[str, str] = dict.fromkeys(parts, "starting")
        self._now, self._last_beat = now, now()
        self._lock = threading.Lock()

    def ready(self, part: str) -> None:
        with self._lock:
            reason = self._reasons.pop(part, None)
        if reason not in (None, "starting"):
            log.info("%s: fine again", part)

    def not_ready(self, part: str, reason: str) -> None:
        with self._lock:
            known, self._reasons[part] = self._reasons.get(part), reason
        if known != reason:
            log.warning("%s: %s", part, reason)

    def beat(self) -> None:
        """The main loop has come round."""
        self._last_beat = self._now()

    @property
    def reasons(self) -> dict[str, str]:
        with self._lock:
            return dict(self._reasons)

    @property
    def stuck(self) -> bool:
        return self._now() - self._last_beat > STUCK_AFTER_S


class Probe(threading.Thread):
    """Asks `ask` again and again; reports to `health` and backs off while it fails."""

    def __init__(
        self, health: Health, part: str, ask: Callable[[], None], every_s: float = 2.0
    ) -> None:
        super().__init__(name=f"probe-{part}", daemon=True)
        self._health, self._part, self._ask, self._every_s = health, part, ask, every_s
        self._stopping = threading.Event()

    def run(self) -> None:
        wait_s = self._every_s
        while not self._stopping.is_set():
            try:
                self._ask()
            except Exception as error:  # whatever it is, it is the reason
                self._health.not_ready(self._part, f"{error}; trying again")
                wait_s = min(2 * wait_s, 10.0)
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
    metrics = make_wsgi_app()

    def app(environ: dict, start_response: Callable) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if path == "/metrics":
            return metrics(environ, start_response)
        if path == "/livez":
            return _reply(start_response, not health.stuck, {"stuck": health.stuck})
        if path == "/readyz":
            reasons = health.reasons
            return _reply(start_response, not reasons, {"ready": not reasons, "reasons": reasons})
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
