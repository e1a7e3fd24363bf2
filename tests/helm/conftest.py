"""Programs, and everything that the chart renders, made once."""

import sys
from pathlib import Path

import pytest

from podium.stack.errors import StackError
from tests.helm import chart, go_tools
from tests.helm.cases import all_cases
from tests.helm.chart import Object

# A first build of the programs takes longer than a test may.
BUILDING_S = 3600


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.timeout(BUILDING_S))


def say(line: str) -> None:
    print(line, file=sys.__stderr__, flush=True)


def program(name: str) -> Path:
    try:
        return go_tools.ensure((name,), say)[name]
    except StackError as error:
        pytest.fail(f"{name}: {error}", pytrace=False)


@pytest.fixture(scope="session")
def helm4() -> Path:
    return program("helm4")


@pytest.fixture(scope="session")
def rendered(helm4: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """All cases, by Helm 4."""
    return chart.render_all(helm4, all_cases(), tmp_path_factory.mktemp("rendered") / "umbrella")


@pytest.fixture(scope="session")
def cases(rendered: str) -> dict[str, list[Object]]:
    """Objects by the name of their case."""
    return chart.by_case(rendered)
