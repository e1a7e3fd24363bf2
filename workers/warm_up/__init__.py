"""Compiles what a worker will need before it says that it is ready.

A small job takes the way of real records: through the codecs, because arrays that are views of
received bytes are read-only, and numba compiles those apart.  Each role does its own part, so that
a router waits for no index, unless it has routes.

    python -m workers.warm_up

does it for all roles and kinds of collections, which fills numba's cache.
"""

from importlib import import_module

from configs.collection import Collection
from indexes import keep_forms_apart

__all__ = ["warm_up"]


def warm_up(role: str, collection: Collection) -> None:
    keep_forms_apart()  # also where a role needs nothing else of that package
    import_module(f"workers.warm_up.{role}").warm_up(collection)
