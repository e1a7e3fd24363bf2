"""`python -m workers.warm_up`: everything that any worker will need, into numba's cache."""

from collections.abc import Sequence
from multiprocessing import Pool

from configs.collection import Collection, Routing
from workers.warm_up import warm_up

ROUTED = Routing(enabled=True)
EXPRESSIONS = [Collection(name="boolean", kind="boolean", attributes=("a",), routing=ROUTED)]
BOXES = [
    Collection(name="one", kind="ranked", attributes=("a",), routing=ROUTED),
    Collection(name="several", kind="ranked", attributes=("a", "b"), routing=ROUTED),
    Collection(name="relaxed", kind="relaxed", attributes=("a", "b"), routing=ROUTED),
]


def warm_up_all(collections: Sequence[Collection]) -> None:
    for collection in collections:
        for role in ("router", "matcher", "merger"):
            warm_up(role, collection)


if __name__ == "__main__":
    with Pool(2) as processes:  # these have little in common, and take about as long
        processes.map(warm_up_all, [EXPRESSIONS, BOXES])
