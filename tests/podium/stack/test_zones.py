"""What `podium status` and `podium doctor` say of zones, from `progress` and `objects`."""

import json
import time

from confluent_kafka import Producer

from podium.stack.status.display import show_report
from podium.stack.status.report import Report
from podium.stack.status.zones import STALLED_S, ZoneRow, newest_progress
from topics import progress
from topics.progress import Progress, key_of


def say(parking, zone, objects, ago_s=0.0, lost=False):
    at = round((time.time() - ago_s) * 1000)
    value = progress.encode(Progress(objects, at, lost=lost))
    producer = Producer({"bootstrap.servers": parking.brokers})
    producer.produce(parking.topic("progress"), value, key_of(zone), partition=zone)
    assert producer.flush(10) == 0


def rows(parking):
    return newest_progress({"bootstrap.servers": parking.brokers}, "podium", parking.name)


def put_objects(podium, parking, count):
    lines = "".join(json.dumps({"id": f"p-{i}", "x": i, "y": i}) + "\n" for i in range(count))
    assert podium("send", "-", *parking.options, stdin=lines.encode()).code == 0


def zones_check(podium, parking):
    told = json.loads(podium("doctor", *parking.options, "--json").out)["checks"]
    return next(check for check in told if check["name"].startswith("zones of"))


def test_a_zone_is_as_far_as_it_says_and_behind_the_end_of_objects(podium, parking):
    assert rows(parking) == []
    put_objects(podium, parking, 10)
    say(parking, 0, 3)
    say(parking, 0, 9)
    say(parking, 1, None, lost=True)
    first, second = rows(parking)
    assert (first.zone, first.objects, first.behind, first.lost) == (0, 9, 0, False)
    assert (second.zone, second.objects, second.behind, second.lost) == (1, None, 10, True)
    assert (first.behind_s, second.behind_s > 0) == (0, True)
    assert not first.stalled


def test_a_quiet_zone_and_a_stalled_one_differ(podium, parking):
    say(parking, 0, None)
    say(parking, 1, None, ago_s=2 * STALLED_S)
    assert [row.stalled for row in rows(parking)] == [False, True]


def test_the_doctor_names_zones_that_are_silent_or_wait_for_their_lists(podium, parking):
    assert zones_check(podium, parking)["state"] == "skipped"
    for zone in (0, 1):
        say(parking, zone, None)
    told = zones_check(podium, parking)
    assert (told["state"], told["detail"]) == ("ok", "2 zones, at most 0 records behind")
    say(parking, 1, None, lost=True)
    assert zones_check(podium, parking)["detail"] == "waiting for their lists: 1"
    put_objects(podium, parking, 4)
    say(parking, 0, None, ago_s=3600)
    told = zones_check(podium, parking)
    assert told["state"] == "warning"
    assert told["detail"].startswith("silent: 0 for 3,6")
    assert told["detail"].endswith("4 records behind")
    assert "podium worker zone" in told["remedy"]


def test_a_collection_without_zones_has_no_such_check(podium, topics):
    told = json.loads(podium("doctor", *topics.options, "--json").out)["checks"]
    assert not [check for check in told if check["name"].startswith("zones of")]


def test_a_line_says_how_far_a_zone_is(capsys):
    late = ZoneRow("parking", 1, 1041, 12, 8.4, 75.0, lost=False)
    up_to_date = ZoneRow("parking", 0, 1053, 0, 0.0, 1.0, lost=False)
    show_report(Report("here", "ready", 1, zones=[up_to_date, late]))
    lines = capsys.readouterr().out.splitlines()
    assert "zone 0 of parking: objects up to 1,053, 0 records behind, said 1s ago" in lines
    said = "objects up to 1,041, 12 records behind for 8s, said 1m 15s ago"
    assert f"zone 1 of parking: {said}" in lines
