"""Starting a worker process of any role."""

import faulthandler
import logging
import os
import signal
from collections.abc import Callable
from importlib import import_module
from types import FrameType

from configs.collection import Collection
from configs.logs import log_to_stderr
from configs.settings import Settings
from workers.kinds import roles
from workers.process.context import open_context
from workers.process.latency import tune_for_latency

log = logging.getLogger(__name__)


def run_worker(name: str, settings: Settings, collection: Collection) -> int:
    """Run a role that works for the collection until TERM or Ctrl-C; the process's exit code."""
    log_to_stderr()
    faulthandler.enable()  # a crash in compiled code says where
    role = roles()[name]
    context = open_context(role.name, settings, collection)
    # There is nothing to finish yet, and the compiler swallows exceptions that come meanwhile.
    on_signals(lambda *_: os._exit(0))
    try:
        from workers.warm_up import warm_up  # this is what takes seconds

        warm_up(role, collection)
        tune_for_latency()
        on_signals(lambda *_: context.stopping.set())
        run: Callable[..., int] = import_module(f"{role.package}.{role.name}").run
        return run(context)
    except Exception:
        log.exception("%s stops; what it has not committed will be done again", role.name)
        return 1


def on_signals(handler: Callable[[int, FrameType | None], None]) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, handler)
