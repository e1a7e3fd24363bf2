"""`objects`: what is ranked, for collections of kind `range_topk`.

Key: the object's id.  Value: where it is and how good, as JSON; a lower y is better.  Other fields
are ignored, so that an existing topic can be used as it is; null removes the object.  One
partition, so that there is one order of all changes; compacted.

    {"x": 31.0, "y": 0.4, "place": "level 2"}
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from msgspec import Struct

from topics.codecs.json_record import BadRecord, decode
from topics.subscriptions.ids import check_ids

EXPECTED = 'an object such as {"x": 31.0, "y": 0.4}'


class ObjectRecord(Struct, frozen=True):
    x: float
    y: float


class ParsedObjects(NamedTuple):
    places: list[int]  # of the good records in their batch, ascending
    ids: list[bytes]
    x: np.ndarray  # f8[n]
    y: np.ndarray  # f8[n]  nan: removed
    bad: dict[int, BadRecord]  # by place


_decoder = msgspec.json.Decoder(ObjectRecord)


def parse_objects(keys: Sequence[bytes | None], values: Sequence[bytes | None]) -> ParsedObjects:
    """Records of the partition, in order; a bad one is told apart."""
    bad: dict[int, BadRecord] = {}
    places: list[int] = []
    ids: list[bytes] = []
    xs: list[float] = []
    ys: list[float] = []
    verdicts = check_ids(list(zip(keys, values, strict=True)), 0, 1)
    for place, (key, value, verdict) in enumerate(zip(keys, values, verdicts, strict=True)):
        try:
            if verdict is not None:
                raise verdict
            x, y = (0.0, np.nan) if value is None else _point(value)
        except BadRecord as error:
            bad[place] = error
            continue
        except Exception as error:  # nobody has foreseen it, and it would fail each time
            bad[place] = BadRecord("value", f"cannot be read: {error!r}")
            continue
        places.append(place)
        ids.append(key or b"")
        xs.append(x)
        ys.append(y)
    # -0.0 is 0.0.
    return ParsedObjects(places, ids, np.array(xs) + 0.0, np.array(ys) + 0.0, bad)


def _point(value: bytes) -> tuple[float, float]:
    record = decode(_decoder, value, EXPECTED)
    return record.x, record.y
