"""Indexes of weighted Boolean expressions: the k best of the subscriptions that an event satisfies.

After Sadoghi and Jacobsen, Relevance Matters: Capitalizing on Less (BE*-Tree).
"""

from indexes.boolean.batches import BooleanArrays
from indexes.boolean.be_star_tree import BEStarTree
from indexes.boolean.be_tree import BETree
from indexes.boolean.buckets import Buckets
from indexes.boolean.events import EncodedEvents
from indexes.boolean.explanation import Explanation, Term
from indexes.boolean.hulls import Hulls, hulls_of_arrays, hulls_of_expressions
from indexes.boolean.k_index import KIndex
from indexes.boolean.matcher import BooleanMatcher
from indexes.boolean.predicates import Predicate
from indexes.boolean.scan import Scan
from indexes.boolean.warm_up import warm_up

__all__ = [
    "BEStarTree",
    "BETree",
    "BooleanArrays",
    "BooleanMatcher",
    "Buckets",
    "EncodedEvents",
    "Explanation",
    "Hulls",
    "KIndex",
    "Predicate",
    "Scan",
    "Term",
    "hulls_of_arrays",
    "hulls_of_expressions",
    "warm_up",
]
