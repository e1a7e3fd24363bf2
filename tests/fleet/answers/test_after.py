"""`podium-after`: an event is not answered before the subscriptions that its token names are in."""

import pytest

from tests.fleet.fleet import Fleet
from tests.fleet.traffic import Sent, key_on

ROUNDS = 40


def token_of(*sent: Sent) -> str:
    return ",".join(f"{record.place.partition}@{record.place.offset}" for record in sent)


def test_a_producer_sees_its_own_subscription_at_once(fleet: Fleet):
    """Each event is sent as soon as its subscription is acknowledged, faster than it is applied."""
    asked = []
    for score in range(ROUNDS):
        sent = fleet.subscribe(f"ad-{score}", {"age": [0, 9]}, score)
        fleet.deliver(sent)
        asked.append(fleet.publish({"age": 5}, k=1, after=token_of(sent), partition=score % 4))
    for score, answer in enumerate(fleet.answers_to(asked)):
        ((_, best),) = answer.hits
        assert best >= score


def test_a_producer_sees_its_own_unsubscription_at_once(fleet: Fleet):
    fleet.subscribe("always", {}, 0)
    fleet.ask({})  # its shard has it now: the tokens below name that of the other alone
    asked = []
    for score in range(1, ROUNDS):
        fleet.subscribe("a", {}, score)
        sent = fleet.unsubscribe("a")
        fleet.deliver(sent)
        asked.append(fleet.publish({}, k=5, after=token_of(sent), partition=score % 4))
        fleet.answer_to(asked[-1])
    assert {tuple(answer.hits) for answer in fleet.answers_to(asked)} == {(("always", 0.0),)}


def test_a_token_may_name_several_shards_in_any_order(fleet: Fleet):
    asked = []
    for score in range(20):
        pair = [fleet.subscribe(key_on(s, 2, f"s{s}-{score}"), {}, score) for s in (1, 0)]
        fleet.deliver(*pair)
        asked.append((score, fleet.publish({}, k=2, after=token_of(*pair))))
    for score, event in asked:
        assert min(best for _, best in fleet.answer_to(event).hits) >= score


def test_events_of_one_frame_wait_for_the_latest_of_their_tokens(fleet: Fleet):
    old = fleet.subscribe(key_on(0, 2, "old"), {}, 1)
    fleet.deliver(old)
    new = fleet.subscribe(key_on(0, 2, "new"), {}, 2)
    fleet.deliver(new)
    first = fleet.publish({}, after=token_of(new), partition=0)
    second = fleet.publish({}, after=token_of(old), partition=0)
    third = fleet.publish({}, partition=0)
    for answer in fleet.answers_to([first, second, third]):
        assert answer.event != first.place or len(answer.hits) == 2


@pytest.mark.parametrize("token", ["0@-1", "0@-1,1@-1", "1@0", "0@0,0@0", " 0@0 , 1@0 "])
def test_a_token_that_asks_for_nothing_new_is_fine(fleet: Fleet, token: str):
    fleet.subscribe("a", {}, 1)
    fleet.ask({})  # both shards have records now
    sent = fleet.send("events", b"{}", b"", [("podium-after", token.encode())])
    assert fleet.answer_to(sent).hits == [("a", 1.0)]
    sent.headers.clear()  # its form is not the one that `check_all` reads


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        pytest.param(b"0@999999999", "below the end", id="beyond-the-end"),
        pytest.param(b"0@0,1@999999999", "below the end", id="one-of-two-beyond-the-end"),
        pytest.param(b"2@0", "0 to 1", id="unknown-shard"),
        pytest.param(b"0@0,700@1", "0 to 1", id="one-of-two-shards-unknown"),
        pytest.param(b"", "shard@offset", id="empty"),
        pytest.param(None, "shard@offset", id="null"),
        pytest.param(b"0", "shard@offset", id="no-offset"),
        pytest.param(b"0@", "shard@offset", id="empty-offset"),
        pytest.param(b"@7", "shard@offset", id="no-shard"),
        pytest.param(b"0@0,", "shard@offset", id="trailing-comma"),
        pytest.param(b"0@x", "shard@offset", id="text-as-offset"),
        pytest.param(b"0@1.5", "shard@offset", id="fraction"),
        pytest.param(b"0@-2", "shard@offset", id="negative"),
        pytest.param(b"-1@0", "shard@offset", id="negative-shard"),
        pytest.param("0@٣".encode(), "shard@offset", id="other-digits"),
        pytest.param(b"0@" + b"9" * 400, "shard@offset", id="beyond-int64"),
        pytest.param(b"\xff\xfe", "text", id="not-utf-8"),
    ],
)
def test_a_bad_token_goes_to_the_dead_letters_and_the_rest_flows_on(
    fleet: Fleet, token: bytes | None, expected: str
):
    fleet.subscribe("a", {}, 1)
    before = fleet.publish({}, after=fleet.token(), partition=2)
    bad = fleet.send("events", b"{}", b"bad", [("podium-after", token)], 2, refused=True)
    after = fleet.publish({}, after=fleet.token(), partition=2)
    assert [answer.hits for answer in fleet.answers_to([before, after])] == [[("a", 1.0)]] * 2
    headers = dict(fleet.letter_of("events", bad).headers())
    assert headers["podium-error-field"] == b"podium-after"
    assert headers["podium-after"] == token
    assert "expected" in headers["podium-error"].decode()
    assert expected in headers["podium-error"].decode()
