"""Fleets for the tests of the workers.

Processes take seconds to start, so most tests share one fleet.  Each of them starts without
subscriptions, and after each everything that came back is compared with the oracle.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any
from uuid import uuid4

import pytest

from podium.stack.run.supervisor import Supervisor
from tests.fleet.fleet import LAYOUTS, Fleet
from tests.fleet.nursery import Nursery

MakeFleet = Callable[..., Fleet]

GRACE_S = 60.0  # that a worker has to stop, on a busy machine


@pytest.fixture(scope="session")
def supervisor(opened: ExitStack) -> Iterator[Supervisor]:
    """Its guard process stops the workers also when the test run is killed.

    They stop before the broker does, which is among what was `opened`.  One that a test kills
    again and again is back after a second each time.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("podium.stack.run.supervisor.WORKER_GRACE_S", GRACE_S)
        nursery = Nursery()
        if sys.platform == "linux":
            patch.setattr("podium.stack.run.supervisor.Child", nursery.child())
        supervisor = Supervisor(changed=lambda: None, say=print, back_off_s=[1.0])
        yield supervisor
        supervisor.close()
        nursery.close()


@contextmanager
def making_fleets(
    supervisor: Supervisor, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MakeFleet]:
    """Makes fleets of collections that nobody else has, and stops them at the end."""
    made: list[Fleet] = []

    def make(stem: str, brokers: str, redis_url: str, **options: dict) -> Fleet:
        name = f"{stem}-{uuid4().hex[:8]}"
        folder = tmp_path_factory.mktemp(stem)
        made.append(Fleet(supervisor, folder, name, brokers, redis_url, **options))
        return made[-1]

    yield make
    for fleet in made:
        fleet.stop()


@pytest.fixture(scope="module")
def make_fleet(
    supervisor: Supervisor, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MakeFleet]:
    """Those that it makes do not stay longer than a file's tests: an idle one is not for free."""
    with making_fleets(supervisor, tmp_path_factory) as make:
        yield make


@contextmanager
def fleets_of(
    make_fleet: MakeFleet,
    brokers: str,
    redis_url: str,
    collections: Mapping[str, Mapping[str, Any]],
    **options: Any,
) -> Iterator[dict[str, Fleet]]:
    """A fleet for each declared collection, by its stem, all started at once and ready."""
    made = {
        stem: make_fleet(stem, brokers, redis_url, collection=declared, **options)
        for stem, declared in collections.items()
    }
    for fleet in made.values():
        fleet.create_topics()
        fleet.start(*fleet.roles)
    for fleet in made.values():
        fleet.wait_ready(*fleet.roles)
    yield made
    for fleet in made.values():
        fleet.stop()


@pytest.fixture(scope="session", params=LAYOUTS)
def shared_fleet(
    request: pytest.FixtureRequest,
    supervisor: Supervisor,
    tmp_path_factory: pytest.TempPathFactory,
    broker: str,
    redis_url: str,
) -> Iterator[Fleet]:
    """Two shards, two attributes, k = 3; an event without matches gets a record too."""
    with making_fleets(supervisor, tmp_path_factory) as make:
        declared = {"partitions": {"matches": 3}, "layout": request.param}
        fleet = make("shared", broker, redis_url, collection=declared)
        fleet.start_all()
        yield fleet


@pytest.fixture
def fleet(shared_fleet: Fleet) -> Iterator[Fleet]:
    """The shared fleet, without subscriptions; what the test made of it is checked afterwards."""
    shared_fleet.check_that_none_has_died()
    yield shared_fleet
    shared_fleet.check_all()
    shared_fleet.clear()
    shared_fleet.check_that_none_has_died()
