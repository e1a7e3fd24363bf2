"""What routing costs the router an event, and what it saves, on a planned placement."""

from functools import partial

import numpy as np

from benchmarks.covering.lab import Lab
from benchmarks.intervals.targets import Row
from benchmarks.measure import repeat
from benchmarks.report import Section, Table
from indexes.boxes import SubscriptionBoxes
from topics.routes import RouteRecord
from workers.router.routes import RouteTable
from workers.routing.placement import make_plan, middles_of
from workers.routing.route_set import RouteSet
from workers.shard.shard import IndexChange

__all__ = ["routing"]

_ATTRIBUTES, _SHARDS, _MOST_BOXES = ("a", "b", "c"), 8, 4096
_SIZE, _WIDEST = 1000.0, 20.0
_FRAME, _FRAMES = 1000, 20
_SAMPLED = 10  # one in so many is known when the plan is made


def routing(lab: Lab) -> Section:
    rng = np.random.default_rng(1)
    count = lab.sizes.live
    middles = rng.uniform(0, _SIZE, (count, len(_ATTRIBUTES)))
    reach = rng.uniform(1, _WIDEST, middles.shape)
    events = rng.uniform(0, _SIZE, (_FRAME * _FRAMES, len(_ATTRIBUTES)))
    lab.step(f"a plan for {count:,} subscriptions and {_SHARDS} shards")
    homes = _planned(middles, reach, events[:2000])
    tables = {
        "planned": _published(lab, middles, reach, homes),
        "hashed": _published(lab, middles, reach, rng.integers(0, _SHARDS, count)),
    }
    rows = []
    for name, table in tables.items():
        lab.step(f"events, {name}")
        sent = sum(_ask(table, events))
        cost = 1e6 * repeat(partial(_ask, table, events), units=len(events)).best
        pairs, least = _SHARDS * len(events), 3.0 if name == "planned" else None
        words = f"{sent / len(events):.2f} of {_SHARDS} shards an event"
        rows.append(Row(f"pairs sent, {name}", pairs / sent, least=least, words=words))
        most = 2.0 if name == "planned" else None
        words = f"{len(events):,} events in frames of {_FRAME:,}"
        rows.append(Row(f"routing an event, {name}", cost, most=most, words=words, unit=" µs"))
    words = (
        f"{count:,} ranked subscriptions of {len(_ATTRIBUTES)} attributes on {_SHARDS} shards, each"
        f" with up to {_MOST_BOXES:,} routes. Pairs are compared with an event sent to every shard."
        " Planned: placed by `podium shards plan`, from a tenth of them; hashed: keys as they come."
    )
    heads = ["", "measured", "target", "", "in plain words"]
    figures = Table(heads, [row.cells() for row in rows], prose=4)
    return Section("covering_routing", "Routing: what it costs and saves", words, [figures])


def _planned(middles: np.ndarray, reach: np.ndarray, events: np.ndarray) -> np.ndarray:
    known = middles[::_SAMPLED]
    rows = np.arange(len(known))
    ends = known - reach[::_SAMPLED], known + reach[::_SAMPLED]
    boxes = SubscriptionBoxes(rows, np.zeros_like(rows), *ends)
    plan = make_plan(
        "benchmark", _ATTRIBUTES, _SHARDS, boxes, middles_of(boxes, len(known)), events
    )
    return np.array([plan.shard_of(row) for row in middles])


def _published(lab: Lab, middles: np.ndarray, reach: np.ndarray, homes: np.ndarray) -> RouteTable:
    """The router's table, by the records that the shards would publish."""
    table = RouteTable("", _ATTRIBUTES, _SHARDS)
    nothing = np.empty(0, np.int64)
    for shard in range(_SHARDS):
        lab.step(f"routes of shard {shard}")
        own = np.flatnonzero(homes == shard)
        columns = (middles[own] - reach[own], middles[own] + reach[own], np.zeros(len(own)))
        keeper = RouteSet("ranked", _ATTRIBUTES, _MOST_BOXES)
        changed = keeper.advance([IndexChange(nothing, own, columns)], anew=True)
        table.take(shard, RouteRecord("", 1, 0, len(homes), *changed[1:]))
    return table


def _ask(table: RouteTable, events: np.ndarray) -> list[int]:
    """How many events of each frame go to each shard."""
    after = np.full(_FRAME, -1)
    return [
        int(table.lets_through(shard, events[first : first + _FRAME], after).sum())
        for first in range(0, len(events), _FRAME)
        for shard in range(_SHARDS)
    ]
