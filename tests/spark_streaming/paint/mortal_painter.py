"""Run as a process of its own: a job that is killed in the middle of what it says to the zones."""

import os
import signal
import sys

from configs import load_collection, load_settings
from podium.stack.setup.jars import location
from spark_streaming.driver.zone_voice import ZoneVoice
from spark_streaming.jobs import run_paint_batch
from topics.messages import ZoneRecord


def main(settings_path: str, collection_path: str) -> None:
    say = ZoneVoice.say

    def say_and_die(self: ZoneVoice, record: ZoneRecord) -> None:
        say(self, record)
        if len(record.coming.lives) or len(record.messages.group):
            self.settle()
            os.killpg(0, signal.SIGKILL)  # the driver, its JVM and the tasks' Pythons

    ZoneVoice.say = say_and_die
    settings, collection = load_settings(settings_path), load_collection(collection_path)
    run_paint_batch(settings, [collection], True, sorted((location() / "spark").glob("*.jar")))


if __name__ == "__main__":
    main(*sys.argv[1:])
