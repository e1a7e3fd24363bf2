"""Fleets of a painter and zones."""

from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest

from podium.stack.run.supervisor import Supervisor
from tests.fleet.list_fleet import ListFleet

MakeListFleet = Callable[..., ListFleet]


@pytest.fixture(scope="module")
def make_list_fleet(
    supervisor: Supervisor,
    tmp_path_factory: pytest.TempPathFactory,
    broker: str,
    redis_url: str,
) -> Iterator[MakeListFleet]:
    made: list[ListFleet] = []

    def make(stem: str, **options: Any) -> ListFleet:
        name = f"{stem}-{uuid4().hex[:8]}"
        folder = tmp_path_factory.mktemp(stem)
        made.append(ListFleet(supervisor, folder, name, broker, redis_url, **options))
        return made[-1]

    yield make
    for fleet in made:
        fleet.stop()
