import json

from podium.demo.data import (
    ATTRIBUTES,
    NEW_AD,
    NEW_BID,
    UNSUBSCRIBED,
    visitor_number,
    write_script,
)
from topics.kinds import event_contract
from topics.subscriptions import RankedContract


def test_the_same_seed_writes_the_same_script_and_another_seed_another():
    assert write_script(400, 100, seed=3) == write_script(400, 100, seed=3)
    assert write_script(400, 100, seed=3) != write_script(400, 100, seed=4)


def test_a_script_has_the_ads_and_visitors_that_were_asked_for():
    script = write_script(4000, 300, seed=1)
    assert len(script.first_ads) == 3000
    assert [script.kinds.count(kind) for kind in (NEW_AD, NEW_BID, UNSUBSCRIBED)] == [
        1000,
        100,
        100,
    ]
    assert [visitor_number(key) for key, _ in script.visitors] == list(range(1, 301))


def test_each_kind_of_change_is_what_it_says_and_no_ad_is_changed_twice():
    script = write_script(4000, 100, seed=1)
    first = dict(script.first_ads)
    for kind, (key, value) in zip(script.kinds, script.changes, strict=True):
        assert (key in first) == (kind != NEW_AD)
        assert (value is None) == (kind == UNSUBSCRIBED)
        if kind == NEW_BID:
            assert json.loads(value)["where"] == json.loads(first[key])["where"]
    keys = [key for key, _ in script.changes]
    assert len(set(keys)) == len(keys)


def test_every_record_keeps_the_contract_of_its_topic():
    script = write_script(2000, 500, seed=2)
    subscriptions = RankedContract(ATTRIBUTES)
    for _, value in [*script.first_ads, *script.changes]:
        if value is not None:
            lows, highs, score = subscriptions.parse(value)
            assert len(lows) == len(highs) == len(ATTRIBUTES)
            assert 0.01 <= score <= 9.99
    events = event_contract("ranked", ATTRIBUTES, 10, 1000, 2)
    for _, value in script.visitors:
        assert len(events.form.row(value)) == len(ATTRIBUTES)


def test_equal_bids_are_common_and_a_few_visitors_are_too_young_for_any_ad():
    script = write_script(20_000, 5000, seed=1)
    ads = [json.loads(value) for _, value in script.first_ads]
    assert len({ad["score"] for ad in ads}) < 1000
    assert all(ad["where"]["age"][0] >= 18 for ad in ads)
    ages = [json.loads(value)["age"] for _, value in script.visitors]
    assert 0 < sum(age < 18 for age in ages) < 100
