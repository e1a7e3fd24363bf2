"""The kinds of collections, and what the file of one may say of its attributes.

Every layer has such a table for what is its own: `topics.kinds`, `indexes.kinds`, `workers.kinds`.
A kind is in all of them or in none.
"""

from typing import NamedTuple


class Kind(NamedTuple):
    least_attributes: int
    most_attributes: int | None  # None: as many as people like
    has_lists: bool = (
        False  # standing lists of objects, kept in zones, instead of matches of events
    )

    def expected(self) -> str:
        if self.most_attributes == 0:
            return "none"
        return f"{self.least_attributes} to {self.most_attributes} names"


KINDS: dict[str, Kind] = {
    "ranked": Kind(1, 64),
    "relaxed": Kind(1, 64),
    "boolean": Kind(0, None),
    "range_topk": Kind(0, 0, has_lists=True),
}

# Known by name, so that nobody takes them for a slip of the pen.
NOT_BUILT_YET = ("spatial_text",)
