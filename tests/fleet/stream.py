"""Subscription changes and events, some of them bad, that go on while a test does something."""

import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from tests.fleet.fleet import Fleet
from tests.fleet.traffic import eventually

PAUSE_S = 0.02
EVENTS_A_ROUND = 4
IDS = 40


class Stream:
    def __init__(self, fleet: Fleet, seed: int, pause_s: float) -> None:
        self._fleet, self._pause_s = fleet, pause_s
        self._random = random.Random(seed)
        self._stopping = threading.Event()
        self._answers = len(fleet.answers)

    def run(self) -> None:
        while not self._stopping.wait(self._pause_s):
            self._change()
            self.burst(EVENTS_A_ROUND)
            if self._random.random() < 0.2:
                self._fleet.publish(b'{"age": ["bad"]}', refused=True)

    def burst(self, events: int) -> None:
        """So many events at once."""
        for _ in range(events):
            event = {"age": self._random.randint(0, 12), "visits": self._random.randint(0, 3)}
            self._fleet.publish(event, b"%d" % self._random.randint(0, 99), k=5)

    def _change(self) -> None:
        id = f"ad-{self._random.randrange(IDS)}"
        if (chance := self._random.random()) < 0.3:
            self._fleet.unsubscribe(id)
        elif chance < 0.4:
            self._fleet.send("subscriptions", b'{"where": {}, "score": "bad"}', id.encode())
        else:
            low = self._random.randint(0, 9)
            self._fleet.subscribe(id, {"age": [low, low + 4]}, self._random.randint(0, 9))

    def stop(self) -> None:
        self._stopping.set()

    def wait_answers(self, count: int) -> None:
        """Wait until so many answers have come since the last time."""

        def there() -> bool:
            self._fleet.read_answers()
            return len(self._fleet.answers) >= self._answers + count

        patience_s = self._fleet.patience_s
        eventually(there, lambda: f"{count} answers\n{self._fleet.diagnosis()}", patience_s, 0)
        self._answers = len(self._fleet.answers)

    def wait_events(self, count: int) -> None:
        """Wait until so many more events have been sent."""
        wanted = len(self._fleet.events) + count
        eventually(lambda: len(self._fleet.events) >= wanted, f"{count} events", 30)


@contextmanager
def streaming(fleet: Fleet, seed: int, pause_s: float = PAUSE_S) -> Iterator[Stream]:
    """Keep sending until the block is left, with pauses between the rounds."""
    stream = Stream(fleet, seed, pause_s)
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(stream.run)
        try:
            yield stream
        finally:
            stream.stop()
        running.result()
