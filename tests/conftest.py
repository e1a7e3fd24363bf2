"""A real broker and a real Redis for the tests that need them.

Each comes from the first of: an address in the environment (`PODIUM_TEST_BROKERS`,
`PODIUM_TEST_REDIS_URL`), the local stack (the jars and redis-server that `make test` has set up),
containers. If none can start, the tests that asked for it fail with all the reasons: none is
skipped. One broker serves the whole run, by however many processes, and a run of unit tests alone
in one process starts nothing.
"""

import os
import re
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

from podium.stack import Stack, StackError

Source = Callable[[], str]

BROKERS, REDIS_URL = "PODIUM_TEST_BROKERS", "PODIUM_TEST_REDIS_URL"

# The first example may compile a kernel, and any may wait for others that use the machine.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

# A JVM lives for minutes here, at most: what pays in weeks is left out.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# What the tests of a family compile is kept in one process: another would compile it again.  All
# others that compile are with "intervals".
_FAMILIES = ("paint", "boolean", "covering", "spatial_text", "intervals")
_COMPILING = ("tests/indexes/", "tests/benchmarks/", "indexes/")
# Files whose tests share one fleet.
_SHARING = tuple(
    f"tests/fleet/{name}.py"
    for name in (
        "answers/test_after",
        "answers/test_explained",
        "answers/test_matching",
        "answers/test_property",
        "bad_input/test_bad_events",
        "bad_input/test_bad_subscriptions",
    )
)
# Files whose tests share one Spark session: another takes long to start, and to get quick.
_IN_SPARK = tuple(
    f"tests/spark_streaming/{name}.py"
    for name in (
        "paint/test_paint_batch",
        "paint/test_slices",
        "paint/test_several_collections",
        "test_backfill",
        "test_backfill_fleet",
        "test_backfill_killed",
        "test_io",
        "test_matching",
        "test_metrics",
        "test_sopt_bases",
    )
)
# Where several processes share the tests, what takes long comes first, so that they end together;
# what computes goes along with what waits.
_LONG_FIRST = (
    "one Spark session",
    "kernels of paint",
    "tests/podium/commands/test_stack.py",
    "kernels of intervals",
    "tests/fleet/faults/test_crash_points.py",
    "kernels of boolean",
    "tests/fleet/bad_input/test_hostile.py",
    "kernels of covering",
    "tests/fleet/state/test_snapshots.py",
    "tests/podium/demo/test_demo.py",
    "tests/fleet/",
    "tests/spark_streaming/",
    "tests/podium/",
)


def _scope(nodeid: str) -> str:
    """Tests of one scope are run by one process; mostly a file."""
    file = nodeid.partition("::")[0]
    if file in _SHARING:
        return "one fleet"
    if file in _IN_SPARK:
        return "one Spark session"
    if file.startswith("tests/helm/"):
        return "the chart"
    if file.startswith(_COMPILING):
        named = (family for family in _FAMILIES if re.search(rf"[/_]{family}[/_.]", file))
        return f"kernels of {next(named, 'intervals')}"
    return file


class ByFile(LoadScopeScheduling):
    """One process takes a whole file, and with it its fixtures, or several that belong together."""

    def _split_scope(self, nodeid: str) -> str:
        return _scope(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile:
    config.option.loadscopereorder = False
    return ByFile(config, log)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config, specs: Any) -> None:
    """Start one broker and one Redis for all processes; if that fails they say so themselves."""
    if os.environ.keys() >= {BROKERS, REDIS_URL}:
        return
    opened = ExitStack()
    config.add_cleanup(opened.close)
    folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="podium-tests-")))
    try:
        stack = opened.enter_context(Stack(folder))
    except StackError:
        return
    os.environ.setdefault(BROKERS, stack.brokers)
    os.environ.setdefault(REDIS_URL, stack.redis_url)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def place(item: pytest.Item) -> int:
        scope = _scope(item.nodeid)
        starts = (n for n, start in enumerate(_LONG_FIRST) if scope.startswith(start))
        return next(starts, len(_LONG_FIRST))  # the shared fleet, too: it stays to the end

    items.sort(key=place)


class LocalStack:
    """One stack for both services, started by the first that asks."""

    def __init__(self, folder: Path, opened: ExitStack) -> None:
        self._folder = folder
        self._opened = opened
        self._stack: Stack | None = None

    def get(self) -> Stack:
        if self._stack is None:
            self._stack = self._opened.enter_context(Stack(self._folder))
        return self._stack


@pytest.fixture(scope="session")
def opened() -> Iterator[ExitStack]:
    """Whatever the session has started; stopped in reverse order at its end."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture(scope="session")
def local_stack(tmp_path_factory: pytest.TempPathFactory, opened: ExitStack) -> LocalStack:
    return LocalStack(tmp_path_factory.mktemp("session-stack"), opened)


@pytest.fixture(scope="session")
def broker(local_stack: LocalStack, opened: ExitStack) -> str:
    """The bootstrap address of a running Kafka."""

    def from_container() -> str:
        from testcontainers.community.kafka import KafkaContainer

        return opened.enter_context(KafkaContainer().with_kraft()).get_bootstrap_server()

    return _first_that_starts(
        "a Kafka broker",
        {
            BROKERS: lambda: os.environ[BROKERS],
            "the local stack": lambda: local_stack.get().brokers,
            "a container": from_container,
        },
    )


@pytest.fixture(scope="session")
def redis_url(local_stack: LocalStack, opened: ExitStack) -> str:
    """The address of a running Redis."""

    def from_container() -> str:
        from testcontainers.community.redis import RedisContainer

        container = opened.enter_context(RedisContainer("redis:7"))
        return f"redis://{container.get_container_host_ip()}:{container.get_exposed_port(6379)}/0"

    return _first_that_starts(
        "Redis",
        {
            REDIS_URL: lambda: os.environ[REDIS_URL],
            "the local stack": lambda: local_stack.get().redis_url,
            "a container": from_container,
        },
    )


def _first_that_starts(what: str, sources: dict[str, Source]) -> str:
    reasons = []
    for name, source in sources.items():
        try:
            return source()
        except KeyError:
            reasons.append(f"{name}: not set")
        except Exception as error:  # every kind of failure is a reason to try the next source
            reasons.append(f"{name}: {error!r}" if not str(error) else f"{name}: {error}")
    pytest.fail(f"{what} could not be had from any source:\n" + "\n".join(reasons), pytrace=False)


@pytest.fixture
def stack_folder(tmp_path: Path) -> Path:
    """Where a test may run a stack of its own."""
    return tmp_path / "stack"


@pytest.fixture
def unique_name() -> Callable[[str], str]:
    """Names that no other test of the session uses: `unique_name("ads")` is `ads-1f0c9a2b`."""
    return lambda stem="test": f"{stem}-{uuid.uuid4().hex[:8]}"
