"""Which events wait for subscriptions that nobody has written: they would wait for ever."""

from collections.abc import Callable

from topics.codecs.json_record import BadRecord
from topics.dead_letters import DeadLetter
from topics.headers import AFTER
from workers.process.records import dead_letter
from workers.router.framing import Accepted


class Tokens:
    """`end_of` asks the broker for the end of a shard's partition of `subscriptions`."""

    def __init__(self, end_of: Callable[[int], int]) -> None:
        self._end_of = end_of
        self._ends: dict[int, int] = {}  # by shard, as last seen
        self._asked_for: set[int] = set()  # in this batch

    def begin_batch(self) -> None:
        self._asked_for.clear()

    def answerable(self, events: Accepted) -> tuple[Accepted | None, list[DeadLetter]]:
        """Without those that wait for what does not exist; the letters that say so of these.

        Whoever answers would wait for ever, and every event behind them too.
        """
        if not any(options.after for options in events.options):
            return events, []
        kept, letters = [], []
        for i, (message, options) in enumerate(zip(events.messages, events.options, strict=True)):
            beyond = [s for s, offset in options.after.items() if not self._exists(s, offset)]
            if beyond:
                shard = beyond[0]
                bad = BadRecord(
                    AFTER,
                    f"got {shard}@{options.after[shard]}, expected an offset below the end of that"
                    f" partition, {self._ends[shard]}",
                )
                letters.append(dead_letter(message, bad))
            else:
                kept.append(i)
        return events.only(kept) if kept else None, letters

    def _exists(self, shard: int, offset: int) -> bool:
        if offset < 0:  # a token of a shard without subscriptions
            return True
        # Once a batch and shard: a question to the broker for each event would be the slowest part.
        if offset >= self._ends.get(shard, 0) and shard not in self._asked_for:
            self._ends[shard] = self._end_of(shard)
            self._asked_for.add(shard)
        return offset < self._ends[shard]
