"""Bases that are built elsewhere and swapped in while the fleet answers."""

import random
from collections.abc import Callable, Iterator

import msgspec
import pytest

from storage import array_blob
from tests.fleet.conftest import MakeFleet, fleets_of
from tests.fleet.fleet import Fleet
from tests.fleet.job import Job
from tests.fleet.steps import random_steps
from tests.fleet.stream import streaming
from tests.fleet.traffic import eventually
from topics.bases import TREE_MAGIC, VERSION, Base, StoredBlob

SHARDS = (0, 1)


KINDS = {
    "single": {"kind": "ranked", "attributes": ["age"]},
    "ranked": {"kind": "ranked", "attributes": ["age", "visits"]},
    "relaxed": {"kind": "relaxed", "attributes": ["age", "visits"]},
}


@pytest.fixture(scope="module")
def fleets(make_fleet: MakeFleet, broker: str, redis_url: str) -> Iterator[dict[str, Fleet]]:
    with fleets_of(make_fleet, broker, redis_url, KINDS) as made:
        yield made


@pytest.fixture(params=list(KINDS))
def fleet(fleets: dict[str, Fleet], request: pytest.FixtureRequest) -> Iterator[Fleet]:
    fleet = fleets[request.param]
    yield fleet
    fleet.check_all()
    fleet.clear()
    fleet.check_that_none_has_died()


@pytest.fixture
def job(fleet: Fleet, redis_url: str) -> Job:
    return Job(fleet, redis_url)


def ended(fleet: Fleet, result: str) -> float:
    return fleet.metric("matcher", "podium_bases_total", result=result)


def test_bases_of_any_age_are_swapped_in_under_load(fleet: Fleet, job: Job):
    random_ = random.Random(1)
    before = ended(fleet, "taken")
    with streaming(fleet, seed=1) as stream:
        for round_ in range(6):
            random_steps(fleet, seed=round_, steps=60)
            fleet.deliver()
            fleet.judge()  # reads what is in the topic
            for shard in SHARDS:
                end = fleet.records[shard][-1][0] + 1
                job.announce(job.build(shard, end - random_.randint(0, 10)))
            stream.wait_answers(50)
    # The index may have rebuilt itself meanwhile: a base that is older is not taken then.
    eventually(lambda: ended(fleet, "taken") >= before + 2, fleet.diagnosis, 30)


def test_a_base_without_all_subscriptions_of_its_offsets_loses_none(fleet: Fleet, job: Job):
    """What a job has missed stays in the delta, and what it made up is not answered."""
    for number in range(50):
        fleet.subscribe(f"ad-{number}", {"age": [number, number + 5]}, number % 7)
    fleet.deliver()
    fleet.judge()
    taken = ended(fleet, "taken")
    for shard in SHARDS:
        end = fleet.records[shard][-1][0] + 1
        kept = fleet.records[shard]
        fleet.records[shard] = kept[:-10]  # as the job sees it
        job.announce(job.build(shard, end))
        fleet.records[shard] = kept
    eventually(lambda: ended(fleet, "taken") == taken + 2, fleet.diagnosis, 30)
    token = fleet.token()
    for age in range(60):
        fleet.publish({"age": age}, k=20, after=token)


def corrupt(job: Job, base: Base) -> Base:
    data = bytearray(job.store.get(base.trees[0].name))
    data[-1] ^= 1
    job.store.put(base.trees[0].name, [bytes(data)])
    return base


def lose(job: Job, base: Base) -> Base:
    job.store.drop(base.trees[0].name)
    return base


def of_another_version(job: Job, base: Base) -> Base:
    return msgspec.structs.replace(base, version=VERSION + 1)


def of_another_topic(job: Job, base: Base) -> Base:
    return msgspec.structs.replace(base, topic_id="another")


def with_a_blob_of_version(version: int) -> Callable[[Job, Base], Base]:
    """The announcement is right, and so is every checksum."""

    def hurt(job: Job, base: Base) -> Base:
        first, *others = base.trees
        head, arrays = array_blob.decode(TREE_MAGIC, VERSION, job.store.get(first.name))
        parts = array_blob.encode(TREE_MAGIC, version, head, arrays)
        job.store.put(first.name, parts)
        blob = StoredBlob.of(first.name, parts)
        first = msgspec.structs.replace(first, size=blob.size, crc32=blob.crc32)
        return msgspec.structs.replace(base, trees=[first, *others])

    return hurt


@pytest.mark.parametrize(
    ("hurt", "result"),
    [
        (corrupt, "corrupt"),
        (lose, "missing"),
        (of_another_version, "foreign"),
        (of_another_topic, "foreign"),
        (with_a_blob_of_version(VERSION + 1), "newer"),
        (with_a_blob_of_version(VERSION - 1), "foreign"),
    ],
    ids=["corrupt", "lost", "newer", "foreign", "newer-blob", "older-blob"],
)
def test_a_base_that_is_not_right_is_refused_and_the_worker_goes_on(fleet, job, hurt, result):
    refused, taken = ended(fleet, result), ended(fleet, "taken")
    for number in range(30):
        fleet.subscribe(f"ad-{number}", {"age": [number, number + 5]}, number % 7)
    fleet.deliver()
    fleet.judge()
    end = fleet.records[0][-1][0] + 1
    job.announce(hurt(job, job.build(0, end)))
    eventually(lambda: ended(fleet, result) > refused, fleet.diagnosis, 30)
    assert ended(fleet, "taken") == taken
    assert fleet.ask({"age": 10}, k=1)
