"""A router packs an event; with routing it holds it against routes, too."""

from configs.collection import Collection
from workers.warm_up.records import received_frames


def warm_up(collection: Collection) -> None:
    list(received_frames(collection))
    if collection.routing.enabled:
        from workers.warm_up import matcher  # whose subscriptions the routes are made of

        matcher.warm_up(collection)
