"""Benchmarks collect garbage before they measure, again and again."""

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="package", autouse=True)
def only_garbage_of_our_own() -> Iterator[None]:
    """What thousands of tests before have left is not gone through each time."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
