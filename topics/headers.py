"""The headers of Podium's records: their names, the tokens in them, and how to read them safely.

    events        podium-k        how many matches the event wants
                  podium-after    a token: do not answer before these subscription offsets are in
                  traceparent, tracestate
                                  the trace that the event belongs to (W3C), as its producer sets it
    matches       traceparent, tracestate
                                  as the event has them
                  podium-as-of    a token: the last subscription offset that each shard had applied,
                                  -1 for a shard that had applied nothing
    lists         podium-as-of    the subscription's own record
                  podium-message  zone@offset of the record of `messages` that changed the list
    dead letters  podium-error …  what was wrong with a record, and where it came from

A token is `shard@offset,…`, for example `0@1041,1@998`.
"""

import re
from collections.abc import Mapping
from operator import methodcaller

from confluent_kafka import Message

from topics.codecs.json_record import BadRecord

Header = tuple[str, bytes | None]

K = "podium-k"
AFTER = "podium-after"
AS_OF = "podium-as-of"
MESSAGE = "podium-message"
TRACEPARENT = "traceparent"
TRACESTATE = "tracestate"

ERROR = "podium-error"
ERROR_FIELD = "podium-error-field"
TOPIC = "podium-topic"
PARTITION = "podium-partition"
OFFSET = "podium-offset"
VERSION = "podium-version"
CUT = "podium-cut"
# Of what stands, inside a matcher, for a record that its client cannot read.
UNREADABLE = "podium-unreadable"

# A call whose outcome Python looks at.  With a name that is not text the client returns a list with
# holes, and an error beside it which a plain call of the method leaves for somebody else to find.
_headers = methodcaller("headers")
_PART = re.compile(r"([0-9]{1,9})@(-1|[0-9]{1,18})")


def headers_of(message: Message) -> list[Header]:
    """The headers of a record, or `BadRecord` if a name among them is not text.

    To be asked once of a record: what the client keeps after such a name is not to be touched.
    """
    try:
        return _headers(message) or []
    except (SystemError, UnicodeDecodeError):  # the client's own ways to say it
        raise BadRecord("headers", "got a name that is not UTF-8, expected text") from None


def format_token(offsets: Mapping[int, int]) -> str:
    """
    >>> format_token({1: 998, 0: 1041})
    '0@1041,1@998'
    """
    return ",".join(f"{shard}@{offsets[shard]}" for shard in sorted(offsets))


def parse_token(text: str) -> dict[int, int]:
    """
    >>> parse_token("0@1041,1@998")
    {0: 1041, 1: 998}
    """
    offsets: dict[int, int] = {}
    for part in text.split(","):
        found = _PART.fullmatch(part.strip())
        if not found:
            raise ValueError(f"got {text[:200]!r}, expected shard@offset,shard@offset,…")
        shard, offset = int(found[1]), int(found[2])
        offsets[shard] = max(offset, offsets.get(shard, -1))
    return offsets
