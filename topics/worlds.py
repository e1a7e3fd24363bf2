"""Worlds in the base store: what a batch painter knows as of the end of a batch.

    <objects topic>/<topic id>/<lineage>/<next object>-<next subscriptions, all shards>/world
    … /slice-<i>    its objects, if these are kept in slices; `slice-<i>.<step>` on the way there

A lineage is the batches of one checkpoint.  Where objects stand that share an x depends on how they
came, so a world is a function of its batches, and worlds of other batches have other names.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec import Struct, structs

from storage import array_blob
from topics.bases import Parts

MAGIC, VERSION = b"PWLD", 2


class WorldName(Struct, frozen=True):
    topic: str  # of the objects
    topic_id: str
    lineage: str
    objects: int  # next offset
    subscriptions: tuple[int, ...]  # next offsets by shard

    def __str__(self) -> str:
        # Kafka's topic ids are base64, whose slash would be a folder.
        safe = self.topic_id.replace("/", "_").replace("+", "-")
        where = f"{self.objects:020d}-{sum(self.subscriptions):020d}"
        return f"{self.topic}/{safe}/{self.lineage}/{where}/world"

    def slice(self, number: int, step: int | None = None) -> str:
        """The name of a slice of its objects; a step is one on the way to this world."""
        folder = str(self).rpartition("/")[0]
        return f"{folder}/slice-{number}" + ("" if step is None else f".{step}")


def encode(name: WorldName, layout: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Parts:
    """`layout` says what the arrays are of; a world of another layout is refused."""
    return array_blob.encode(MAGIC, VERSION, {**structs.asdict(name), **layout}, arrays)


def decode(
    name: WorldName, layout: Mapping[str, Any], data: array_blob.Buffer
) -> dict[str, np.ndarray]:
    """`BlobError` if the data is not this world."""
    head, arrays = array_blob.decode(MAGIC, VERSION, data)
    expected = {**structs.asdict(name), **layout, "subscriptions": list(name.subscriptions)}
    array_blob.require_head(head, expected)
    return arrays
