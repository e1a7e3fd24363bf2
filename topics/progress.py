"""`progress`: how far each zone of a `range_topk` collection is.

Key: the zone.  At most one a second, and at least one in five seconds while nothing happens, so
that quiet and stalled differ: whoever has the end of `objects` sees what a zone has yet to apply.

    {"objects": 1041, "at": 1763440000000, "left": "0@88,1@90"}
"""

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from topics.headers import parse_token


class Progress(Struct, frozen=True, omit_defaults=True):
    objects: Annotated[
        int | None, Meta(description="offset of the last object record that is in; null: none")
    ]
    at: Annotated[int, Meta(description="when, in milliseconds since 1970")]
    # Up to here, by shard, nothing more is written for subscriptions that have ended or moved.
    left: str = ""
    # The latest reset that the zone has followed, and whether it needs another.
    reset: int = 0
    lost: bool = False


_decoder = msgspec.json.Decoder(Progress)


def encode(progress: Progress) -> bytes:
    return msgspec.json.encode(progress)


def decode(value: bytes) -> Progress:
    """`msgspec.MsgspecError` if it is none."""
    return _decoder.decode(value)


def key_of(zone: int) -> bytes:
    return str(zone).encode()


def positions_of(left: str) -> dict[int, int]:
    """Offsets by shard; `ValueError` if the text is not such."""
    return parse_token(left) if left else {}
