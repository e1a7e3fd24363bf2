"""Consistency tokens: `shard@offset,…`, for example `0@1041,1@998`.

`podium-after` on an event: do not answer before these subscription offsets are in.
`podium-as-of` on a match: the last subscription offset that each shard had applied;
-1 for a shard that had applied nothing.
"""

import re
from collections.abc import Mapping

AFTER = "podium-after"
AS_OF = "podium-as-of"

_PART = re.compile(r"([0-9]{1,9})@(-1|[0-9]{1,18})")


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
