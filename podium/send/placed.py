"""Subscriptions keyed by a plan: each lands on the shard that the plan has for it.

The key is `<id>~<n>`, so an id has one possible key on each shard.  Where a subscription belongs
follows from its intervals; an unsubscription has none, so it goes to the keys of all shards.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from configs import Collection
from indexes.kinds import KINDS
from podium.send.json_lines import BadLine, Record
from podium.send.sender import Sender
from podium.terminal import Exit, Failure
from topics.codecs.json_record import BadRecord
from topics.kinds import contract_for
from topics.subscriptions import MAX_ID_BYTES
from workers.routing.placement import Cut, Part, Plan, keys_on, middles_of

_LONGEST_ENDING = 8  # `~` and the digits of n


class _Waiting(NamedTuple):
    line: int
    id: str
    value: bytes | None
    row: Any  # the parsed subscription; None for an unsubscription


class PlacedSender:
    """Sends as `Sender` does, subscriptions by their keys in the plan.

    They wait until there are `at_once`: to place many costs little more than to place one.
    """

    def __init__(self, sender: Sender, plan: Plan, collection: Collection, at_once: int) -> None:
        self._sender, self._plan, self._at_once = sender, plan, at_once
        self._kind, self._attributes = KINDS[collection.kind], collection.attributes
        self._dialect = collection.dialect
        self._contract = contract_for(collection.kind, collection.attributes, collection.dialect)
        self._waiting: list[_Waiting] = []

    def send(self, line: int, record: Record) -> None:
        """Queue a record; `BadLine` for a subscription that has no place in a plan."""
        if record.topic != "subscriptions":
            self._sender.send(line, record)
            return
        id, longest = record.key or b"", MAX_ID_BYTES - _LONGEST_ENDING
        if len(id) > longest:
            got = f"got an id of {len(id)} bytes"
            raise BadLine(f"{got}, expected at most {longest}, because of --plan")
        row = self._parsed(record.value)
        self._waiting.append(_Waiting(line, id.decode(), record.value, row))
        if len(self._waiting) >= self._at_once:
            self._send_waiting()

    def finish(self, timeout_s: float) -> None:
        self._send_waiting()
        self._sender.finish(timeout_s)

    def _parsed(self, value: bytes | None) -> Any:
        try:
            return None if value is None else self._contract.parse(value)
        except BadRecord as bad:
            raise BadLine(f"{bad}; --plan places only what the collection takes") from None

    def _send_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for line, key, value in self._placed(waiting):
            self._sender.send(line, Record("subscriptions", key.encode(), value))

    def _placed(self, waiting: list[_Waiting]) -> Iterator[tuple[int, str, bytes | None]]:
        """Line, key and value of each record, in the order of the lines."""
        shards = self._plan.shards
        subscribing = [one for one in waiting if one.row is not None]
        keys = iter(keys_on([one.id for one in subscribing], self._homes(subscribing), shards))
        for one in waiting:
            if one.row is None:
                for key in keys_on([one.id] * shards, range(shards), shards):
                    yield one.line, key, None
            else:
                yield one.line, next(keys), one.value

    def _homes(self, subscribing: list[_Waiting]) -> list[int]:
        columns = self._contract.columns([one.row for one in subscribing])
        numbers = np.arange(len(subscribing))
        boxes = self._kind.boxes_of_columns(self._attributes, numbers, columns, **self._dialect)
        return [self._plan.shard_of(row) for row in middles_of(boxes, len(subscribing))]


def read_plan(file: Path, collection: Collection) -> Plan:
    """What `podium shards plan` wrote with --out or --json; a `Failure` if it does not fit."""

    def refusal(problem: str) -> Failure:
        wanted = f"--collection {collection.name} --shards {collection.shards} --out {file}"
        remedy = f"plan again: podium shards plan SUBSCRIPTIONS.jsonl {wanted}"
        return Failure(f"{file}: {problem}", remedy, Exit.USAGE)

    try:
        document = msgspec.json.decode(file.read_bytes())
        told = document.get("plan", document) if isinstance(document, dict) else document
        plan = msgspec.convert(told, Plan)
    except OSError as error:
        raise refusal(error.strerror or str(error)) from error
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise refusal(f"not a plan: {error}") from error
    for what, got, expected in (
        ("collection", plan.collection, collection.name),
        ("shards", plan.shards, collection.shards),
        ("attributes", plan.attributes, KINDS[collection.kind].axes(collection.attributes)),
    ):
        if got != expected:
            raise refusal(f"{what}: got a plan of {_shown(got)}, expected {_shown(expected)}")
    for part in _regions(plan.regions):
        if isinstance(part, Part) and not 0 <= part.shard < plan.shards:
            raise refusal(f"got shard {part.shard}, expected below {plan.shards}")
        if isinstance(part, Cut) and part.attribute not in plan.attributes:
            raise refusal(f"got attribute {part.attribute!r}, expected one of the plan's")
    return plan


def _shown(value: Any) -> str:
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def _regions(region: Cut | Part) -> Iterator[Cut | Part]:
    yield region
    if isinstance(region, Cut):
        yield from _regions(region.below)
        yield from _regions(region.above)
