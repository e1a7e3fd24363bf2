"""Compiles what a worker will need before it says that it is ready.

A small job takes the way of real records: through the codecs, because arrays that are views of
received bytes are read-only, and numba compiles those apart.  Each role does its own part, so that
a router waits for no index, unless it has routes.

    python -m workers.warm_up

does it for all kinds and all their roles, which fills numba's cache.
"""

from collections import defaultdict
from importlib import import_module
from multiprocessing import Pool

from configs.collection import Collection, Routing
from indexes import keep_forms_apart
from workers.kinds import KINDS, Role

__all__ = ["warm_up"]


def warm_up(role: Role, collection: Collection) -> None:
    keep_forms_apart()  # also where a role needs nothing else of that package
    import_module(f"{role.package}.warm_up").warm_up(collection)


def warm_up_kinds(names: list[str]) -> None:
    for name in names:
        for attributes in KINDS[name].shapes:
            routed = Routing(enabled=bool(attributes))
            collection = Collection(
                name=name.replace("_", "-"), kind=name, attributes=attributes, routing=routed
            )
            for role in KINDS[name].pipeline:
                warm_up(role, collection)


def _by_family() -> list[list[str]]:
    """Kinds whose indexes are of one package, and have most of their kernels in common."""
    from indexes.kinds import KINDS as INDEXES

    families: dict[str, list[str]] = defaultdict(list)
    for name in KINDS:
        families[INDEXES[name].family].append(name)
    return list(families.values())


if __name__ == "__main__":
    with Pool(2) as processes:
        processes.map(warm_up_kinds, _by_family(), chunksize=1)
