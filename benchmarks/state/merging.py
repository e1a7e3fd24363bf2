"""What an event costs the merger, by the number of shards that answer it."""

import numpy as np

from benchmarks.measure import micro, repeat
from benchmarks.report import Plot, Section, Table
from benchmarks.state.lab import Lab
from benchmarks.workloads.zipf_intervals import Zipf
from topics import matches, partials
from topics.codecs.byte_strings import ByteStrings
from topics.frames import FrameId
from topics.partials import Partial
from workers.merger.assembly import merge

__all__ = ["merging"]

_EVENTS = 1_000  # a frame


def merging(lab: Lab) -> Section:
    shards = lab.sizes.merged_shards
    parts: dict[str, list[float]] = {"decode": [], "merge": [], "write JSON": []}
    rows = []
    for count in shards:
        lab.step(f"merging the answers of {count} shards")
        encoded = _answers(count)
        decoded = [partials.decode(answer) for answer in encoded]
        merged = merge(decoded)
        _require_best(decoded, merged.hits.scores)
        work = {
            "decode": lambda some=encoded: [partials.decode(answer) for answer in some],
            "merge": lambda some=decoded: merge(some),
            "write JSON": lambda made=merged: matches.encode_many(
                "events", made.partition, made.offsets, made.hits
            ),
        }
        for name, done in work.items():
            parts[name].append(repeat(done, units=_EVENTS).best)
        seconds = [parts[name][-1] for name in work]
        size = sum(map(len, encoded)) / _EVENTS
        rows.append([f"{count}", *map(micro, seconds), micro(sum(seconds)), f"{size:,.0f}"])
    header = ["shards", *parts, "together", "bytes of answers"]
    words = (
        f"{Zipf.k} hits a shard for each of {_EVENTS:,} events in a frame, ids such as"
        " `ad-1234567`: CPU microseconds an event, without Kafka. The merged scores are compared"
        " with a sort of all."
    )
    lines = {name: [seconds * 1e6 for seconds in taken] for name, taken in parts.items()}
    plot = Plot("state_merging", "shards", "microseconds an event", shards, lines, log_x=True)
    return Section("state_merging", "Merging", words, [Table(header, rows)], [plot])


def _answers(shards: int) -> list[bytes]:
    rng = np.random.default_rng(7)
    return [partials.encode(_answer(number, shards, rng)) for number in range(shards)]


def _answer(shard: int, shards: int, rng: np.random.Generator) -> Partial:
    hits = _EVENTS * Zipf.k
    texts = [b'"ad-%07d"' % number for number in rng.integers(0, 10_000_000, hits).tolist()]
    return Partial(
        FrameId(0, 0, 0, _EVENTS - 1),
        shard,
        np.arange(shards, dtype=np.uint16),
        0,
        np.arange(_EVENTS),
        np.zeros(_EVENTS, np.int64),
        np.full(_EVENTS, Zipf.k, np.int32),
        ByteStrings.pack([None] * _EVENTS),
        np.full(_EVENTS, Zipf.k, np.int32),
        -np.sort(-rng.random((_EVENTS, Zipf.k)), axis=1).ravel(),
        rng.integers(0, 1_000_000, hits),
        ByteStrings.pack(texts),
    )


def _require_best(answers: list[Partial], merged: np.ndarray) -> None:
    offered = np.hstack([answer.scores.reshape(_EVENTS, -1) for answer in answers])
    best = -np.sort(-offered, axis=1)[:, : Zipf.k]
    if not np.array_equal(best.ravel(), merged):
        raise RuntimeError("merged answers are not the best of all")
