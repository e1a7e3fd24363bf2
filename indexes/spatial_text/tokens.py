"""`TokenDictionary`: tokens as numbers, and how many subscriptions have each.

Structures know tokens by their numbers alone, which are small, so that what is known of a token is
a place in an array.  A number is kept as long as a subscription has the token; then the token is
forgotten, and a new one may get its number.
"""

import itertools
import sys
from collections.abc import Iterable, Sequence

import numpy as np
from numba import njit

__all__ = ["TokenDictionary", "distinct_lists", "pack_strings", "unpack_strings"]


_EMPTY = sys.getsizeof("")


class TokenDictionary:
    """
    >>> words = TokenDictionary()
    >>> words.ids_of([["pizza", "jazz"], ["jazz"]])
    (array([0, 1, 1], dtype=int32), array([0, 2, 3]))
    >>> words.known_ids([["jazz", "opera", "jazz"]])
    (array([1], dtype=int32), array([0, 1]))
    """

    def __init__(self, spare: int = 8) -> None:
        """A column that grows gets at least so much room to spare."""
        self._numbers: dict[str, int] = {}
        self._strings: list[str | None] = []  # by number; None where there is no token
        self._free: list[int] = []
        self._letters = 0  # bytes of all strings, as Python has them
        self._spare = spare
        self.frequencies = np.zeros(0, np.int32)  # by number, then room: subscriptions with it

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def size(self) -> int:
        """More than every number in use."""
        return len(self._strings)

    @property
    def nbytes(self) -> int:
        parts = (self._numbers, self._strings, self._free)
        return sum(map(sys.getsizeof, parts)) + self._letters + self.frequencies.nbytes

    def string(self, number: int) -> str:
        string = self._strings[number]
        if string is None:
            raise KeyError(f"token {number} is not in use")
        return string

    def strings(self) -> list[str | None]:
        """The tokens by their numbers; None where a number is not in use."""
        return list(self._strings)

    def ids_of(self, token_lists: Sequence[Iterable[str]]) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of each list's distinct tokens and where each list begins; learns new ones.

        A token that is not a string is refused before anything is learnt.
        """
        lists = distinct_lists(token_lists)
        for tokens in lists:
            for token in tokens:
                if token not in self._numbers:
                    _require_string(token)
        numbers = np.empty(sum(map(len, lists)), np.int32)
        at, starts = 0, np.zeros(len(lists) + 1, np.int64)
        for i, tokens in enumerate(lists):
            for token in tokens:
                number = self._numbers.get(token)
                numbers[at] = self._learn(token) if number is None else number
                at += 1
            starts[i + 1] = at
        return numbers, starts

    def known_ids(self, token_lists: Sequence[Iterable[str]]) -> tuple[np.ndarray, np.ndarray]:
        """As `ids_of`, but tokens that no subscription has are left out."""
        numbers: list[int] = []
        starts = np.zeros(len(token_lists) + 1, np.int64)
        known = self._numbers
        for i, tokens in enumerate(distinct_lists(token_lists)):
            for token in tokens:
                number = known.get(token)
                if number is not None:
                    numbers.append(number)
                else:
                    _require_string(token)
            starts[i + 1] = len(numbers)
        return np.array(numbers, np.int32), starts

    def require_known(self, numbers: np.ndarray) -> None:
        """A number that no token has: `ValueError`."""
        outside = numbers[(numbers < 0) | (numbers >= self.size)]
        if not len(outside):
            unused = np.unique(numbers[self.frequencies[numbers] == 0])
            outside = unused[[self._strings[number] is None for number in unused.tolist()]]
        if len(outside):
            raise ValueError(f"tokens: got {outside[0]} when a number in use was expected")

    def retain(self, numbers: np.ndarray) -> None:
        """Count tokens of new subscriptions, each as often as a subscription has it."""
        _count(self.frequencies, numbers, 1)

    def release(self, numbers: np.ndarray) -> None:
        """Count tokens of subscriptions that are gone; those that none has now are forgotten."""
        _count(self.frequencies, numbers, -1)
        gone = numbers[self.frequencies[numbers] == 0]
        if len(gone):
            self._forget(np.unique(gone).tolist())

    def check(self) -> None:
        """Raise `AssertionError` unless every structural invariant holds."""
        used = {number: text for number, text in enumerate(self._strings) if text is not None}
        assert self._numbers == {text: number for number, text in used.items()}
        assert sorted([*used, *self._free]) == list(range(self.size))
        assert (self.frequencies >= 0).all()
        assert not self.frequencies[self._free].any()
        assert self._letters == sum(map(_size, used.values()))

    def _learn(self, token: str) -> int:
        if self._free:
            number = self._free.pop()
            self._strings[number] = token
        else:
            number = len(self._strings)
            self._strings.append(token)
            if number == len(self.frequencies):
                grown = np.zeros(number + number // 2 + self._spare, np.int32)
                grown[:number] = self.frequencies
                self.frequencies = grown
        self._numbers[token] = number
        self._letters += _size(token)
        return number

    def _forget(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            token = self.string(number)
            del self._numbers[token]
            self._letters -= _size(token)
            self._strings[number] = None
            self._free.append(number)


def distinct_lists(token_lists: Sequence[Iterable[str]]) -> list[dict[str, None]]:
    """Of each list its tokens once, in the order given; what this gave stays as it is."""
    return [tokens if type(tokens) is dict else _distinct(tokens) for tokens in token_lists]


def _distinct(tokens: Iterable[str]) -> dict[str, None]:
    """Each token once; a string is not taken for its letters."""
    if isinstance(tokens, str) or not isinstance(tokens, Iterable):
        raise ValueError(f"tokens: got {tokens!r} when a list of strings was expected")
    try:
        return dict.fromkeys(tokens)
    except TypeError as error:
        raise ValueError(f"tokens: got {tokens!r} when a list of strings was expected") from error


def _size(token: str) -> int:
    """Bytes, near what Python has, whose own count grows when a string is asked for its UTF-8."""
    return _EMPTY + len(token.encode("utf-8", "surrogatepass"))


def _require_string(token: object) -> None:
    if not isinstance(token, str):
        raise ValueError(f"tokens: got {token!r} when a string was expected")


def pack_strings(strings: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Strings as the bytes of all of them and where each begins; `unpack_strings` reads them.

    >>> pack_strings(["ab", "c"])
    (array([97, 98, 99], dtype=uint8), array([0, 2, 3]))
    """
    encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
    starts = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(string) for string in encoded], out=starts[1:])
    return np.frombuffer(b"".join(encoded), np.uint8), starts


def unpack_strings(letters: np.ndarray, starts: np.ndarray) -> list[str]:
    everything, bounds = letters.tobytes(), starts.tolist()
    return [everything[a:b].decode("utf-8", "surrogatepass") for a, b in itertools.pairwise(bounds)]


@njit(cache=True, nogil=True)
def _count(frequencies, numbers, step):
    for number in numbers:
        frequencies[number] += step
