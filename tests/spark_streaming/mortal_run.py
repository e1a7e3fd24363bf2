"""Run as a process of its own: a job that is killed once its bases are announced.

That is before Spark can note that the batch is done, so it is done again.
"""

import os
import signal
import sys
from collections.abc import Iterable

from pyspark.sql import Row

from configs import load_collection, load_settings
from podium.stack.setup.jars import location
from spark_streaming.driver.announcements import Announcements
from spark_streaming.jobs import run_sopt_bases


def main(settings_path: str, collection_path: str) -> None:
    publish = Announcements.publish

    def publish_and_die(self: Announcements, outcomes: Iterable[Row]) -> None:
        publish(self, outcomes)
        os.killpg(0, signal.SIGKILL)  # the driver, its JVM and the tasks' Pythons

    Announcements.publish = publish_and_die
    settings, collection = load_settings(settings_path), load_collection(collection_path)
    run_sopt_bases(settings, collection, True, sorted((location() / "spark").glob("*.jar")))


if __name__ == "__main__":
    main(*sys.argv[1:])
