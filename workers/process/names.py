"""Names in Kafka that belong to one collection."""

from typing import NamedTuple

from configs.collection import Collection
from configs.settings import Settings
from topics.catalogue import topic_name


class Names(NamedTuple):
    prefix: str
    collection: str

    @classmethod
    def of(cls, settings: Settings, collection: Collection) -> "Names":
        return cls(settings.prefix, collection.name)

    def topic(self, topic: str) -> str:
        return topic_name(self.prefix, self.collection, topic)

    def group(self, role: str) -> str:
        """Consumer group of the `router`, `matcher`, `feed` or `merger`."""
        return f"{self.prefix}.{self.collection}.{role}"
