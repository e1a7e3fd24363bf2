"""What users would write is right, and the script runs from end to end at tiny sizes."""

import numpy as np
import pytest

from benchmarks.spatial_text import __main__ as spatial_text
from benchmarks.spatial_text import lab as spatial_lab
from benchmarks.spatial_text.lab import CLASSES, IR_TREE, L_FILTER, USERS, Lab, Sizes, ask, first
from benchmarks.workloads.spatial_texts import Messages

TINY = Sizes(
    subscriptions=2_000, fewer=1_000, scale=(500, 1_000), messages=10, turns=1, short=(6, 20),
    long=(100, 300), updates=200,
)  # fmt: skip


@pytest.fixture
def lab():
    return Lab(TINY, lambda what: None)


def test_what_a_user_would_write_finds_what_a_comparison_of_all_finds(lab):
    texts = lab.texts("twitter", 1_000)
    classes = lab.classes(texts)
    everywhere = classes["long range"]._replace(
        boxes=np.tile([-np.inf, -np.inf, np.inf, np.inf], (TINY.messages, 1))
    )
    data, found = texts.data, 0
    for asked in (*classes.values(), everywhere):
        for name in USERS:
            ids, starts = ask(lab.build(texts, name).index)(asked)
            for i in range(len(asked.boxes)):
                wanted = compared_with_all(data, asked, i)
                assert ids[starts[i] : starts[i + 1]].tolist() == wanted
                found += len(wanted)
    assert found > 100


def compared_with_all(data, asked: Messages, i: int) -> list[int]:
    box = asked.boxes[i]
    said = set(asked.tokens[asked.starts[i] : asked.starts[i + 1]].tolist())
    meets = (data.boxes[:, :2] <= box[2:]).all(1) & (data.boxes[:, 2:] >= box[:2]).all(1)
    return [
        id
        for id in np.flatnonzero(meets).tolist()
        if said.issuperset(data.tokens[data.starts[id] : data.starts[id + 1]].tolist())
    ]


def test_indexes_that_give_other_answers_are_refused(lab):
    texts = lab.texts("usa", 1_000)
    few = texts._replace(data=first(texts.data, 500))
    ways = {
        L_FILTER: ask(lab.build(texts, L_FILTER).index),
        IR_TREE: ask(lab.build(few, IR_TREE).index),
    }
    with pytest.raises(RuntimeError, match="IR-tree gives other answers than LFilter"):
        lab.compare(ways, {"any": lab.messages(texts, CLASSES["long range, dense"])})


def test_one_experiment_writes_its_page_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(spatial_lab, "QUICK", TINY)
    monkeypatch.setattr("benchmarks.measure.REPETITIONS", 1)
    assert spatial_text.main(["--quick", "--only", "updates", "--out", str(tmp_path)]) == 0
    (page,) = tmp_path.glob("*.md")
    assert page.name == "spatial_text_updates.md"
    assert "- processor: " in page.read_text()


@pytest.mark.long
def test_a_whole_run_writes_a_page_for_every_experiment(tmp_path, monkeypatch):
    monkeypatch.setattr(spatial_lab, "QUICK", TINY)
    monkeypatch.setattr("benchmarks.measure.REPETITIONS", 1)
    assert spatial_text.main(["--quick", "--out", str(tmp_path)]) == 0
    pages = {path.name: path.read_text() for path in tmp_path.glob("*.md")}
    assert set(pages) == {f"spatial_text_{name}.md" for name in spatial_text.NAMES}
    assert all("- processor: " in page for page in pages.values())
    assert "**The targets are for 10,000,000 subscriptions.**" in pages["spatial_text_speed.md"]
    for drawn in tmp_path.glob("*.svg"):
        assert any(f"({drawn.name})" in page for page in pages.values())
