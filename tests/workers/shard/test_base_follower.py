"""Where the trees of an announced base are read from."""

import numpy as np

from indexes.intervals import SOPTRTree
from storage.base_store import BaseStore
from topics.bases import VERSION, Base, BaseName, StoredBlob, TreeBlob, encode_tree
from workers.shard.rebuild import _loaded


def test_a_tree_is_read_from_where_it_belongs_whatever_name_its_record_gives(tmp_path):
    """The name may be that of any file that the matcher can read."""
    tree = SOPTRTree.build(np.array([7]), np.array([0.0]), np.array([9.0]), np.array([1.0]))
    name = BaseName("podium.ads.subscriptions", "an-id", 0, 8)
    parts = encode_tree(name, "age", tree.to_arrays()._asdict())
    store = BaseStore.open(f"file://{tmp_path}")
    store.put(name.tree(0), parts)
    stored = StoredBlob.of(name.tree(0), parts)
    odd = TreeBlob("../../../dev/zero", stored.size, stored.crc32, attribute="age")
    state = StoredBlob(name.state, 0, "00000000")
    place = (name.topic, name.topic_id, 0, 8)
    base = Base(VERSION, "ranked", *place, 1, "file", [odd], state)
    assert _loaded(store, base, 0, odd).top_k(5.0, 3) == [(7, 1.0)]
