"""The script from end to end at tiny sizes; its figures mean nothing then, its pages do."""

import pytest

from benchmarks.range_topk import __main__ as range_topk
from benchmarks.range_topk import lab
from benchmarks.range_topk.lab import Sizes

TINY = Sizes(
    objects=500, subscriptions=(100, 300), affected=50, updates=100, turns=1, batches=(10, 100),
    live=((200, 300, 100),), targeted=(200, 300), rate=50, seconds=1, warm_seconds=1,
    job_subscriptions=200,
)  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [
        "speed",
        "batches",
        pytest.param("latency", marks=pytest.mark.long),
        pytest.param("job", marks=pytest.mark.long),
    ],
)
def test_an_experiment_writes_its_page(tmp_path, monkeypatch, name):
    monkeypatch.setattr(lab, "QUICK", TINY)
    assert range_topk.main(["--quick", "--only", name, "--out", str(tmp_path)]) == 0
    (page,) = tmp_path.glob("*.md")
    assert page.name == f"range_topk_{name}.md"
    assert "- processor: " in page.read_text()
