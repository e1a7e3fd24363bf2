"""Collections of lists that batches paint."""

import pytest

from tests.spark_streaming.paint.list_collection import ListStage


@pytest.fixture
def make_lists(make_stage):
    made = []

    def make(**declared):
        made.append(ListStage(make_stage, **declared))
        return made[-1]

    yield make
    for lists in made:
        lists.zones.close()
