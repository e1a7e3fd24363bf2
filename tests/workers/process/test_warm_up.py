"""What a worker has compiled before it is ready is all that its records will need."""

import subprocess
import sys
from pathlib import Path

from numba.core.registry import CPUDispatcher

from configs import Collection
from topics import matches, partials
from topics.codecs.columns import bundle, unbundle
from workers.kinds import roles
from workers.merger.assembly import merge
from workers.router.warm_up import received_frames, record, subscription
from workers.shard.changes import read_changes
from workers.shard.shard import Shard
from workers.warm_up import warm_up

ROOT = Path(__file__).parents[3]


def forms() -> dict[str, int]:
    """How many forms of each kernel of the merger's modules are compiled."""
    kernels = [
        value
        for name in (
            "workers.merger.assembly",
            "topics.matches",
            "topics.codecs.columns",
            "topics.partials",
        )
        for value in vars(sys.modules[name]).values()
        if isinstance(value, CPUDispatcher)
    ]
    return {kernel.py_func.__qualname__: len(kernel.signatures) for kernel in kernels}


def merge_after_warming_up() -> None:
    collection = Collection(name="warm", kind="ranked", attributes=("a", "b"))
    warm_up(roles()["merger"], collection)
    before = forms()
    assert before
    shard = Shard(0, collection.kind, collection.attributes)
    records = [record(subscription(collection, number), number) for number in (1, 2)]
    shard.apply(read_changes(records, shard.contract, 1))
    shard.open()
    answers = [
        partials.decode(unbundle(bundle([partials.encode(shard.answer(frame))]))[0])
        for frame in received_frames(collection)
    ]
    merged = merge(answers)
    matches.encode_many("warm", merged.partition, merged.offsets, merged.hits)
    assert forms() == before


def test_a_merger_compiles_nothing_for_its_first_hits():
    """In a process of its own: here other tests may have compiled what it lacks."""
    check = f"from {__name__} import merge_after_warming_up as check; check()"
    subprocess.run([sys.executable, "-c", check], cwd=ROOT, check=True, timeout=240)
