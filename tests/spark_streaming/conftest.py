"""One Spark session for the whole run, in this process, and collections for it to work on."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from pyspark.sql import SparkSession

from configs import Spark
from podium.stack.setup.jars import location
from spark_streaming.session import open_session
from tests.fleet.conftest import make_fleet, supervisor  # noqa: F401 (fixtures: live fleets)
from tests.spark_streaming.spark_collection import Stage

MakeStage = Callable[..., Stage]


@pytest.fixture(scope="session")
def jars() -> list:
    return sorted((location() / "spark").glob("*.jar"))


@pytest.fixture(scope="session")
def spark(jars: list, opened: ExitStack) -> Iterator[SparkSession]:
    """Stopped before the broker, which is among what was `opened`."""
    session = open_session(Spark(master="local[2]"), "tests", jars)
    yield session
    session.stop()


@pytest.fixture
def make_stage(
    broker: str, redis_url: str, unique_name: Callable[[str], str], tmp_path_factory
) -> MakeStage:
    def make(**declared: object) -> Stage:
        name = unique_name("bases")
        return Stage(tmp_path_factory.mktemp(name), name, broker, redis_url, declared)

    return make
