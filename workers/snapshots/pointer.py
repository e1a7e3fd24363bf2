"""The pointer of a shard: which generation of chunks is its snapshot, and who may change that.

    {<prefix>:<collection>:snapshot:<shard>}              the pointer, a hash
    {<prefix>:<collection>:snapshot:<shard>}:claim        who may write: epoch and holder, a hash
    {<prefix>:<collection>:snapshot:<shard>}:<name>:<i>   chunk i of the generation <name>

The braces put all keys of a shard into one slot of a cluster, so that one script may touch them.
`CLAIM`, `PUBLISH` and `DROP` are what has to happen in one step in Redis: KEYS[1] is the pointer,
KEYS[2] the claim.  Numbers are compared as Lua's doubles, exact up to 2^53; what is stored is the
text that came in.
"""

from typing import Annotated, Any

import msgspec

from workers.snapshots.errors import NoSnapshot
from workers.snapshots.snapshot import SnapshotHead


def pointer_key(prefix: str, collection: str, shard: int) -> str:
    """
    >>> pointer_key("podium", "ads", 3)
    '{podium:ads:snapshot:3}'
    """
    return f"{{{prefix}:{collection}:snapshot:{shard}}}"


def claim_key(pointer: str) -> str:
    return f"{pointer}:claim"


def chunk_key(pointer: str, name: str, index: int) -> str:
    """The scripts spell it so, too."""
    return f"{pointer}:{name}:{index}"


class Pointer(msgspec.Struct, frozen=True):
    """What Redis says about a shard's snapshot, without reading it."""

    name: str
    epoch: int
    next_offset: int
    chunks: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
    chunk_bytes: Annotated[int, msgspec.Meta(ge=1)]
    bytes: Annotated[int, msgspec.Meta(ge=1)]
    holder: str  # the worker that wrote it
    head: SnapshotHead

    @property
    def lengths(self) -> list[int]:
        return [self.chunk_bytes] * (self.chunks - 1) + [
            self.bytes - self.chunk_bytes * (self.chunks - 1)
        ]


def parse_pointer(key: str, fields: dict[bytes, bytes]) -> Pointer:
    """`NoSnapshot` unless the fields are those of a pointer, and agree with each other."""
    name = fields.get(b"name", b"")
    try:
        values: dict[str, Any] = {name.decode(): value.decode() for name, value in fields.items()}
        if "head" in values:
            values["head"] = msgspec.json.decode(values["head"])
        pointer = msgspec.convert(values, Pointer, strict=False)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise NoSnapshot("corrupt", f"{key} cannot be read: {error}", name) from error
    if pointer.next_offset != pointer.head.next_offset:
        raise NoSnapshot(
            "corrupt",
            f"{key}: got next offset {pointer.next_offset}, expected {pointer.head.next_offset}"
            " as in its head",
            name,
        )
    if not 0 < pointer.lengths[-1] <= pointer.chunk_bytes:
        raise NoSnapshot(
            "corrupt",
            f"{key}: got {pointer.bytes} bytes, expected as many as fill"
            f" {pointer.chunks} chunks of {pointer.chunk_bytes}",
            name,
        )
    return pointer


# Who asks may believe that the shard is still its own, and may have claimed it again: what tells
# is how far it has read.  Offsets of another topic say nothing, and a generation that the one who
# asks has found unusable protects nothing.
_AHEAD = """
local function is_ahead(topic_id, next_offset, unusable)
    local held = redis.call('HMGET', KEYS[1], 'name', 'next_offset', 'head')
    if not held[1] or held[1] == unusable then
        return false
    end
    local read, head = pcall(cjson.decode, held[3] or '')
    if not read or type(head) ~= 'table' or head.topic_id ~= topic_id then
        return false
    end
    return (tonumber(held[2]) or 0) > next_offset
end
"""

# A new epoch, above every one before it.  The clock, in microseconds, keeps it above those of a
# Redis that has lost its data, too: without it the former owner would have the higher epoch.
# One who says what it holds gets none if the pointer is ahead of that.
CLAIM = (
    _AHEAD
    + """
if ARGV[2] and is_ahead(ARGV[2], tonumber(ARGV[3]), ARGV[4]) then
    local held = redis.call('HMGET', KEYS[1], 'epoch', 'next_offset', 'holder')
    return {'stale', held[1] or '', held[2], held[3] or ''}
end
local time = redis.call('TIME')
local epoch = time[1] * 1000000 + time[2]
for i = 1, 2 do
    local known = tonumber(redis.call('HGET', KEYS[i], 'epoch') or 0)
    epoch = math.max(epoch, known + 1)
end
redis.call('HSET', KEYS[2], 'epoch', string.format('%.0f', epoch), 'holder', ARGV[1])
redis.call('PERSIST', KEYS[2])
return {'claimed', string.format('%.0f', epoch)}
"""
)

# Swaps the pointer, unless another worker has claimed the shard or the pointer is ahead.  The
# chunks' own expiry ends here, that of the former generation begins.  A repeat changes nothing.
PUBLISH = (
    _AHEAD
    + """
local fields = cjson.decode(ARGV[1])
local keep_old_s, unusable = ARGV[2], ARGV[3]
local epoch, next_offset = tonumber(fields.epoch), tonumber(fields.next_offset)

local claim = redis.call('HMGET', KEYS[2], 'epoch', 'holder')
if claim[1] and tonumber(claim[1]) > epoch then
    return {'stale', claim[1], '', claim[2] or ''}
end
local old = redis.call('HMGET', KEYS[1], 'name', 'epoch', 'next_offset', 'holder', 'chunks')
if old[1] == fields.name then
    return {'published'}
end
local topic_id = cjson.decode(fields.head).topic_id
if (tonumber(old[2]) or 0) > epoch or is_ahead(topic_id, next_offset, unusable) then
    return {'stale', old[2] or '', old[3] or '', old[4] or ''}
end

local bytes = 0
for i = 3, #KEYS do
    bytes = bytes + redis.call('STRLEN', KEYS[i])
end
if bytes ~= tonumber(fields.bytes) then
    return {'lost', tostring(bytes)}
end
for i = 3, #KEYS do
    redis.call('PERSIST', KEYS[i])
end
redis.call('DEL', KEYS[1])
for field, value in pairs(fields) do
    redis.call('HSET', KEYS[1], field, value)
end
redis.call('HSET', KEYS[2], 'epoch', fields.epoch, 'holder', fields.holder)
redis.call('PERSIST', KEYS[2])
if old[1] then
    for i = 0, (tonumber(old[5]) or 0) - 1 do
        redis.call('EXPIRE', KEYS[1] .. ':' .. old[1] .. ':' .. i, keep_old_s)
    end
end
return {'published'}
"""
)

# Removes the snapshot.  The claim stays for a while, so that a former owner stays fenced off.
DROP = """
local name, chunks = false, 0
if redis.call('TYPE', KEYS[1]).ok == 'hash' then
    name = redis.call('HGET', KEYS[1], 'name')
    chunks = tonumber(redis.call('HGET', KEYS[1], 'chunks') or 0) or 0
end
for i = 0, name and chunks - 1 or -1 do
    redis.call('UNLINK', KEYS[1] .. ':' .. name .. ':' .. i)
end
redis.call('EXPIRE', KEYS[2], ARGV[1])
return redis.call('UNLINK', KEYS[1])
"""
