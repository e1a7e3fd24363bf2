"""Words: raced against another package's boundaries, folded, stemmed, refused with the field."""

import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from uniseg import wordbreak

from topics.codecs.json_record import BadRecord
from topics.words import MOST_WORDS, Analyser

plain = Analyser()
# What the rules of UAX #29 tell apart, of which random text would seldom have two in a row.
TELLING = (
    "abZ19_.,:;'\" \r\n-\u05d0\u0301\u200d\u30a2\u3042\u4e00\u00ad\u2019\u2024\u00b7"
    "\U0001f1eb\U0001f468\u202f\u2028\u200b\uff11\u0e01\u0660"
)
ASSIGNED = [
    chr(code)
    for code in range(sys.maxunicode + 1)
    if unicodedata.category(chr(code)) not in ("Cn", "Cs", "Co")
]


def expected(text):
    """What the words are by the definition: NFKC, folded, with a letter or a digit."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    parts = wordbreak.words(unicodedata.normalize("NFKC", folded))
    return [part for part in parts if any(unicodedata.category(c)[0] in "LN" for c in part)]


@given(st.text(TELLING, max_size=12))
def test_words_where_the_rules_meet(text):
    assert plain.words(text) == expected(text)


@given(st.lists(st.sampled_from(ASSIGNED), max_size=8).map("".join))
def test_words_of_all_scripts(text):
    assert plain.words(text) == expected(text)


@given(st.text([chr(code) for code in range(128)], max_size=20))
def test_words_of_ascii(text):
    assert plain.words(text) == expected(text)
    # The way of other text finds the same, behind a word that only this way has.
    assert plain.words(f"é {text}") == ["é", *plain.words(text)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("-- !? ...", []),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("'apple' don't l\u2019amour", ["apple", "don't", "l\u2019amour"]),
        ("3.14 1,000 a.b e:f x;y", ["3.14", "1,000", "a.b", "e:f", "x", "y"]),
        ("ﬁne ２４ⅷ", ["fine", "24viii"]),
        ("Ϊ́ ΐ", ["ΐ", "ΐ"]),
        ("東京 タワー", ["東", "京", "タワー"]),
        ("snake_case __x _", ["snake_case", "__x"]),
        ("🇫🇷a 👩‍👧 b", ["a", "b"]),
    ],
)
def test_words(text, words):
    assert plain.words(text) == words


@pytest.mark.parametrize("start", ["! ", "é ! "])
@pytest.mark.parametrize(
    "unit", ["a", "a\u0301", "_", "\u200d", "א'", 'א\u0301"', "1,", "a'", "_a", "あ", "é_"]
)
def test_a_long_text_of_one_kind_takes_no_more_than_its_length(start, unit):
    """Else it would take hours."""
    assert len(plain.words(start + unit * 300_000)) <= 300_001


def test_a_stemmer_takes_off_endings():
    analyser = Analyser("english")
    assert analyser.words("Running RUNS easily") == ["run", "run", "easili"]
    assert Analyser("german").words("Häuser") == ["haus"]
    assert analyser.one_word("Shoes", "tokens[0]") == "shoe"


def test_an_unknown_stemmer_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"stemmer: got 'klingon'.* english, .* swedish"):
        Analyser("klingon")


def test_name_and_version_tell_analysers_apart():
    assert (plain.name, Analyser("dutch").name) == ("unicode", "unicode+dutch")
    assert unicodedata.unidata_version in plain.version
    assert "Snowball" in Analyser("dutch").version
    assert plain.version == Analyser().version


def test_threads_share_an_analyser():
    analyser = Analyser("english")
    texts = [" ".join(f"running{i}s{j}ing" for j in range(300)) for i in range(24)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(analyser.words, texts * 4))
    assert found == [Analyser("english").words(text) for text in texts] * 4


@pytest.mark.parametrize("token", ["", " ", "!", "pizza place", "a-b", "東京"])
def test_a_token_that_is_not_one_word_is_refused(token):
    with pytest.raises(BadRecord) as refused:
        plain.one_word(token, "tokens[3]")
    assert refused.value.field == "tokens[3]"


def test_a_phrase_has_words():
    assert plain.phrase("New  York!", "phrase") == ["new", "york"]
    with pytest.raises(BadRecord) as refused:
        plain.phrase("?!", "phrase")
    assert refused.value.field == "phrase"


class TestLimits:
    def test_a_text_of_a_million_bytes_is_taken_and_one_more_is_not(self):
        assert plain.words_of_text("é" * 500_000, "text") == ["é" * 500_000]
        for text in ("é" * 500_000 + "x", " " * 1_000_001):
            with pytest.raises(BadRecord) as refused:
                plain.words_of_text(text, "text")
            assert refused.value.field == "text"

    def test_more_words_than_the_limit_are_refused(self):
        words = ["w"] * MOST_WORDS
        assert plain.words_of_text(" ".join(words), "text") == words
        assert plain.words_of_tokens(words, "tokens") == words
        with pytest.raises(BadRecord):
            plain.words_of_text(" ".join([*words, "w"]), "text")
        with pytest.raises(BadRecord):
            plain.words_of_tokens([*words, "w"], "tokens")

    def test_tokens_do_not_run_into_each_other(self):
        assert plain.words_of_tokens(["New", "York", "", "a b", "\u0301c"], "tokens") == [
            "new", "york", "a", "b", "c",
        ]  # fmt: skip
