"""Which frames wait for how long, and which are known to be out."""

from tests.workers.merger.answers import merged_hits, partial
from topics.frames import FrameId
from workers.merger.assembly import Assembly
from workers.merger.progress import MergeProgress


class Desk:
    """An assembly fed from one partials partition."""

    def __init__(self):
        self.assembly = Assembly()
        self.read = 0

    def succeeded(self):
        """By another, in another process, that reads on where this one may commit."""
        other = Desk()
        other.read = self.safe
        other.assembly.resume(MergeProgress.decode(self.assembly.marks().encode()))
        return other

    def answer(self, shard, epoch, first, last, partition=0, shards=(0, 1)):
        """The merged frame as (epoch, first, last), or None."""
        name = FrameId(partition, epoch, first, last)
        events = {o: (1, []) for o in range(first, last + 1)}
        given = partial(events, shard=shard, name=name, shards=shards)
        merged = self.assembly.add(given, self.read)
        self.read += 1
        return merged and (epoch, *merged.offsets[[0, -1]].tolist())

    @property
    def safe(self):
        return self.assembly.safe_place(self.read)


def test_a_frame_comes_out_when_every_shard_has_answered():
    desk = Desk()
    assert desk.answer(0, 1, 0, 9) is None
    assert (desk.assembly.frames, desk.safe) == (1, 0)
    assert desk.answer(1, 1, 0, 9) == (1, 0, 9)
    assert (desk.assembly.frames, desk.safe, desk.assembly.orphaned) == (0, 2, 0)


def test_a_shard_may_be_ahead_of_another():
    desk = Desk()
    assert [desk.answer(0, 1, first, first + 9) for first in (0, 10, 20)] == [None] * 3
    assert (desk.assembly.frames, desk.safe) == (3, 0)
    assert desk.answer(1, 1, 0, 9) == (1, 0, 9)
    assert desk.safe == 1
    assert desk.answer(1, 1, 10, 19) == (1, 10, 19)
    assert desk.answer(1, 1, 20, 29) == (1, 20, 29)
    assert (desk.safe, desk.assembly.orphaned) == (desk.read, 0)


def test_only_the_shards_that_take_part_are_waited_for():
    desk = Desk()
    given = partial({0: (1, [])}, shard=3, shards=(3,))
    assert desk.assembly.add(given, 0).as_of == [{3: -1}]


def test_a_repeat_of_a_frame_that_is_out_is_dropped():
    desk = Desk()
    for shard in (0, 1):
        desk.answer(shard, 1, 0, 9)
    assert desk.answer(1, 1, 0, 9) is None
    assert (desk.assembly.frames, desk.safe, desk.assembly.orphaned) == (0, 3, 0)


def test_a_repeat_of_a_frame_that_waits_changes_nothing():
    desk = Desk()
    desk.answer(1, 1, 0, 9)
    assert desk.answer(1, 1, 0, 9) is None
    assert (desk.assembly.frames, desk.safe) == (1, 0)
    assert desk.answer(0, 1, 0, 9) == (1, 0, 9)


def test_the_first_answer_of_a_shard_counts():
    assembly = Assembly()
    assembly.add(partial({0: (1, [(1.0, 5)])}, shard=0, as_of=7), 0)
    assembly.add(partial({0: (1, [(9.0, 6)])}, shard=0, as_of=8), 1)
    frame = assembly.add(partial({0: (1, [])}, shard=1), 2)
    assert (frame.as_of[0][0], merged_hits(frame)) == (7, [[(b'"0/5"', 1.0)]])


def test_a_frame_that_its_router_sent_to_some_shards_only_is_given_up():
    """
    shard 0:  1[0-9]  2[0-4] 2[5-14]
    shard 1:          2[0-4] 2[5-14]
    """
    desk = Desk()
    desk.answer(0, 1, 0, 9)
    desk.answer(0, 2, 0, 4)
    assert desk.answer(1, 2, 0, 4) == (2, 0, 4)
    assert desk.assembly.frames == 1  # events 5 to 9 are not answered otherwise yet
    assert desk.safe == 0
    desk.answer(0, 2, 5, 14)
    assert desk.answer(1, 2, 5, 14) == (2, 5, 14)
    assert (desk.assembly.frames, desk.assembly.orphaned) == (0, 1)
    assert desk.safe == desk.read


def test_all_frames_that_a_shard_has_passed_are_given_up_at_once():
    desk = Desk()
    for first in (0, 5, 10, 15):
        desk.answer(0, 1, first, first + 4)
    desk.answer(1, 2, 0, 17)
    assert (desk.assembly.orphaned, desk.assembly.frames) == (3, 2)
    assert desk.answer(0, 2, 0, 17) == (2, 0, 17)
    assert desk.safe == 3  # events 18 and 19 are still to be answered


def test_a_late_answer_to_a_frame_that_was_given_up_is_dropped():
    desk = Desk()
    desk.answer(0, 1, 0, 9)
    desk.answer(1, 2, 0, 9)
    assert desk.assembly.orphaned == 1
    assert desk.answer(1, 1, 0, 9) is None
    assert desk.answer(0, 2, 0, 9) == (2, 0, 9)
    assert desk.assembly.frames == 0


def test_frames_of_different_partitions_do_not_pass_each_other():
    desk = Desk()
    desk.answer(0, 1, 0, 9, partition=0)
    desk.answer(1, 5, 90, 99, partition=2)
    assert desk.assembly.frames == 2
    assert desk.answer(1, 1, 0, 9, partition=0) == (1, 0, 9)


def test_after_a_restart_the_second_half_of_a_finished_frame_is_given_up():
    """The first frame was written before; only its last answer is read again."""
    desk = Desk()
    desk.answer(0, 1, 10, 19)
    desk.answer(1, 1, 0, 9)
    assert (desk.assembly.frames, desk.assembly.orphaned) == (1, 1)
    assert desk.answer(1, 1, 10, 19) == (1, 10, 19)


def test_a_successor_does_not_repeat_what_lies_behind_a_frame_that_waits():
    """
    shard 0:  A B          B is in one record with A, and waits for shard 1
    shard 1:  A            the successor reads all three again
    """
    desk = Desk()
    desk.answer(0, 1, 0, 9)
    desk.assembly.add(partial({10: (1, [])}, shard=0), 0)
    assert desk.answer(1, 1, 0, 9) == (1, 0, 9)
    assert desk.safe == 0
    successor = desk.succeeded()
    assert successor.answer(0, 1, 0, 9) is None
    assert successor.answer(0, 1, 10, 10) is None
    assert successor.answer(1, 1, 0, 9) is None
    assert successor.answer(1, 1, 10, 10) == (1, 10, 10)
    assert (successor.safe, successor.assembly.orphaned) == (successor.read, 0)


def test_a_successor_knows_a_frame_that_overtook_another():
    """Routed events: the second frame is for shard 1 alone, the first waits for shard 0."""
    desk = Desk()
    assert desk.answer(1, 1, 0, 9) is None
    assert desk.answer(1, 1, 10, 19, shards=(1,)) == (1, 10, 19)
    assert desk.safe == 0
    successor = desk.succeeded().succeeded()
    assert successor.answer(1, 1, 0, 9) is None
    assert successor.answer(1, 1, 10, 19, shards=(1,)) is None
    assert successor.answer(0, 1, 0, 9) == (1, 0, 9)
    assert not successor.assembly.marks().ahead
    assert successor.succeeded().answer(1, 1, 10, 19, shards=(1,)) is None


def test_a_successor_knows_what_a_matcher_answers_again():
    desk = Desk()
    for shard in (0, 1):
        desk.answer(shard, 1, 0, 9)
    successor = desk.succeeded()
    assert [successor.answer(shard, 1, 0, 9) for shard in (0, 1)] == [None, None]
    assert [successor.answer(shard, 2, 0, 9) for shard in (0, 1)] == [None, (2, 0, 9)]


def test_a_frame_that_a_shard_has_never_had_is_lost_and_one_of_a_dead_router_is_not():
    """Shard 1 was away until its log no longer had the first frame."""
    desk = Desk()
    assert desk.answer(0, 1, 0, 9) is None
    assert desk.answer(0, 1, 10, 19) is None
    assert desk.answer(1, 1, 10, 19) == (1, 10, 19)
    assert (desk.assembly.lost, desk.assembly.orphaned) == (1, 0)
    assert desk.answer(0, 1, 20, 29) is None
    assert [desk.answer(shard, 2, 20, 29) for shard in (0, 1)] == [None, (2, 20, 29)]
    assert (desk.assembly.lost, desk.assembly.orphaned) == (1, 1)
