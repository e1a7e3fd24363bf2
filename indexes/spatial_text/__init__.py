"""Location-aware matching: boxes and tokens of subscriptions against those of messages (seed 004).

tokens       TokenDictionary: tokens as numbers, and how many subscriptions have each
records      Records: the subscriptions by row, which all structures of an index share
index        SpatialTextIndex: what all structures share: verbs, checks, arrays

mbr_trie     MBRTrie (§3): tries of token sets that know where their subscriptions are
token_order  the global order of tokens, and in which order a trie places subscriptions
trie_nodes   the nodes of a trie, and how they are made of rows
trie_search  its three filters, all matches and the best ones
trie_check   what `check()` asks of a trie

pt_quadtree      PTQuadtree (§4): a quadtree whose nodes know pivotal tokens
quadtree         its nodes, their lists, and how regions are divided
pivots           which tokens let a message leave a node alone
quadtree_search  its filter and verification, the best matches, estimates

l_filter         LFilter (§5): both over the same records, the better one for each message
warm_up          compiles what a worker calls

conditions       what a subscription asks beyond its box and tokens
areas            boxes, circles and polygons, exactly
placed           PlacedIndex: what a shard of kind `spatial_text` asks, over LFilter and conditions

token_r_trees    RtTree and InvertedRTree: what the seed compares with (§6.3)
"""

from indexes.spatial_text.index import SpatialTextArrays, SpatialTextIndex
from indexes.spatial_text.l_filter import LFilter
from indexes.spatial_text.mbr_trie import MBRTrie
from indexes.spatial_text.pt_quadtree import PTQuadtree
from indexes.spatial_text.token_r_trees import InvertedRTree, RtTree
from indexes.spatial_text.tokens import TokenDictionary
from indexes.spatial_text.warm_up import warm_up

__all__ = [
    "InvertedRTree", "LFilter", "MBRTrie", "PTQuadtree", "RtTree", "SpatialTextArrays",
    "SpatialTextIndex", "TokenDictionary", "warm_up",
]  # fmt: skip
