"""What `podium up` and `podium status` say of the layout that a collection does not have."""

import time
from pathlib import Path

import psutil

from podium.stack.run.folder import ProcessRecord
from podium.stack.status.display import show_report
from podium.stack.status.layouts import LayoutRow, sharded_collections
from podium.stack.status.report import Report
from workers.process import metrics
from workers.process.health import Health, serve


def test_a_collection_that_fits_into_every_node_is_told_so_in_a_line(capsys):
    small = LayoutRow("ads", 200_000, 40_000_000)
    large = LayoutRow("homes", 9, psutil.virtual_memory().total // 4)
    show_report(Report("here", "ready", 1, layouts=[small, large]))
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "replicated" in line]
    assert line == (
        "ads: with `layout: replicated` an event is answered in one hop instead of three;"
        " each node would take up to 80 MB for its 200,000 subscriptions"
    )


def process(role: str, port: int) -> ProcessRecord:
    labels = {"role": role, "collection": "layouts-test", "prefix": "podium"}
    return ProcessRecord(
        name=role,
        kind="worker",
        pid=1,
        born="",
        port=port,
        log="",
        started_at=time.time(),
        restarts=0,
        labels=labels,
    )


def test_what_matchers_hold_is_added_up_by_collection(tmp_path: Path):
    port = serve(Health([]), "127.0.0.1", 0)
    for shard, subscriptions in (("0", 3), ("1", 4)):
        metrics.SUBSCRIPTIONS.labels("layouts-test", shard).set(subscriptions)
        metrics.INDEX_BYTES.labels("layouts-test", shard).set(100)
    found = sharded_collections([process("matcher", port), process("merger", port)])
    assert found == [LayoutRow("layouts-test", 7, 200)]
    for gauge in (metrics.SUBSCRIPTIONS, metrics.INDEX_BYTES):
        for shard in ("0", "1"):
            gauge.remove("layouts-test", shard)
