"""All that a painter and a zone call in compiled code, apart from what reads records."""

from configs.collection import Collection
from indexes.kinds import KINDS


def warm_up(collection: Collection) -> None:
    KINDS[collection.kind].warm_up(collection.attributes)
