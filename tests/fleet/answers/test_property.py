"""Random changes and events, interleaved without waiting: every answer agrees with the oracle."""

import pytest

from tests.fleet.fleet import Fleet
from tests.fleet.steps import random_steps


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_every_answer_is_the_top_k_of_the_subscriptions_it_names(fleet: Fleet, seed: int):
    random_steps(fleet, seed, 500)
    fleet.check_all()
