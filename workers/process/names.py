"""Names in Kafka that belong to one collection."""

from typing import NamedTuple

from configs.collection import Collection
from configs.settings import Settings
from topics.catalogue import group_name, topic_name


class Names(NamedTuple):
    prefix: str
    collection: str

    @classmethod
    def of(cls, settings: Settings, collection: Collection) -> "Names":
        return cls(settings.prefix, collection.name)

    def topic(self, topic: str) -> str:
        return topic_name(self.prefix, self.collection, topic)

    def group(self, group: str) -> str:
        """A consumer group of `topics.catalogue.GROUPS`."""
        return group_name(self.prefix, self.collection, group)
