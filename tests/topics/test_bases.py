import msgspec
import numpy as np
import pytest

from storage.array_blob import BlobError
from topics.bases import (
    VERSION,
    Base,
    BaseName,
    StoredBlob,
    TreeBlob,
    decode_record,
    decode_state,
    decode_tree,
    encode_record,
    encode_state,
    encode_tree,
)
from topics.codecs.json_record import BadRecord

NAME = BaseName("podium.ads.subscriptions", "a/b+c", 3, 42)
BASE = Base(
    version=VERSION,
    kind="ranked",
    topic=NAME.topic,
    topic_id=NAME.topic_id,
    shard=3,
    next_offset=42,
    subscriptions=2,
    store="redis://:***@redis/0",
    trees=[TreeBlob(NAME.tree(0), 7, "0123abcd", attribute="age")],
    state=StoredBlob(NAME.state, 9, "00000000"),
)
TREE = {
    "ids": np.array([4, 9]),
    "lows": np.array([-np.inf, 1.0]),
    "highs": np.array([np.inf, 2.0]),
    "scores": np.array([2.0, 1.0]),
    "arranged": np.array([1, 0], np.int32),
    "edges": np.array([1]),
    "branching": np.array([48]),
}
LAYOUT = {"kind": "ranked", "attributes": ["age"], "shards": 4}


def joined(parts):
    return b"".join(map(bytes, parts))


def test_a_record_says_what_a_matcher_needs_to_find_its_base():
    document = msgspec.json.decode(encode_record(BASE))
    assert document["trees"] == [
        {"name": NAME.tree(0), "bytes": 7, "crc32": "0123abcd", "attribute": "age"}
    ]
    assert document["next_offset"] == 42
    assert decode_record(encode_record(BASE)) == BASE
    assert BASE.name == NAME


@pytest.mark.parametrize(
    ("value", "field"),
    [
        pytest.param(None, "value", id="null"),
        pytest.param(b"{", "value", id="not-json"),
        pytest.param(encode_record(BASE).replace(b'"shard":3', b'"shard":-3'), "shard", id="shard"),
        pytest.param(
            encode_record(BASE).replace(b'"version":1', b'"version":2'), "version", id="newer"
        ),
        pytest.param(
            encode_record(BASE).replace(b"0123abcd", b"0123ABCD"), "trees[0].crc32", id="checksum"
        ),
    ],
)
def test_a_record_that_is_none_of_ours_is_refused_by_field(value, field):
    with pytest.raises(BadRecord) as caught:
        decode_record(value)
    assert caught.value.field == field


def test_names_are_folders_by_topic_shard_and_offset():
    assert str(NAME) == "podium.ads.subscriptions/a_b-c/3/00000000000000000042"
    assert NAME.tree(1) == f"{NAME}/tree-1"
    assert NAME.state == f"{NAME}/state"


def test_a_tree_comes_back_as_it_was_written_and_equal_ones_are_equal_bytes():
    data = joined(encode_tree(NAME, "age", TREE))
    assert data == joined(encode_tree(NAME, "age", dict(reversed(TREE.items()))))
    back = decode_tree(NAME, "age", data)
    assert list(back) == list(TREE)
    assert all((back[name] == TREE[name]).all() for name in TREE)


def test_a_tree_of_another_base_or_attribute_is_foreign():
    data = joined(encode_tree(NAME, "age", TREE))
    for name, attribute, told in (
        (BaseName(NAME.topic, NAME.topic_id, 3, 43), "age", "next_offset: got 42, expected 43"),
        (BaseName(NAME.topic, "other", 3, 42), "age", "topic_id: got 'a/b+c', expected 'other'"),
        (NAME, "visits", "attribute: got 'age', expected 'visits'"),
    ):
        with pytest.raises(BlobError) as caught:
            decode_tree(name, attribute, data)
        assert (caught.value.reason, str(caught.value)) == ("foreign", told)


def test_a_state_of_another_layout_is_foreign_and_no_tree():
    arrays = {"ids": np.array([4])}
    data = joined(encode_state(NAME, LAYOUT, arrays))
    assert decode_state(NAME, LAYOUT, data)["ids"].tolist() == [4]
    with pytest.raises(BlobError, match=r"attributes: got \['age'\], expected \['visits'\]"):
        decode_state(NAME, {**LAYOUT, "attributes": ["visits"]}, data)
    with pytest.raises(BlobError, match="got magic"):
        decode_tree(NAME, "age", data)


def test_bytes_that_were_not_announced_are_refused():
    blob = StoredBlob.of("x", [b"ab", b"cd"])
    blob.verify(b"abcd")
    for data, reason in ((b"abc", "truncated"), (b"abcde", "corrupt"), (b"abce", "corrupt")):
        with pytest.raises(BlobError) as caught:
            blob.verify(data)
        assert caught.value.reason == reason
