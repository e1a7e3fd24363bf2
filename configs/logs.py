"""Log lines of our processes on stderr, few enough to be read."""

import logging
import sys
import time
from collections.abc import Callable

# Of the same kind of line; a broker that is away for a night must not fill a disk, nor must a
# producer that sends nothing but bad records.
_MOST_LINES, _FOREIGN_LINES, _WITHIN_S = 20, 3, 30.0
_FOREIGN = ("kafka", "faust", "mode", "aiokafka", "asyncio", "py4j")


class Throttle(logging.Filter):
    """Lets a few lines of a kind through in each period, and says how many it has held back.

    Lines are of a kind when one place of the code writes them; librdkafka's, which all come from
    one place, when they begin with the same word.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._now = now
        self._kinds: dict[tuple, list[float]] = {}  # start of the period, lines in it, held back

    def filter(self, record: logging.LogRecord) -> bool:
        foreign = record.name.split(".")[0] in _FOREIGN
        # librdkafka hands its first word over as an argument.
        line = record.getMessage() if record.name == "kafka" else str(record.msg)
        kind = (record.name, record.levelno, record.lineno, line.split(" ")[0][:40])
        period = self._kinds.setdefault(kind, [self._now(), 0, 0])
        if self._now() - period[0] > _WITHIN_S:
            if period[2]:
                record.msg = f"{record.getMessage()} ({period[2]:.0f} more lines like this before)"
                record.args = None
            period[:] = [self._now(), 0, 0]
        if period[1] >= (_FOREIGN_LINES if foreign else _MOST_LINES):
            period[2] += 1
            return False
        period[1] += 1
        return True


def log_to_stderr(throttled: bool = True) -> None:
    """`throttled` is for processes that run for months; a job's lines are few."""
    handler = logging.StreamHandler(sys.stderr)
    if throttled:
        handler.addFilter(Throttle())
    format = "%(asctime)s %(levelname)s %(name)s: %(message)s"
    logging.basicConfig(level=logging.INFO, handlers=[handler], format=format)
    for chatty in _FOREIGN[1:]:
        logging.getLogger(chatty).setLevel(logging.WARNING)
