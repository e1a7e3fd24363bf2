"""From files of subscriptions and events to a plan, and what it would bring."""

from typing import NamedTuple

import numpy as np

from configs import Collection
from configs.kinds import KINDS as DECLARED
from indexes.boxes import SubscriptionBoxes
from indexes.kinds import KINDS, Columns, new_index
from podium.send.json_lines import open_source, read_lines, record_of
from podium.terminal import Exit, Failure
from topics.codecs.json_record import BadRecord
from topics.kinds import contract_for, event_contract
from workers.routing.placement import Expected, Plan, expected_of, keys_on, make_plan, middles_of
from workers.shard.key_table import KeyTable

MOST_SUBSCRIPTIONS, MOST_EVENTS = 50_000, 5_000
_SEED = 1


class Sample(NamedTuple):
    ids: list[str]
    boxes: SubscriptionBoxes
    middles: np.ndarray
    events: np.ndarray
    skipped: int  # lines that no worker would take
    bytes_each: float  # of memory, that a subscription takes in a shard


def read_sample(collection: Collection, file: str, events_file: str | None) -> Sample:
    """The first subscriptions of a file, and events: of a file, or where subscriptions are."""
    contract = contract_for(collection.kind, collection.attributes, collection.dialect)
    ids, rows, skipped = [], [], 0
    with open_source(file) as source:
        for line in read_lines(source.stream):
            try:
                record = record_of(line.text, "subscriptions")
                row = contract.parse(record.value or b"")
            except (BadRecord, ValueError):
                skipped += 1
                continue
            ids.append((record.key or b"").decode())
            rows.append(row)
            if len(rows) == MOST_SUBSCRIPTIONS:
                break
    if not rows:
        remedy = "each line is a subscription with an `id`, as `podium send` takes them"
        raise Failure(f"{file}: got no subscription of {collection.name}", remedy, Exit.USAGE)
    columns, numbers = contract.columns(rows), np.arange(len(rows))
    boxes = KINDS[collection.kind].boxes_of_columns(
        collection.attributes, numbers, columns, **collection.dialect
    )
    middles = middles_of(boxes, len(rows))
    if events_file:
        events = _read_events(collection, events_file)
    else:
        events = _likely_events(middles)
        if DECLARED[collection.kind].has_places:
            _move_into_the_middle(events)
    return Sample(ids, boxes, middles, events, skipped, _bytes_each(collection, ids, columns))


def _bytes_each(collection: Collection, ids: list[str], columns: Columns) -> float:
    numbers = np.arange(len(ids))
    index = new_index(collection.kind, collection.attributes, collection.dialect)
    keys = KeyTable()
    index.insert_many(numbers, *columns)
    different = list(dict.fromkeys(ids))
    keys.put_many([id.encode() for id in different], numbers[: len(different)])
    return index.nbytes / len(ids) + keys.nbytes / len(different)


def _read_events(collection: Collection, file: str) -> np.ndarray:
    dialect = collection.dialect
    contract = event_contract(collection.kind, collection.attributes, 1, 1, 1, dialect)
    rows = []
    with open_source(file) as source:
        for line in read_lines(source.stream):
            try:
                rows.append(contract.form.row(record_of(line.text, "events").value))
            except (BadRecord, ValueError):
                continue
            if len(rows) == MOST_EVENTS:
                break
    if not rows:
        raise Failure(f"{file}: got no event of {collection.name}", "", Exit.USAGE)
    numbers = contract.form.numbers(contract.form.columns(rows))
    axes = KINDS[collection.kind].axes(collection.attributes)
    return np.ascontiguousarray(numbers[:, : len(axes)])


def _likely_events(middles: np.ndarray) -> np.ndarray:
    """Events where subscriptions are: each attribute the middle of somebody's interval."""
    random = np.random.default_rng(_SEED)
    events = np.full((min(len(middles), MOST_EVENTS), middles.shape[1]), np.nan)
    chosen = random.choice(len(middles), len(events), replace=False)
    for attribute in range(middles.shape[1]):
        known = middles[np.isfinite(middles[:, attribute]), attribute]
        if len(known):
            own = middles[chosen, attribute]
            events[:, attribute] = np.where(np.isfinite(own), own, random.choice(known, len(own)))
    return events


def _move_into_the_middle(events: np.ndarray) -> None:
    """The first axes are the sides of areas: an event at a side becomes one between both."""
    for one, other in ((0, 1), (2, 3)):
        events[:, [one, other]] = events[:, [one, other]].mean(axis=1, keepdims=True)


def plan_of(collection: Collection, sample: Sample, shards: int) -> tuple[Plan, Expected]:
    axes = KINDS[collection.kind].axes(collection.attributes)
    known = sample.boxes, sample.middles, sample.events
    plan = make_plan(collection.name, axes, shards, *known)
    return plan, expected_of(plan, *known)


def keys_of(plan: Plan, sample: Sample) -> list[str]:
    return keys_on(sample.ids, [plan.shard_of(row) for row in sample.middles], plan.shards)
