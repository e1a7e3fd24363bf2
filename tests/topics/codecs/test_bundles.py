"""Bundles, chunks and blobs that are put and dropped: the same bytes, however they were cut."""

import tempfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from storage.base_store import BaseStore, NotStored, chunks
from topics.codecs.byte_strings import Keys
from topics.codecs.columns import bundle, unbundle

# Either side of the eight bytes that parts are filled up to.
parts = st.lists(st.integers(0, 17).map(lambda n: bytes(range(1, n + 1))), min_size=1, max_size=9)


@given(parts=parts, again=parts)
def test_a_bundle_has_its_parts_also_when_they_are_views_of_another(parts, again):
    data = bundle(parts)
    views = unbundle(data)
    assert [bytes(view) for view in views] == parts
    other = bundle([*map(bytes, views[1:]), *again])
    assert [bytes(view) for view in unbundle(other)] == parts[1:] + again
    assert [bytes(view) for view in views] == parts
    for view in views:
        assert len(view) == 0 or np.frombuffer(view, np.uint8).base is not None
    # Nothing but the zeros between them is beside the parts.
    assert len(data) == 16 + 8 * len(parts) + sum(len(part) + -len(part) % 8 for part in parts)


@given(parts=parts, most=st.integers(1, 9))
def test_chunks_are_the_same_bytes_none_of_them_too_large(parts, most):
    made = [bytes(chunk) for chunk in chunks(parts, most)]
    assert b"".join(made) == b"".join(parts)
    assert all(0 < len(chunk) <= most for chunk in made)
    given_small = sum(len(part) < most for part in parts)
    large = sum(-(-len(part) // most) for part in parts if len(part) >= most)
    assert len(made) <= large + given_small


@given(columns=st.lists(st.lists(st.none() | st.binary(max_size=9), max_size=5), max_size=4))
def test_columns_that_are_laid_one_behind_the_other_keep_their_keys(columns):
    """As partials are merged: lengths of one do not shift what comes behind."""
    packed = [Keys.pack(column) for column in columns]
    joined = Keys(
        np.concatenate([np.empty(0, np.int32), *(keys.lengths for keys in packed)]),
        np.concatenate([np.empty(0, np.uint8), *(keys.data for keys in packed)]),
    )
    assert joined.unpack() == [key for column in columns for key in column]


class FilesAgainstDict(RuleBasedStateMachine):
    """Names that share folders: one that is emptied goes, and comes again."""

    names = st.sampled_from(["a/b/tree-0", "a/b/tree-1", "a/b/state", "a/c/tree-0", "d"])
    blobs = st.lists(st.binary(max_size=5), max_size=4)

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.store = BaseStore.open(f"file://{self.folder.name}/bases")
        self.stored = {}

    @rule(name=names, parts=blobs)
    def put(self, name, parts):
        self.store.put(name, parts)
        self.stored[name] = b"".join(parts)

    @rule(name=names)
    def drop(self, name):
        self.store.drop(name)
        self.stored.pop(name, None)

    @invariant()
    def blobs_are_those_of_the_dict(self):
        for name in ["a/b/tree-0", "a/b/tree-1", "a/b/state", "a/c/tree-0", "d"]:
            assert self.store.has(name) == (name in self.stored)
            if name in self.stored:
                assert self.store.get(name) == self.stored[name]
            else:
                with pytest.raises(NotStored):
                    self.store.get(name)

    def teardown(self):
        self.folder.cleanup()


TestFilesAgainstDict = FilesAgainstDict.TestCase
TestFilesAgainstDict.settings = settings(max_examples=40, stateful_step_count=20)
