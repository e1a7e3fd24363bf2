"""Churn in bursts: what a matcher reads at once lets all that it holds grow, shrink and be reused.

Ids are long and short, known and new ones mixed, after many others have gone.  Each kind has a
fleet, and all fleets go through the same at once: most of the time they wait.  Every answer to the
events in between is compared with the subscriptions that it names.
"""

import random
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager

import pytest
import redis

from tests.effort import effort
from tests.fleet.conftest import MakeFleet, fleets_of
from tests.fleet.fleet import SOON_MISSED, Fleet
from tests.fleet.steps import expression
from tests.fleet.traffic import Sent, eventually

# One shard, so that few records are many for it; several of them merge their answers elsewhere.
SOME = {
    "single": {"kind": "ranked", "attributes": ["age"], "shards": 1},
    "ranked": {"kind": "ranked", "attributes": ["age", "visits"], "shards": 2},
    "open": {"kind": "boolean", "attributes": [], "shards": 1},
}
KINDS = effort(
    short=SOME,
    long={
        **SOME,
        "relaxed": {"kind": "relaxed", "attributes": ["age", "visits"], "shards": 1},
        "boolean": {"kind": "boolean", "attributes": ["age", "colour"], "shards": 1},
        "placed": {"kind": "spatial_text", "attributes": ["visits"], "shards": 1},
    },
)
MOST = 10_000  # matches: an answer names all that hold
SETTINGS = {
    "snapshots": {"every_s": 0.5, "least_changes": 200},
    "matcher": {**SOON_MISSED["matcher"], "feed_batch": 700},  # a replay is made of several
}
BURST = 1800  # records
EVENT_EVERY, TOKEN_EVERY = 60, 360  # records
LAST_FETCH_S = 0.6  # the broker has answered whatever a frozen matcher has asked for by then

AGES = 20
LONGEST_ID = 256  # bytes
PLAIN, ESCAPED = "xyz é漢🐞", 'xyz é漢🐞"\\\n'

# How often subscribers come, come back, change their minds, go, and send nonsense.
GROWTH, DECLINE, MIXED = (16, 2, 4, 2, 0.05), (1, 1, 2, 12, 0.05), (6, 3, 8, 4, 0.05)


class Churn:
    """The subscribers of one fleet, and those who publish meanwhile."""

    def __init__(self, fleet: Fleet, redis_url: str, seed: int) -> None:
        self.fleet, self._redis_url = fleet, redis_url
        self._random = random.Random(seed)
        self._alphabet = PLAIN
        self._here: list[str] = []
        self._gone: list[str] = []

    def burst(self, shares: tuple[float, ...], records: int = BURST) -> None:
        """So many records at once, and events among them; some of these wait for all before."""
        self._alphabet = self._random.choice([PLAIN, ESCAPED])
        steps = (self._come, self._come_back, self._change, self._go, self._send_nonsense)
        for number, step in enumerate(self._random.choices(steps, shares, k=records)):
            step()
            if number % TOKEN_EVERY == 0:
                self._publish(after=self.fleet.token() or None)
            elif number % EVENT_EVERY == 0:
                self._publish()
        self.fleet.deliver()

    def ask_for_all(self) -> None:
        """Wait for answers that name all that hold, at every age."""
        after = self.fleet.token()
        asked = [self._publish(age, MOST, after) for age in range(AGES)]
        self.fleet.answers_to(asked)

    def drop_snapshots(self) -> None:
        with closing(redis.Redis.from_url(self._redis_url)) as client:
            for shard in self.fleet.shards:
                assert client.delete(f"{{podium:{self.fleet.declared.name}:snapshot:{shard}}}") == 1

    def _come(self) -> None:
        self._subscribe(self._new_id())

    def _come_back(self) -> None:
        self._subscribe(_take(self._gone, self._random) if self._gone else self._new_id())

    def _change(self) -> None:
        self._subscribe(_take(self._here, self._random) if self._here else self._new_id())

    def _go(self) -> None:
        """Some go who have gone before."""
        leaving = self._here if self._random.random() < 0.95 else self._gone
        if leaving:
            id = _take(leaving, self._random)
            self.fleet.unsubscribe(id)
            self._gone.append(id)

    def _send_nonsense(self) -> None:
        if self._here:
            id = self._random.choice(self._here)
            self.fleet.send("subscriptions", b'{"where": "here"}', id.encode())

    def _new_id(self) -> str:
        """A number, so that it is new, and something behind it of which only the length matters."""
        number = str(len(self._here) + len(self._gone))
        longest = self._random.choice([0, 0, 30, 30, LONGEST_ID])
        length = self._random.choice([longest, self._random.randint(0, longest)])
        rest = "".join(self._random.choices(self._alphabet, k=length))
        return (
            (number + "-" + rest if rest else number).encode()[:LONGEST_ID].decode(errors="ignore")
        )

    def _subscribe(self, id: str) -> None:
        self.fleet.subscribe_with(id, self._document())
        self._here.append(id)

    def _document(self) -> dict:
        kind, names = self.fleet.declared.kind, self.fleet.declared.attributes
        if kind == "boolean":
            few_values = self._random.random() < 0.5
            return expression(self._random, names) if few_values else self._about_one_of_many()
        if kind == "spatial_text":
            return self._around_an_age()
        constrained = self._random.sample(names, self._random.randint(1, len(names)))
        where = {name: self._interval() for name in constrained}
        if kind == "relaxed":
            weights = {name: self._random.randint(1, 3) for name in where}
            return {"where": where, "weights": weights}
        return {"where": where, "score": self._random.randint(0, 3)}

    def _around_an_age(self) -> dict:
        """Ages are longitudes; of many words, which come and go."""
        low = self._random.choice([self._random.randrange(AGES), self._random.uniform(0, AGES)])
        box = [low, 0, low + self._random.choice([0, 0, 1, 4, 10]), 1]
        words = {"tokens": [self._word()], "none": [self._word()], "phrase": self._word()}
        del words[self._random.choice(["none", "phrase"])]
        return {"box": box, **words, "score": self._random.randint(0, 3)}

    def _word(self) -> str:
        return f"w{self._random.randrange(4) or self._random.randrange(400)}"

    def _about_one_of_many(self) -> dict:
        """Of many strings, and of many attributes where the collection names none."""
        attribute = "colour" if self.fleet.declared.attributes else self._field()
        op = self._random.choice(["=", "!=", "in", "not in"])
        listed = [self._shade() for _ in range(self._random.randint(1, 4))]
        value = listed[0] if op in ("=", "!=") else listed
        return {"all": [{"attr": attribute, "op": op, "value": value}]}

    def _shade(self) -> str:
        return f"shade {self._random.randrange(400)}"

    def _field(self) -> str:
        return f"field {self._random.randrange(40)}"

    def _interval(self) -> list:
        low = self._random.choice([self._random.randrange(AGES), self._random.uniform(0, AGES)])
        high = low + self._random.choice([0, 0, 1, 4, 10])
        return self._random.choice([[low, high]] * 8 + [[low, None], [None, high]])

    def _publish(
        self, age: int | None = None, k: int | None = None, after: str | None = None
    ) -> Sent:
        event: dict = {"age": self._random.randrange(AGES) if age is None else age}
        if self.fleet.declared.kind == "boolean":
            event["age"] = event["age"] % 7 / 2
            event["colour"] = self._random.choice(["red", "", 2, None, self._shade()])
            event |= {self._field(): self._shade() for _ in range(10)}
        else:
            event["visits"] = self._random.randrange(AGES)
        if self.fleet.declared.kind == "spatial_text":
            said = [self._word() for _ in range(self._random.randint(0, 20))]
            event |= {"point": [event.pop("age"), 0.5], "text": " ".join(said)}
        k = self._random.choice([1, 5, 50]) if k is None else k
        return self.fleet.publish(event, b"%d" % self._random.randrange(99), k, after)


def _take(ids: list[str], random_: random.Random) -> str:
    at = random_.randrange(len(ids))
    ids[at], ids[-1] = ids[-1], ids[at]
    return ids.pop()


@pytest.fixture(scope="module")
def fleets(make_fleet: MakeFleet, broker: str, redis_url: str) -> Iterator[dict[str, Fleet]]:
    declared = {stem: {**collection, "max_k": MOST} for stem, collection in KINDS.items()}
    with fleets_of(make_fleet, broker, redis_url, declared, settings=SETTINGS) as made:
        for fleet in made.values():
            fleet.patience_s = 90.0
        yield made
        with ThreadPoolExecutor(len(made)) as threads:
            list(threads.map(Fleet.stop, made.values()))


@contextmanager
def read_at_once(fleet: Fleet) -> Iterator[None]:
    """What is sent in the block the matcher finds all together."""
    with fleet.frozen("matcher"):
        time.sleep(LAST_FETCH_S)
        yield
        fleet.deliver()


def test_known_ids_and_new_ones_in_one_batch_after_others_have_gone(fleets: dict[str, Fleet]):
    """The new ids are long, so that there is no room for them where the others are."""
    fleet = fleets["single"]
    for number in range(900):
        fleet.subscribe(f"k{number}", {"age": [number, number]}, 1)
    for number in range(100):
        fleet.unsubscribe(f"k{number}")
    assert fleet.ask({"age": 100}) == [("k100", 1.0)]
    with read_at_once(fleet):
        for number in range(100, 300):
            fleet.subscribe(f"k{number}", {"age": [number, number]}, 1)
            fleet.subscribe(f"new-{number}".ljust(80, "."), {"age": [2000, 2000]}, 1)
    after = fleet.token()
    asked = [fleet.publish({"age": number}, after=after) for number in range(100, 900)]
    answers = zip(range(100, 900), fleet.answers_to(asked), strict=True)
    wrong = {age: one.hits for age, one in answers if one.hits != [(f"k{age}", 1.0)]}
    assert not wrong, f"{len(wrong)} of {len(asked)} answers"
    fleet.check_all(repeats=True)
    fleet.clear()


def bursts_read_at_once(churn: Churn) -> None:
    for shares in (GROWTH, DECLINE, MIXED, GROWTH, DECLINE, MIXED):
        with read_at_once(churn.fleet):
            churn.burst(shares)
        churn.ask_for_all()


def bursts_while_snapshots_are_written(churn: Churn) -> None:
    before = churn.fleet.metric("matcher", "podium_snapshots_total", result="written")
    for shares in (GROWTH, DECLINE):
        churn.burst(shares)

    def written() -> bool:
        churn.burst(MIXED, EVENT_EVERY * 5)
        now = churn.fleet.metric("matcher", "podium_snapshots_total", result="written")
        return now >= before + 2 * churn.fleet.declared.shards

    eventually(written, churn.fleet.diagnosis, 60)
    churn.ask_for_all()


def bursts_while_the_matcher_is_dead(churn: Churn) -> None:
    churn.burst(GROWTH)
    churn.fleet.kill("matcher", restart=False)
    churn.burst(DECLINE)
    churn.burst(MIXED)
    churn.fleet.revive("matcher")
    churn.burst(MIXED)
    churn.ask_for_all()
    check_start(churn.fleet, "snapshot")


def bursts_before_a_stopped_matcher_replays_all(churn: Churn) -> None:
    churn.burst(GROWTH)
    assert churn.fleet.terminate("matcher")[0] == 0
    churn.drop_snapshots()
    churn.burst(DECLINE)
    churn.burst(MIXED)
    churn.fleet.start("matcher")
    churn.burst(MIXED)
    churn.ask_for_all()
    check_start(churn.fleet, "missing")


def check_start(fleet: Fleet, start: str) -> None:
    started = fleet.metric("matcher", "podium_restores_total", start=start)
    assert started >= fleet.declared.shards, fleet.state("matcher")


Story = Callable[[Churn], None]
STORIES = (
    bursts_read_at_once,
    bursts_while_snapshots_are_written,
    bursts_while_the_matcher_is_dead,
    bursts_before_a_stopped_matcher_replays_all,
)


@pytest.fixture(scope="module")
def churns(fleets: Mapping[str, Fleet], redis_url: str) -> dict[str, Churn]:
    return {
        kind: Churn(fleet, redis_url, seed) for seed, (kind, fleet) in enumerate(fleets.items())
    }


@pytest.fixture(scope="module", params=STORIES, ids=lambda story: story.__name__)
def endings(churns: Mapping[str, Churn], request: pytest.FixtureRequest) -> Mapping[str, Future]:
    """How the story ends in each fleet."""

    def tell(churn: Churn) -> None:
        request.param(churn)
        churn.fleet.check_all(repeats=True)

    with ThreadPoolExecutor(len(churns)) as threads:
        return {kind: threads.submit(tell, churn) for kind, churn in churns.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_every_answer_is_right_in(endings: Mapping[str, Future], kind: str):
    endings[kind].result()
