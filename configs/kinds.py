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
    # Settings of a collection that, beside its attributes, say how its records are read.
    dialect: tuple[str, ...] = ()
    has_places: bool = False  # in every subscription: boxes say where, without any attribute
    reserved: tuple[str, ...] = ()  # fields of events that no attribute may be called

    def expected(self) -> str:
        if self.most_attributes == 0:
            return "none"
        return f"{self.least_attributes} to {self.most_attributes} names"


KINDS: dict[str, Kind] = {
    "ranked": Kind(1, 64),
    "relaxed": Kind(1, 64),
    "boolean": Kind(0, None),
    "spatial_text": Kind(
        0,
        64,
        dialect=("space", "stemmer"),
        has_places=True,
        reserved=("point", "box", "tokens", "text"),
    ),
    "range_topk": Kind(0, 0, has_lists=True),
}

# Snowball's, as PyStemmer names them.
STEMMERS = (
    "arabic", "armenian", "basque", "catalan", "czech", "danish", "dutch", "dutch_porter",
    "english", "esperanto", "estonian", "finnish", "french", "german", "greek", "hindi",
    "hungarian", "indonesian", "irish", "italian", "lithuanian", "nepali", "norwegian", "persian",
    "polish", "porter", "portuguese", "romanian", "russian", "serbian", "sesotho", "spanish",
    "swedish", "tamil", "turkish", "yiddish",
)  # fmt: skip
