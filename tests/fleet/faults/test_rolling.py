"""Workers that are stopped with TERM, added and taken away: nothing lost, no answer repeated."""

import sys
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.fleet.conftest import MakeFleet
from tests.fleet.fleet import LAYOUTS, WORKERS, Fleet
from tests.fleet.stream import streaming
from tests.fleet.time_slices import expected_short_ns, turn_ns

STOPPED_WITHIN_S = 30.0


@pytest.fixture(scope="module", params=LAYOUTS)
def rolling_fleet(
    request: pytest.FixtureRequest, make_fleet: MakeFleet, broker: str, redis_url: str
) -> Iterator[Fleet]:
    fleet = make_fleet("rolling", broker, redis_url, collection={"layout": request.param})
    fleet.patience_s = 90.0
    fleet.start_all()
    yield fleet
    fleet.stop()


@pytest.mark.parametrize(("rolling_fleet", "role"), WORKERS, indirect=["rolling_fleet"])
def test_a_worker_is_restarted_under_load_without_a_repeat(rolling_fleet: Fleet, role: str):
    rolling_fleet.answers_of_shards()  # those before
    with streaming(rolling_fleet, seed=rolling_fleet.roles.index(role)) as stream:
        stream.wait_answers(100)
        code, seconds = rolling_fleet.terminate(role)
        assert code == 0, rolling_fleet.log(role)[-2000:]
        assert seconds < STOPPED_WITHIN_S
        rolling_fleet.start(role)
        stream.wait_events(100)
    rolling_fleet.check_all()
    answered = Counter(rolling_fleet.answers_of_shards())
    assert max(answered.values(), default=1) == 1, "a merger would have to drop it"


def test_a_second_worker_of_each_role_joins_and_leaves_under_load_without_a_repeat(
    rolling_fleet: Fleet,
):
    seconds = [f"{role}-2" for role in rolling_fleet.roles]
    with streaming(rolling_fleet, seed=10) as stream:
        stream.wait_answers(50)
        rolling_fleet.start(*seconds)
        rolling_fleet.wait_ready(*seconds)
        stream.wait_answers(300)
        for second in seconds:
            assert rolling_fleet.terminate(second)[0] == 0
        stream.wait_events(100)
    rolling_fleet.check_all(letters_repeat=True)
    rolling_fleet.check_that_none_has_died()


def test_a_whole_fleet_is_stopped_and_started_again_where_it_was(rolling_fleet: Fleet):
    """Events and subscriptions of the time between wait in Kafka."""
    with streaming(rolling_fleet, seed=20) as stream:
        stream.wait_answers(100)
        for role in rolling_fleet.roles:
            assert rolling_fleet.terminate(role)[0] == 0
        stream.wait_events(200)
    rolling_fleet.start(*rolling_fleet.roles)
    rolling_fleet.wait_ready(*rolling_fleet.roles)
    rolling_fleet.check_all()


@pytest.mark.skipif(sys.platform != "linux", reason="threads have no turns of their own there")
@pytest.mark.parametrize(("rolling_fleet", "role"), WORKERS, indirect=["rolling_fleet"])
def test_the_main_thread_of_a_worker_takes_short_turns(rolling_fleet: Fleet, role: str):
    """It is the one that answers: Faust's loop and a node's, and those of router and merger."""
    assert turn_ns(rolling_fleet.pid(role)) == expected_short_ns()


def test_workers_leave_nothing_in_the_folder_they_run_in(rolling_fleet: Fleet):
    assert list(rolling_fleet.working_folder.rglob("*")) == []


def test_a_new_reader_of_events_takes_a_token_that_asks_for_nothing(rolling_fleet: Fleet):
    """It has not asked the broker yet where `subscriptions` ends, and need not."""
    reader = rolling_fleet.roles[0]
    rolling_fleet.terminate(reader)
    rolling_fleet.start(reader)
    sent = rolling_fleet.publish({"age": 1}, after="0@-1,1@-1")
    rolling_fleet.answer_to(sent)
    rolling_fleet.check_all()
    rolling_fleet.check_that_none_has_died()
