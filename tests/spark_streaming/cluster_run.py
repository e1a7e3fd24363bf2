"""Run as a process of its own: one run of each job on executors that are processes as well.

Prints one line of JSON: where the executors have our packages from, their process ids, and
how many events were matched.
"""

import json
import os
import shutil
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyspark

from configs import load_collection, load_settings
from configs.logs import log_to_stderr
from podium.stack.setup.jars import location
from spark_streaming.collection_io import CollectionIO
from spark_streaming.driver.backfill import BackfillJob
from spark_streaming.driver.bases import BasesJob
from spark_streaming.driver.pieces import BackfillRequest
from spark_streaming.running import await_query
from spark_streaming.session import open_session


def whereabouts(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import indexes.intervals
    import spark_streaming.tasks.build_bases

    for _ in batches:
        files = [indexes.intervals.__file__, spark_streaming.tasks.build_bases.__file__]
        yield pa.RecordBatch.from_pydict({"files": [files], "parent": [os.getppid()]})


def main(settings_path: str, collection_path: str, matches: str) -> None:
    log_to_stderr(throttled=False)
    settings = load_settings(settings_path)
    jars = sorted((location() / "spark").glob("*.jar"))
    spark = open_session(settings.spark, "cluster test", jars)
    frame = spark.range(0, 8, 1, 4).mapInArrow(whereabouts, "files array<string>, parent long")
    rows = frame.collect()
    io = CollectionIO(spark, settings, load_collection(collection_path))
    job = BasesJob(io)
    await_query(job.start(once=True), job, threading.Event())
    matched = BackfillJob(io, BackfillRequest(None, None, matches, None)).run()
    application = spark.sparkContext.applicationId
    spark.stop()
    # Where the executors had their folders: Spark puts them beside its own code.
    shutil.rmtree(Path(pyspark.__file__).parent / "work" / application)
    files = sorted({file for row in rows for file in row.files})
    daemons = sorted({row.parent for row in rows})
    print(json.dumps({"files": files, "daemons": daemons, "matched": matched}))


if __name__ == "__main__":
    main(*sys.argv[1:])
