"""The words of a text: the same on both sides, in subscriptions and in events.

A text is brought to Unicode's form NFKC, its case is folded, and its words are those between the
boundaries of Unicode's default rules (UAX #29) that have a letter or a digit.  A stemmer of
Snowball may then take off their endings.

    "Don't miss Cafés; 2.50 each!"  ->  don't miss cafés 2.50 each

The rules are written here as one expression over the property Word_Break, for the package
`regex` has boundaries of its own making: none before a vowel that follows an apostrophe, so that
of 'apple' in quotes it would keep the first.
"""

import re
import threading
import unicodedata
from collections.abc import Sequence

import regex
import Stemmer

from topics.codecs.json_record import BadRecord

__all__ = ["MOST_TEXT_BYTES", "MOST_WORDS", "Analyser"]

MOST_WORDS = 10_000  # of an event
MOST_TEXT_BYTES = 1_000_000  # of an event

_STEMS_KEPT = 100_000  # of a stemmer: most words of a text are among those seen of late

_CLASSES = {
    "letter": r"[\p{WB=ALetter}\p{WB=Hebrew_Letter}]",
    "hebrew": r"\p{WB=Hebrew_Letter}",
    "digit": r"\p{WB=Numeric}",
    "kana": r"\p{WB=Katakana}",
    "low_line": r"\p{WB=ExtendNumLet}",
    "in_letters": r"[\p{WB=MidLetter}\p{WB=MidNumLet}\p{WB=Single_Quote}]",
    "in_digits": r"[\p{WB=MidNum}\p{WB=MidNumLet}\p{WB=Single_Quote}]",
    "mark": r"[\p{WB=Extend}\p{WB=Format}\p{WB=ZWJ}]",  # belongs to what it follows: WB4
    "alone": r"[[\p{L}\p{N}]--[\p{WB=ALetter}\p{WB=Hebrew_Letter}\p{WB=Numeric}\p{WB=Katakana}]]",
}


def _expand(pattern: str) -> str:
    """
    >>> _expand("<digit>")
    '\\\\p{WB=Numeric}'
    """
    return re.sub(r"<(\w+)>", lambda name: _CLASSES[name[1]], pattern)


# Letters and digits, with what may stand between two of these (WB5 to WB12, WB7a apart).
_LETTERS_AND_DIGITS = r"""
    (?: <letter>++ <mark>*+ (?: <in_letters> <mark>*+ (?=<letter>)
                              | " (?<=<hebrew><mark>*") <mark>*+ (?=<hebrew>) )?+
      | <digit>++ <mark>*+ (?: <in_digits> <mark>*+ (?=<digit>) )?+
    )++"""
_KANA = r"(?: <kana> <mark>*+ )++"  # WB13
_LOW_LINES = r"(?: <low_line> <mark>*+ )"  # WB13a, WB13b
_WORD = regex.compile(
    _expand(
        rf"""
        {_LOW_LINES}*+ (?: {_LETTERS_AND_DIGITS} | {_KANA} )
        (?: {_LOW_LINES}++ (?: {_LETTERS_AND_DIGITS} | {_KANA} ) )*+
        (?: {_LOW_LINES}++ | ' (?<=<hebrew><mark>*') <mark>*+ )?+  # WB7a
        (?: (?<=\u200d) \p{{Extended_Pictographic}} <mark>*+ )*+  # WB3c
      | <alone> <mark>*+ (?: (?<=\u200d) \p{{Extended_Pictographic}} <mark>*+ )*+
      | {_LOW_LINES}++  # no word, but not to be looked at again from each of its places
        """
    ),
    regex.VERSION1 | regex.VERBOSE,
)
# The same of what ASCII has of these classes.
_ASCII_WORD = re.compile(
    r"(?<!_)_*[a-z0-9][a-z0-9_]*"
    r"(?:(?<=[a-z])[:.'](?=[a-z])[a-z0-9_]+|(?<=[0-9])[.,;'](?=[0-9])[a-z0-9_]+)*"
)
_HAS_LETTER_OR_DIGIT = regex.compile(r"[\p{L}\p{N}]").search


class Analyser:
    """Finds the words of texts; may be used by several threads.

    >>> Analyser().words("Don't miss Cafés; 2.50 each!")
    ["don't", 'miss', 'cafés', '2.50', 'each']
    >>> Analyser("english").words("running shoes")
    ['run', 'shoe']
    """

    def __init__(self, stemmer: str | None = None) -> None:
        known = Stemmer.algorithms()
        if stemmer is not None and stemmer not in known:
            raise ValueError(
                f"stemmer: got {stemmer!r}, expected null or one of {', '.join(sorted(known))}"
            )
        self._stemmer = None if stemmer is None else Stemmer.Stemmer(stemmer, _STEMS_KEPT)
        self._stemmer_is_free = threading.Lock()  # it writes to what it keeps
        self.name = "unicode" if stemmer is None else f"unicode+{stemmer}"

    @property
    def version(self) -> str:
        """Of all that decides what the words are: another one may find others."""
        parts = f"1, Unicode {unicodedata.unidata_version}, regex {regex.__version__}"
        return parts if self._stemmer is None else f"{parts}, Snowball {Stemmer.version()}"

    def words(self, text: str) -> list[str]:
        """In their order, each as often as it is there."""
        if text.isascii():
            found = _ASCII_WORD.findall(text.lower())
        else:
            # Folding may leave letters and marks apart that NFKC joins.
            folded = unicodedata.normalize("NFKC", text).casefold()
            found = [
                word
                for word in _WORD.findall(unicodedata.normalize("NFKC", folded))
                if word.isalnum() or _HAS_LETTER_OR_DIGIT(word)
            ]
        if self._stemmer is None or not found:
            return found
        with self._stemmer_is_free:
            stems = self._stemmer.stemWords(found)
        return stems if all(stems) else [s or word for s, word in zip(stems, found, strict=True)]

    def one_word(self, token: str, field: str) -> str:
        """A token of a subscription, which must be one word."""
        words = self.words(token)
        if len(words) != 1:
            problem = f"got {_shown(token)}, which has {len(words)} words, expected one word"
            remedy = "; give each word as a token, or all as phrase" if words else ""
            raise BadRecord(field, problem + remedy)
        return words[0]

    def phrase(self, text: str, field: str) -> list[str]:
        """Words that an event must have in a row; at least one."""
        words = self.words(text)
        if not words:
            raise BadRecord(field, f"got {_shown(text)}, which has no words, expected some")
        return words

    def words_of_text(self, text: str, field: str) -> list[str]:
        """The words of an event's text, within the limits."""
        size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
        if size > MOST_TEXT_BYTES:
            raise BadRecord(field, f"got {size} bytes of text, expected at most {MOST_TEXT_BYTES}")
        return _refuse_many(self.words(text), field)

    def words_of_tokens(self, tokens: Sequence[str], field: str) -> list[str]:
        """The words of an event's tokens, one after the other, within the limits."""
        return _refuse_many(self.words("\n".join(tokens)), field)


def _refuse_many(words: list[str], field: str) -> list[str]:
    if len(words) > MOST_WORDS:
        raise BadRecord(field, f"got {len(words)} words, expected at most {MOST_WORDS}")
    return words


def _shown(text: str, most: int = 80) -> str:
    return repr(text if len(text) <= most else f"{text[:most]}…")
