"""A model of the whole fleet as the merger sees it, `FleetOfLogs`.

Workers leave at any moment, or die, and their successors do again what they had not committed.
"""

from collections import defaultdict
from itertools import chain

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.effort import effort
from tests.workers.merger.answers import partial
from topics.frames import FrameId
from workers.merger.assembly import Assembly
from workers.merger.progress import MergeProgress

PARTITIONS, SHARDS, LOGS = 2, 3, 2
partitions, shards = st.integers(0, PARTITIONS - 1), st.integers(0, SHARDS - 1)
a_few = st.integers(1, 6)
EVERYONE = frozenset(range(SHARDS))
# Of how many events, and for which shards: with routing not for all.
frames = st.tuples(a_few, st.just(EVERYONE) | st.frozensets(shards, min_size=1))
cuts = st.lists(frames, min_size=1, max_size=4)
some_a_shard = st.tuples(*[st.integers(0, 5)] * SHARDS)


class Router:
    """Of one events partition.  What it sends reaches each shard in order, but not all at once.

    All shards answer its frames into the log of partials that it names.
    """

    def __init__(self, epoch, committed, answers=0):
        self.answers = answers
        self.epoch, self.committed, self.position = epoch, committed, committed
        self.queued = [[] for _ in range(SHARDS)]


class FleetOfLogs(RuleBasedStateMachine):
    """Workers come and go, and partitions move between them."""

    is_spared = True

    @initialize()
    def start(self):
        self.routers = [Router(1, 0, partition % LOGS) for partition in range(PARTITIONS)]
        self.zombies = []  # routers that lost their partition and go on sending what they had
        self.events = [0] * PARTITIONS  # that some router has seen
        self.frames = [[] for _ in range(SHARDS)]  # the log of each shard
        self.answered = [0] * SHARDS  # position of each matcher in its log
        self.acknowledged = [0] * SHARDS
        self.taking_part = {}  # the shards of each frame
        self.answers = {}  # the log of partials that each frame names
        self.partials = [[] for _ in range(LOGS)]  # that the merger reads; a record: a few answers
        self.assemblies = [Assembly() for _ in range(LOGS)]
        self.following, self.committed = [0] * LOGS, [0] * LOGS
        self.marks = [""] * LOGS  # committed with the offsets
        self.written = [set() for _ in range(PARTITIONS)]  # and acknowledged by the broker
        self.in_flight = [set() for _ in range(PARTITIONS)]
        self.repeats = 0

    # Routers

    @rule(partition=partitions, cuts=cuts, send=st.booleans())
    def make_frames(self, partition, cuts, send):
        router = self.routers[partition]
        for count, taking_part in cuts:
            last = router.position + count - 1
            name = FrameId(partition, router.epoch, router.position, last)
            self.taking_part[name], self.answers[name] = taking_part, router.answers
            for shard in taking_part:
                router.queued[shard].append(name)
            router.position = last + 1
        self.events[partition] = max(self.events[partition], router.position)
        if send:
            self.send(router)

    def send(self, router, counts=(None,) * SHARDS):
        """The first frames of each shard's queue, or all of them."""
        for log, queue, count in zip(self.frames, router.queued, counts, strict=True):
            log.extend(queue[:count])
            del queue[:count]

    @rule(data=st.data(), counts=some_a_shard)
    def send_some(self, data, counts):
        """Frames reach one shard before the others; some come from a router that should be dead."""
        self.send(data.draw(st.sampled_from([*self.routers, *self.zombies])), counts)

    @rule(partition=partitions)
    def router_commits(self, partition):
        router = self.routers[partition]
        self.send(router)
        router.committed = router.position

    @rule(partition=partitions, later=st.integers(1, 3), answers=st.integers(0, LOGS - 1))
    def router_loses_its_partition(self, partition, later, answers):
        """Its successor may know of more logs of partials."""
        self.router_commits(partition)
        left = self.routers[partition]
        if not self.is_spared:  # half of a frame would wait in the one log for ever
            answers = left.answers
        self.routers[partition] = Router(left.epoch + later, left.committed, answers)

    # Matchers

    @rule(shard=shards, count=a_few, acknowledge=st.booleans())
    def answer(self, shard, count, acknowledge):
        """Frames that came in one record are answered in one."""
        asked = self.frames[shard][self.answered[shard] :][:count]
        for log, partials in enumerate(self.partials):
            if together := [(shard, name) for name in asked if self.answers[name] == log]:
                partials.append(together)
        self.answered[shard] += len(asked)
        if acknowledge:
            self.acknowledged[shard] = self.answered[shard]

    @rule(shard=shards)
    def matcher_loses_its_shard(self, shard):
        """Whoever takes it answers again what was not acknowledged."""
        self.answered[shard] = self.acknowledged[shard]

    # The merger

    @rule(log=st.integers(0, LOGS - 1), count=a_few, commit=st.booleans())
    def merge_some(self, log, count, commit):
        for record in self.partials[log][self.following[log] :][:count]:
            for shard, name in record:
                events = {offset: (1, []) for offset in range(name.first, name.last + 1)}
                taking_part = sorted(self.taking_part[name])
                given = partial(events, shard=shard, name=name, shards=taking_part)
                if merged := self.assemblies[log].add(given, self.following[log]):
                    self.note(merged, name)
            self.following[log] += 1
        if commit:
            self.merger_commits()

    def note(self, merged, name):
        offsets = set(range(name.first, name.last + 1))
        assert (merged.partition, set(merged.offsets.tolist())) == (name.partition, offsets)
        assert [as_of.keys() for as_of in merged.as_of] == [self.taking_part[name]]
        self.repeats += not offsets.isdisjoint(self.written[name.partition])
        self.repeats += not offsets.isdisjoint(self.in_flight[name.partition])
        self.in_flight[name.partition] |= offsets

    def merger_commits(self):
        for written, in_flight in zip(self.written, self.in_flight, strict=True):
            written |= in_flight
            in_flight.clear()
        self.committed = self.safe_places()
        self.marks = [assembly.marks().encode() for assembly in self.assemblies]

    @rule()
    def merger_loses_its_partitions(self):
        """To another, or it gets them back; it has committed before."""
        self.merger_commits()
        self.leave()

    @rule()
    def everything_moves_at_once(self):
        for shard in range(SHARDS):
            self.matcher_loses_its_shard(shard)
        self.merger_loses_its_partitions()

    def leave(self):
        """Whoever has the partitions next reads on where they were committed."""
        self.following = list(self.committed)
        self.assemblies = [Assembly() for _ in range(LOGS)]
        for assembly, marks in zip(self.assemblies, self.marks, strict=True):
            assembly.resume(MergeProgress.decode(marks))

    def safe_places(self):
        places = zip(self.assemblies, self.following, strict=True)
        return [assembly.safe_place(following) for assembly, following in places]

    # What must hold

    @invariant()
    def nothing_that_is_not_answered_is_committed(self):
        """Every event that its router will not send again is written, or the merger will still
        read the answers of all shards to some frame of it."""
        readable = defaultdict(set)  # the shards whose answer lies ahead, by frame
        for partials, safe in zip(self.partials, self.safe_places(), strict=True):
            for shard, name in chain(*partials[safe:]):
                readable[name].add(shard)
        for shard, log in enumerate(self.frames):
            for name in log[self.answered[shard] :]:
                readable[name].add(shard)
        covered = [w | f for w, f in zip(self.written, self.in_flight, strict=True)]
        for name, who in readable.items():
            if who == self.taking_part[name]:
                covered[name.partition].update(range(name.first, name.last + 1))
        for partition, router in enumerate(self.routers):
            missing = set(range(router.committed)) - covered[partition]
            assert not missing, f"events {sorted(missing)} of partition {partition} are lost"

    @invariant()
    def the_safe_place_is_what_was_read_and_never_goes_back(self):
        for places in zip(self.committed, self.safe_places(), self.following, strict=True):
            assert list(places) == sorted(places)

    @invariant()
    def no_frame_is_taken_for_lost(self):
        """Every shard has every frame in its log, here."""
        assert not any(assembly.lost for assembly in self.assemblies)

    @precondition(lambda self: self.is_spared)
    @invariant()
    def without_a_crash_nothing_is_given_up_or_repeated(self):
        orphaned = [assembly.orphaned for assembly in self.assemblies]
        assert (orphaned, self.repeats) == ([0] * LOGS, 0)

    def teardown(self):
        if not hasattr(self, "assemblies"):
            return
        for partition, router in enumerate(self.routers):
            behind = self.events[partition] - router.position
            self.make_frames(partition, [(behind, EVERYONE)] if behind else [], True)
        self.drain()
        assert self.written == [set(range(count)) for count in self.events]
        # Frames that nobody will complete go with the next one that every shard answers.
        for partition in range(PARTITIONS):
            self.make_frames(partition, [(1, EVERYONE)], True)
        self.drain()
        assert self.written == [set(range(count)) for count in self.events]
        assert not any(a.frames for a in self.assemblies), "a frame waits for ever"
        assert self.committed == list(map(len, self.partials))

    def drain(self):
        for partition in range(PARTITIONS):
            self.router_commits(partition)
        for shard in range(SHARDS):
            self.answer(shard, len(self.frames[shard]), True)
        for log, partials in enumerate(self.partials):
            self.merge_some(log, len(partials), True)


class CrashingFleetOfLogs(FleetOfLogs):
    """Routers and mergers die, too."""

    is_spared = False

    @rule(
        partition=partitions,
        cuts=cuts,
        counts=some_a_shard,
        later=st.integers(1, 3),
        lives_on=st.booleans(),
    )
    def router_dies_while_it_sends(self, partition, cuts, counts, later, lives_on):
        """Its successor starts where it had committed, and cuts otherwise."""
        dead = self.routers[partition]
        self.make_frames(partition, cuts, False)
        self.send(dead, counts)
        self.routers[partition] = Router(dead.epoch + later, dead.committed, dead.answers)
        if lives_on:
            self.zombies.append(dead)

    @rule()
    def merger_dies(self):
        """What it had written without an acknowledgement is lost."""
        self.leave()
        self.in_flight = [set() for _ in range(PARTITIONS)]

    @rule()
    def merger_loses_its_partitions_at_once(self):
        """Too late to commit; what it has written is there all the same."""
        self.leave()


TestFleetOfLogs = FleetOfLogs.TestCase
TestCrashingFleetOfLogs = CrashingFleetOfLogs.TestCase
TestFleetOfLogs.settings = TestCrashingFleetOfLogs.settings = settings(
    max_examples=effort(short=80, long=250), stateful_step_count=40, deadline=None
)
