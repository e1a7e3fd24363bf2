"""The story: coupons around the world are registered, people talk, the answers are checked."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import yaml

from configs.collection import PACKAGED
from podium.demo.check import Answer, Event, Place, spread_sample
from podium.demo.coupons.data import Cities, load_cities, write_script
from podium.demo.coupons.report import Example, Match, Report, Wrong
from podium.demo.coupons.scan import Ledger, Words, agree, read_log, top_k
from podium.demo.data import Script, visitor_number
from podium.demo.scene import Scene, scene
from podium.demo.screen import shown
from podium.demo.story import Options as SharedOptions
from podium.demo.story import Story
from podium.demo.table import Board, Step
from podium.demo.topics_read import end_offsets, read_topic
from podium.demo.verdict import as_answer, read_events
from podium.demo.workplace import workplace

EXAMPLES, TELLING = 5, 2  # how many are shown, each with so many coupons at least
PACKAGED_FILE = PACKAGED / "coupons.yaml"


@dataclass(frozen=True)
class Options:
    coupons: int
    messages: int
    check: int
    rate: int  # messages a second while latency is measured
    matchers: int
    seed: int


def run_demo(options: Options, folder: Path | None = None, keep: bool = False) -> Report:
    """Everything that this starts is stopped when it returns or raises."""
    cities, board = load_cities(options.coupons), _board(options)
    with workplace(folder, keep) as place, shown(board):
        try:
            report = _told(options, board, place.folder, cities)
        finally:
            if (stop := board.step("stop")).state == "running":
                board.end("stop", stop.plan)
            board.fail()
        place.keep = keep or not report.fine
    return replace(report, seconds=board.seconds())


def _board(options: Options) -> Board:
    matchers = "1 matcher" if options.matchers == 1 else f"{options.matchers} matchers"
    first, half = options.coupons * 9 // 10, options.messages // 2
    return Board(
        f"Podium demo: {options.coupons:,} coupons, {options.messages:,} messages",
        [
            Step("start", f"Kafka, Redis, 1 router, {matchers}, 1 merger"),
            Step("register", f"{first:,} coupons around the world"),
            Step("stream", f"{half:,} messages, while coupons come, change and go"),
            Step("burst", "the other messages at full speed"),
            Step("check", f"{options.check:,} answers against a full scan"),
            Step("stop", "everything that was started"),
        ],
    )


def _told(options: Options, board: Board, folder: Path, cities: Cities) -> Report:
    def say(text: str) -> None:
        if board.step("start").state == "running":
            board.say("start", text)

    board.begin("start", "making up coupons and messages")
    script = write_script(options.coupons, options.messages, options.seed, cities)
    with scene(folder, options.matchers, say, _collection_file(folder)) as on:
        board.end("start", board.step("start").plan)
        try:
            with (
                on.clients.reaching(on.admin),
                CouponStory(options, board, script, on, cities) as story,
            ):
                return story.told_of_coupons()
        finally:
            board.fail()
            board.begin("stop", "stopping")


def _collection_file(folder: Path) -> Path:
    """The one that comes with Podium, with a record also for a message without coupons."""
    declared = yaml.safe_load(PACKAGED_FILE.read_text())
    declared["emit_empty"] = True
    file = folder / PACKAGED_FILE.name
    file.write_text(yaml.safe_dump(declared))
    return file


class _Verdict(NamedTuple):
    checked: int
    agreed: int
    states: int
    first_wrong: Wrong | None


class CouponStory(Story):
    noun = "coupons"

    def __init__(
        self, options: Options, board: Board, script: Script, on: Scene, cities: Cities
    ) -> None:
        counts = options.coupons, options.messages, options.check, options.seed
        shared = SharedOptions(*counts, options.rate, options.matchers)
        super().__init__(shared, board, script, on)
        self._cities = cities

    def told_of_coupons(self) -> Report:
        registered = self._register()
        streamed = self._stream()
        burst = self._burst()
        self._board.figures = None
        self._board.begin("check", "reading the topics back")
        collection, words = self._on.collection, Words(self._on.collection.stemmer)
        topic = self._on.topic("subscriptions")
        ends = end_offsets(self._on.admin, topic, collection.shards)
        ledger = read_log(read_topic(self._on.clients, topic, ends), words)
        events = read_events(self._on)
        answers = sorted(
            map(as_answer, self._watcher.records), key=lambda answer: visitor_number(answer.key)
        )
        chosen = [answers[i] for i in spread_sample(len(answers), self._options.check, 1)]
        self._board.say("check", f"recomputing {len(chosen):,} answers by a full scan")
        verdict = self._compared(ledger, words, events, chosen)
        self._board.end(
            "check",
            f"{verdict.checked:,} answers, as of {verdict.states:,} states of the coupons",
            "done" if verdict.agreed == verdict.checked else "failed",
        )
        return Report(
            self._options.seed,
            registered,
            streamed,
            burst,
            len(events),
            len({answer.place for answer in answers} & events.keys()),
            sum(1 for answer in answers if answer.hits),
            *verdict,
            self._examples(ledger, events, chosen),
            self._board.seconds(),
        )

    def _compared(
        self, ledger: Ledger, words: Words, events: dict[Place, Event], answers: Sequence[Answer]
    ) -> _Verdict:
        agreed, wrong = 0, None
        for answer in answers:
            event = events[answer.place]
            best = top_k(
                ledger, json.loads(event.value), words, answer.as_of, self._on.collection.k
            )
            expected = [(ledger.ids[row], score) for score, row in best]
            if agree(expected, answer.hits):
                agreed += 1
            elif wrong is None:
                place = f"{self._on.topic('events')}[{answer.place[0]}]@{answer.place[1]}"
                value = event.value.decode()
                wrong = Wrong(place, value, answer.as_of, expected, answer.hits)
        states = {tuple(sorted(answer.as_of.items())) for answer in answers}
        return _Verdict(len(answers), agreed, len(states), wrong)

    def _examples(
        self, ledger: Ledger, events: dict[Place, Event], answers: Sequence[Answer]
    ) -> list[Example]:
        """Short messages with something to see, from the beginning of the run to its end."""
        telling = [answer for answer in answers if len(answer.hits) >= TELLING]
        step = max(1, len(telling) // EXAMPLES)
        row_of = {id: row for row, id in enumerate(ledger.ids)}  # of the latest record
        examples = []
        for start in range(0, EXAMPLES * step, step):
            some = telling[start : start + step]
            if not some:
                break
            answer = min(some, key=lambda one: len(events[one.place].value))
            event = json.loads(events[answer.place].value)
            matches = [Match(id, score, ledger.documents[row_of[id]]) for id, score in answer.hits]
            city = self._cities.nearest(*event["point"])
            examples.append(Example(answer.key.decode(), city, event, matches))
        return examples
