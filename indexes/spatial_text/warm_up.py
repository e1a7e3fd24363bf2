"""Compiles, or loads from the cache, what a worker calls, so that its first frame is quick."""

import numpy as np

from indexes.spatial_text.l_filter import LFilter

__all__ = ["warm_up"]


def warm_up() -> None:
    """Exercise an index in every way that a shard does."""
    ids = np.arange(300)
    corners = np.column_stack((ids % 17, ids % 13)).astype(np.float64)
    boxes = np.column_stack((corners, corners + 1))
    words = [["a", "b", "c", f"w{i % 5}"][i % 3 :] for i in range(len(ids))]
    index = LFilter(bucket=1, loose=64, tau_num=4)
    index.insert_many(ids, boxes, words, ids / 7)
    for i in range(300, 400):  # lists grow, a run is made, leaves are divided
        index.insert(i, boxes[i % 7], words[i % 7])
    index.delete_many(ids[:10])
    _ask(LFilter.from_arrays(index.to_arrays(), bucket=1, loose=64, tau_num=4))
    _ask(index)


def _ask(index: LFilter) -> None:
    # A long message everywhere is for the trie, a short one at a place for the quadtree.
    boxes = np.array([[-50.0, -50.0, 50.0, 50.0], [1.0, 1.0, 1.0, 1.0]])
    words = [["a", "b", "c", *(f"w{i}" for i in range(5))], ["a"]]
    for part in (index, index.trie, index.quadtree):
        part.match_many(boxes, words)
        part.top_k_many(boxes, words, 3)
