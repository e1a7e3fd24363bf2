"""Starting a worker process of any role."""

import faulthandler
import logging
import signal
import sys
from collections.abc import Callable
from types import FrameType

from configs.collection import Collection
from configs.settings import Settings
from workers.process.context import Context, open_context, wait_for_topics
from workers.process.latency import keep_calm
from workers.process.logs import log_to_stderr

log = logging.getLogger(__name__)

# Those of `workers.kinds`, which takes seconds to import: health is up first.
KINDS = ("ranked", "relaxed", "boolean")


def run_worker(role: str, settings: Settings, collection: Collection) -> int:
    """Run until TERM or Ctrl-C; the exit code of the process."""
    log_to_stderr()
    faulthandler.enable()  # a crash in compiled code says where
    if collection.kind not in KINDS:
        log.error(
            "collection %s: got kind %s, expected one of %s",
            collection.name,
            collection.kind,
            ", ".join(KINDS),
        )
        return 2
    context = open_context(role, settings, collection)
    on_signals(lambda *_: sys.exit(0))  # there is nothing to finish yet
    try:
        from workers.warm_up import warm_up  # this is what takes seconds

        warm_up(role, collection)
        keep_calm()
        on_signals(lambda *_: context.stopping.set())
        return ROLES[role](context)
    except Exception:
        log.exception("%s stops; what it has not committed will be done again", role)
        return 1


def on_signals(handler: Callable[[int, FrameType | None], None]) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, handler)


def _router(context: Context) -> int:
    from workers.router import router

    router.run(context)
    return 0


def _merger(context: Context) -> int:
    from workers.merger import merger

    merger.run(context)
    return 0


def _matcher(context: Context) -> int:
    import faust

    from workers.matcher import matcher
    from workers.snapshots.watch import RedisWatch

    context.health.not_ready(matcher.SHARDS, "not assigned yet")
    RedisWatch(context.health, context.settings.redis).probe().start()
    topics = ["frames", "partials", "subscriptions", "subscriptions.dlq", "events.dlq"]
    if context.collection.routing.enabled:
        topics.append("routes")
    if not wait_for_topics(context, topics):
        return 0
    app = matcher.build(context)
    worker = faust.Worker(
        app, quiet=True, loglevel="WARN", override_logging=False, redirect_stdouts=False
    )
    worker.spinner = None  # it writes terminal codes into log files
    context.health.ready("matcher")
    try:
        worker.execute_from_commandline()
    except SystemExit as exit:
        return int(exit.code or 0)
    return 0


ROLES: dict[str, Callable[[Context], int]] = {
    "router": _router,
    "matcher": _matcher,
    "merger": _merger,
}
