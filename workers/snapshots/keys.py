"""The keys of a shard's snapshots in Redis.

    {<prefix>:<collection>:snapshot:<shard>}              the pointer, a hash
    {<prefix>:<collection>:snapshot:<shard>}:claim        who may write: epoch and holder, a hash
    {<prefix>:<collection>:snapshot:<shard>}:<name>:<i>   chunk i of the generation <name>

The braces put all keys of a shard into one slot of a cluster, so that one script may touch them.
"""


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
