"""`BETree`: the rigid predecessor of the BE*-tree, for comparison (Sadoghi and Jacobsen, BE-Tree).

It has the same p-nodes, c-nodes and l-nodes, but the domain of an attribute is a grid of equal
cells that is halved again and again, wherever the values lie; partitions are ranked by how many
expressions share the attribute; and there are no bounds of weights, so the k best are found among
all matches.
"""

import numpy as np

from indexes.boolean.be_star_tree import BEStarTree
from indexes.boolean.codes import Codes, bounds_of, codes_of, learn_codes
from indexes.boolean.tree_cut import RIGID
from indexes.kernels.quantile_codes import MOST_BOUNDS

__all__ = ["BETree"]


class BETree(BEStarTree):
    def __init__(self, leaf_capacity: int = 20) -> None:
        super().__init__(leaf_capacity=leaf_capacity)
        self._options = self._options._replace(
            split=RIGID, beta=np.inf, group=1, handful=0, by_size=True, prune=False
        )
        self._clear_structure()

    def _learn(self, live: np.ndarray, columns: int) -> Codes:
        """Cells of equal extent between the least and the greatest end of each column."""
        quantiles = bounds_of(learn_codes(self._store, live, columns))
        return codes_of(
            [
                np.unique(np.linspace(own[0], own[-1], MOST_BOUNDS)) if len(own) else own
                for own in quantiles
            ]
        )
