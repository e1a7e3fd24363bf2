"""Subscriptions of places and words: what is read, what is refused, and with which field."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles import spatial_text as oracle
from topics.areas import BOX, CIRCLE, POLYGONS
from topics.codecs.json_record import BadRecord
from topics.kinds import KINDS, contract_for, reading_of
from topics.subscriptions import SpatialTextContract

SPHERE = SpatialTextContract(["age"], "sphere", "english")
PLANE = SpatialTextContract(["age"], "plane")
BOXED = {"box": [13, 52, 14, 53], "tokens": ["pizza"]}
TRIANGLE = {"type": "Polygon", "coordinates": [[[0, 0], [4, 0], [0, 4], [0, 0]]]}


def parse(contract, document):
    return contract.parse(json.dumps(document).encode())


def refusal(document, contract=SPHERE):
    with pytest.raises(BadRecord) as caught:
        parse(contract, document)
    return caught.value


def test_what_is_given_is_read():
    row = parse(
        SPHERE,
        {
            "area": {"circle": [13.4, 52.5, 1500]},
            "tokens": ["Pizzas", "PIZZA"],
            "any": ["Vegan", "Cheap"],
            "none": ["frozen"],
            "phrase": "Happy hours!",
            "score": 2.5,
            "decay": {"metres": 500, "offset": 100},
            "where": {"age": [18, None]},
        },
    )
    assert (row.area.shape, row.area.place) == (CIRCLE, (13.4, 52.5, 1500.0, 0.0))
    assert row.words.all == ("pizza", "happi", "hour")
    assert row.words.any == ("vegan", "cheap")
    assert row.words.none == ("frozen",)
    assert row.words.phrase == ("happi", "hour")
    assert row.score == 2.5
    assert row.decay == (500.0, 100.0, 13.4, 52.5)
    assert (row.lows, row.highs) == ([18.0], [math.inf])


def test_what_is_left_out_has_its_default():
    row = parse(SPHERE, BOXED)
    assert (row.area.shape, row.area.place) == (BOX, (13.0, 52.0, 14.0, 53.0))
    assert row.words == (("pizza",), (), (), ())
    assert row.score == 1.0
    assert np.isnan([*row.decay, *row.lows, *row.highs]).all()


def test_a_phrase_may_stand_alone_and_a_decay_names_its_place():
    row = parse(
        SPHERE, {"area": TRIANGLE, "phrase": "new new york", "decay": {"metres": 5, "at": [1, 2]}}
    )
    assert row.area.shape == POLYGONS
    assert row.words == (("new", "york"), (), (), ("new", "new", "york"))
    assert row.decay == (5.0, 0.0, 1.0, 2.0)


CIRCLE_OF = {"area": {"circle": [1, 2, 3]}, "tokens": ["a"]}


@pytest.mark.parametrize(
    ("document", "field"),
    [
        pytest.param({"tokens": ["a"]}, "box", id="no-place"),
        pytest.param(BOXED | {"area": TRIANGLE}, "box", id="two-places"),
        pytest.param(BOXED | {"box": [1, 5, 2, 4]}, "box", id="inverted"),
        pytest.param(BOXED | {"box": [1, 5, 2]}, "box", id="three-numbers"),
        pytest.param(BOXED | {"box": [1, 5, 200, 6]}, "box[2]", id="beyond-the-sphere"),
        pytest.param(
            {"area": {"circle": [1, 2, -3]}, "tokens": ["a"]},
            "area.circle[2]",
            id="negative-radius",
        ),
        pytest.param({"area": [1, 2], "tokens": ["a"]}, "area", id="no-area"),
        pytest.param(
            {"area": TRIANGLE | {"coordinates": [TRIANGLE["coordinates"][0][:3]]}, "tokens": ["a"]},
            "area.coordinates[0]",
            id="open-ring",
        ),
        pytest.param({"box": [1, 2, 3, 4]}, "tokens", id="no-words"),
        pytest.param(BOXED | {"tokens": []}, "tokens", id="empty-tokens"),
        pytest.param(BOXED | {"tokens": "pizza"}, "tokens", id="a-string"),
        pytest.param(BOXED | {"tokens": ["pizza", "ice cream"]}, "tokens[1]", id="two-words"),
        pytest.param(BOXED | {"any": ["…"]}, "any[0]", id="no-word"),
        pytest.param(BOXED | {"none": ["a"] * 1001}, "none", id="1001-tokens"),
        pytest.param(BOXED | {"phrase": " "}, "phrase", id="empty-phrase"),
        pytest.param(BOXED | {"phrase": "a " * 1001}, "phrase", id="1001-words"),
        pytest.param(BOXED | {"score": "1"}, "score", id="score"),
        pytest.param(CIRCLE_OF | {"score": -1, "decay": {"metres": 1}}, "score", id="negative"),
        pytest.param(CIRCLE_OF | {"decay": {"metres": 0}}, "decay.metres", id="no-metres"),
        pytest.param(
            CIRCLE_OF | {"decay": {"metres": 1, "offset": -1}}, "decay.offset", id="offset"
        ),
        pytest.param(CIRCLE_OF | {"decay": {"metres": 1, "at": [1, 2]}}, "decay.at", id="centre"),
        pytest.param(BOXED | {"decay": {"metres": 1}}, "decay.at", id="no-centre"),
        pytest.param(
            BOXED | {"decay": {"metres": 1, "at": [1, 91]}}, "decay.at[1]", id="at-nowhere"
        ),
        pytest.param(BOXED | {"where": {"age": [3, 2]}}, "where.age", id="interval"),
        pytest.param(BOXED | {"where": {"height": [1, 2]}}, "where.height", id="attribute"),
        pytest.param(BOXED | {"colour": "red"}, "colour", id="field"),
    ],
)
def test_what_is_wrong_is_named(document, field):
    assert refusal(document).field == field


def test_more_than_10_000_corners_are_refused():
    angles = np.linspace(0, 2 * np.pi, 10_002)[:-1]
    ring = np.stack((np.cos(angles), np.sin(angles)), axis=1).round(9).tolist()
    document = {"area": TRIANGLE | {"coordinates": [[*ring, ring[0]]]}, "tokens": ["a"]}
    assert "10001" in str(refusal(document))
    assert refusal(document).field.startswith("area.coordinates")


def test_a_box_that_crosses_the_antimeridian_is_inverted_only_in_the_plane():
    across = BOXED | {"box": [170, 0, -170, 5]}
    assert parse(SPHERE, across).area.place == (170.0, 0.0, -170.0, 5.0)
    assert refusal(across, PLANE).field == "box"
    assert parse(PLANE, BOXED | {"box": [0, 0, 1e6, 1e6]}).area.place[2] == 1e6


words = st.sampled_from(["a", "B", "a b", "", "…", 3])
word_lists = st.lists(words, max_size=2)
numbers = st.integers(-3, 3)
documents = st.fixed_dictionaries(
    {},
    optional={
        "box": st.lists(numbers, min_size=3, max_size=4),
        "area": st.sampled_from([TRIANGLE, {"circle": [1, 2, 3]}, {"circle": [1, 2, -3]}, {}]),
        "tokens": word_lists,
        "any": word_lists,
        "none": word_lists,
        "phrase": words,
        "score": numbers,
        "decay": st.fixed_dictionaries(
            {}, optional={"metres": numbers, "offset": numbers, "at": st.just([1, 2])}
        ),
        "where": st.dictionaries(
            st.sampled_from(["age", "height"]), st.lists(numbers, min_size=2, max_size=2)
        ),
    },
)
likely = st.builds(lambda some, more: BOXED | some | more, documents, documents)


@pytest.mark.parametrize("space", ["sphere", "plane"])
@given(document=st.one_of(documents, likely))
def test_a_subscription_is_read_or_refused_as_the_oracle_does(space, document):
    if "area" in document and "box" in document:
        del document["box"]
    contract, value = SpatialTextContract(["age"], space), json.dumps(document).encode()
    try:
        wanted = oracle.subscription_of(value, ["age"], space)
    except ValueError:
        assert refusal(document, contract).field
        return
    row = contract.parse(value)
    assert set(row.words.all) == wanted.all | set(wanted.phrase)
    assert set(row.words.any) == (wanted.any or set())
    assert set(row.words.none) == wanted.none
    assert row.words.phrase == wanted.phrase
    assert row.score == wanted.score
    assert (None if math.isnan(row.decay[0]) else row.decay) == (
        wanted.decay and (wanted.decay.half, wanted.decay.offset, wanted.decay.x, wanted.decay.y)
    )
    ends = {} if math.isnan(row.lows[0]) else {"age": (row.lows[0], row.highs[0])}
    assert ends == wanted.where


def test_stored_subscriptions_are_those_that_were_parsed():
    given_ = [BOXED, CIRCLE_OF | {"decay": {"metres": 2}}, BOXED | {"where": {"age": [None, 3]}}]
    given_ += [{"area": TRIANGLE, "phrase": "a b a", "any": ["c"], "none": ["d", "e"]}]
    rows = [parse(SPHERE, document) for document in given_]
    arrays = SPHERE.to_arrays(SPHERE.columns(rows))
    again = SPHERE.from_arrays(arrays)
    assert again.words.tolist() == [row.words for row in rows]
    assert [area.place for area in again.areas] == [row.area.place for row in rows]
    stored = SPHERE.to_arrays(again)
    assert stored.keys() == arrays.keys()
    for name in arrays:
        assert stored[name].tobytes() == arrays[name].tobytes(), name


def test_another_stemmer_or_space_reads_in_another_way():
    readings = [
        reading_of("spatial_text", {"space": space, "stemmer": stemmer})
        for space in ("sphere", "plane")
        for stemmer in (None, "english", "french")
    ]
    assert len(set(readings)) == 6
    assert KINDS["ranked"].reading() == ()
    contract = contract_for("spatial_text", [], {"space": "plane", "stemmer": "french"})
    assert contract.parse(b'{"box":[0,0,999,999],"tokens":["chevaux"]}').words.all == ("cheval",)
