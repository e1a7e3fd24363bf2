import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topics.headers import format_token, parse_token

tokens = st.dictionaries(st.integers(0, 10**9 - 1), st.integers(-1, 10**18 - 1), min_size=1)


@settings(max_examples=100, deadline=None)
@given(offsets=tokens)
def test_a_token_comes_out_as_it_went_in(offsets):
    assert parse_token(format_token(offsets)) == offsets


@settings(max_examples=50, deadline=None)
@given(offsets=tokens)
def test_shards_are_written_in_order(offsets):
    shards = [int(part.split("@")[0]) for part in format_token(offsets).split(",")]
    assert shards == sorted(offsets)


def test_a_shard_that_has_applied_nothing_is_at_minus_one():
    assert format_token({0: -1, 1: 0}) == "0@-1,1@0"
    assert parse_token("0@-1,1@0") == {0: -1, 1: 0}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("0@1041", {0: 1041}, id="one"),
        pytest.param("1@998,0@1041", {0: 1041, 1: 998}, id="any-order"),
        pytest.param(" 0@1 , 1@2 ", {0: 1, 1: 2}, id="blanks"),
        pytest.param("0@5,0@9,0@7", {0: 9}, id="the-latest-of-a-shard"),
        pytest.param("0@-1,0@0", {0: 0}, id="something-after-nothing"),
        pytest.param("007@008", {7: 8}, id="leading-zeros"),
    ],
)
def test_tokens_that_are_understood(text, expected):
    assert parse_token(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param(",", id="comma"),
        pytest.param("0@1,", id="open-list"),
        pytest.param("0", id="no-offset"),
        pytest.param("@1", id="no-shard"),
        pytest.param("0@", id="offset-missing"),
        pytest.param("-1@0", id="negative-shard"),
        pytest.param("0@-2", id="below-minus-one"),
        pytest.param("0@+1", id="plus"),
        pytest.param("0@1.0", id="fraction"),
        pytest.param("0 @1", id="blank-inside"),
        pytest.param("0@1;1@2", id="semicolon"),
        pytest.param("0@1@2", id="twice-at"),
        pytest.param("0@" + "9" * 19, id="beyond-any-offset"),
        pytest.param("9" * 10 + "@0", id="beyond-any-shard"),
        pytest.param("x" * 10_000, id="endless"),
    ],
)
def test_other_text_is_refused_with_what_was_got_and_expected(text):
    with pytest.raises(ValueError, match="expected shard@offset,shard@offset") as caught:
        parse_token(text)
    assert f"got {text[:200]!r}" in str(caught.value)
    assert len(str(caught.value)) < 300
