"""One pass over a file: its lines to the topics, with a progress bar, a count and an exit code."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

from confluent_kafka import Producer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from podium.send.json_lines import BadLine, Line, Record, Source, read_lines, record_of
from podium.send.sender import Headers, Sender
from podium.terminal import Exit, counted, note, say, say_json
from topics.headers import AFTER

SHOWN_PROBLEMS = 10
FLUSH_S = 90.0  # longer than a record may wait for its acknowledgement
INTERRUPTED_FLUSH_S = 5.0


class Target(Protocol):
    def send(self, line: int, record: Record) -> None: ...

    def finish(self, timeout_s: float) -> None: ...


class SendRun:
    """One pass over one file."""

    def __init__(
        self,
        producer: Producer,
        topics: Mapping[str, str],
        headers: Headers,
        to: str,
        key_field: str | None,
        keep_going: bool,
        input: str = "events",
    ) -> None:
        """`input` is the topic that the collection has beside `subscriptions`."""
        self._sender = Sender(producer, topics, headers, self._not_delivered)
        self._target: Target = self._sender
        self._to, self._key_field, self._keep_going = to, key_field, keep_going
        self._input = input
        self._bad = 0
        self._interrupted = False
        self._broken = False
        self._seconds = 0.0

    def wrap_sender(self, wrap: Callable[[Sender], Target]) -> None:
        """Have something between the lines and the sender."""
        self._target = wrap(self._sender)

    def send_lines(self, source: Source, name: str) -> None:
        began = time.monotonic()
        try:
            for line in with_progress(read_lines(source.stream), source, name):
                if not self._take(line):
                    break
        except (OSError, EOFError) as error:  # a packed file that is cut off or damaged
            self._broken = True
            note(f"podium: {name}: {error}")
        except KeyboardInterrupt:
            self._interrupted = True
        try:
            self._target.finish(INTERRUPTED_FLUSH_S if self._interrupted else FLUSH_S)
        except KeyboardInterrupt:
            self._interrupted = True
        self._seconds = time.monotonic() - began

    def _take(self, line: Line) -> bool:
        """Send one line; whether to go on."""
        try:
            record = record_of(line.text, self._to, self._key_field, self._input)
            self._target.send(line.number, record)
        except BadLine as error:
            self._bad += 1
            if self._bad <= SHOWN_PROBLEMS:
                note(f"podium: line {line.number}: {error}")
            return self._keep_going
        return self._keep_going or not self._sender.undelivered

    def _not_delivered(self, line: int, reason: str) -> None:
        if self._sender.undelivered <= SHOWN_PROBLEMS:
            note(f"podium: line {line}: not delivered: {reason}")

    @property
    def exit_code(self) -> int:
        if self._interrupted:
            return Exit.INTERRUPTED
        if self._sender.unanswered or self._sender.timed_out:
            return Exit.UNREACHABLE
        failed = self._bad or self._broken or self._sender.undelivered
        return Exit.WRONG if failed else Exit.FINE

    def show(self, as_json: bool) -> None:
        sender = self._sender
        subscriptions, others = (sender.acknowledged[t] for t in ("subscriptions", self._input))
        token = sender.token if self._input == "events" else ""  # objects wait for nobody
        undelivered = sender.undelivered + sender.unanswered
        if as_json:
            say_json(
                {
                    "subscriptions": subscriptions,
                    self._input: others,
                    "undelivered": undelivered,
                    "bad_lines": self._bad,
                    "seconds": round(self._seconds, 3),
                    AFTER: token or None,
                }
            )
            return
        sent = counted(subscriptions, "subscription")
        sent += f" and {counted(others, self._input.removesuffix('s'))}"
        rate = (subscriptions + others) / self._seconds if self._seconds else 0.0
        say(f"sent {sent} in {self._seconds:.1f} s ({rate:,.0f}/s)")
        if undelivered:
            say(f"not delivered: {counted(undelivered, 'record')}")
        if self._bad:
            say(f"not sent: {counted(self._bad, 'bad line')}")
        if token:
            say(f"{AFTER}: {token}")


def with_progress(lines: Iterator[Line], source: Source, name: str) -> Iterator[Line]:
    """`lines` as they are, with a bar on stderr if that is a terminal."""
    if not sys.stderr.isatty():
        yield from lines
        return
    columns = [
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[lines]:,} lines, {task.fields[rate]:,.0f}/s"),
    ]
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(name, total=source.size, lines=0, rate=0.0)
        began = time.monotonic()
        for count, line in enumerate(lines, 1):
            if count % 1000 == 0:
                rate = count / (time.monotonic() - began)
                done = source.raw.tell() if source.size else None
                progress.update(task, completed=done, lines=count, rate=rate)
            yield line
