"""Run as a process of its own, to be killed: a backfill in small pieces."""

import sys

from configs import load_collection, load_settings
from configs.logs import log_to_stderr
from podium.stack.setup.jars import location
from spark_streaming.collection_io import CollectionIO
from spark_streaming.driver.backfill import BackfillJob
from spark_streaming.driver.pieces import BackfillRequest
from spark_streaming.session import open_session


def main(settings_path: str, collection_path: str, topic: str, parquet: str, piece: str) -> None:
    log_to_stderr(throttled=False)
    settings = load_settings(settings_path)
    spark = open_session(settings.spark, "backfill", sorted((location() / "spark").glob("*.jar")))
    request = BackfillRequest(None, None, topic or None, parquet or None)
    io = CollectionIO(spark, settings, load_collection(collection_path))
    BackfillJob(io, request).run(int(piece))


if __name__ == "__main__":
    main(*sys.argv[1:])
