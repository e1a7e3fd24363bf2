"""How long a test may take: `make test` has the short forms, `make test-long` the long ones.

A test of which a shorter one says the same is marked `long`; one that draws its cases draws more of
them.  What a test asserts is the same in both.
"""

import os
from typing import TypeVar

T = TypeVar("T")

LONG = os.environ.get("PODIUM_TESTS") == "long"


def effort(short: T, long: T) -> T:
    """
    >>> effort(short=3, long=9) in (3, 9)
    True
    """
    return long if LONG else short
