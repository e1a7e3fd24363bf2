"""The one way to make a Spark session: on this machine, on a cluster, in a test.

Wherever tasks run outside this process's machine they get our packages as a zip, so that nothing of
ours has to be installed there; numba, numpy, msgspec, pyarrow, pandas, redis and confluent-kafka
have to be.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from pyspark import SparkContext
from pyspark.sql import SparkSession

from configs.settings import Spark
from spark_streaming.package import write_package

LOG_SETTINGS = Path(__file__).with_name("log4j2.properties")
_QUICK_CHECKPOINTS = "org.apache.spark.sql.execution.streaming.FileSystemBasedCheckpointFileManager"


def open_session(
    settings: Spark, name: str, jars: Sequence[Path] = (), master: str | None = None
) -> SparkSession:
    """A session with Kafka's jars; `spark-submit` brings them itself, with `--jars`."""
    # The tasks' Python must have what we have; a cluster's may be elsewhere, and then says so.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ  # by spark-submit, which chose the master
    master = master or (None if submitted else settings.master)
    if master and master.startswith("local"):  # local-cluster as well: all on this machine
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.appName(name)
    if master:
        builder = builder.master(master)
    for option, value in {**_options(settings, jars), **settings.options}.items():
        builder = builder.config(option, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    if not is_local(str(spark.sparkContext.master)):
        spark.sparkContext.addPyFile(str(write_package()))
    return spark


def is_local(master: str) -> bool:
    """Whether tasks run in this process's machine only, with its Python path."""
    return master == "local" or master.startswith("local[")


def _options(settings: Spark, jars: Sequence[Path]) -> dict[str, str]:
    options = {
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": str(settings.ui).lower(),
        "spark.ui.showConsoleProgress": "false",
        # Rows only pass through, to Python: code for them takes longer to make than it saves.
        "spark.sql.codegen.wholeStage": "false",
        # Each collection has a pool of its own: one that reads its topics from the beginning takes
        # its share of the tasks, and not all.
        "spark.scheduler.mode": "FAIR",
        # Options of the Kafka source are shown in plans and logs; these hold passwords and keys.
        "spark.redaction.regex": "(?i)secret|password|token|jaas|keystore|access[.]?key",
    }
    if urlsplit(settings.checkpoints).scheme in ("", "file"):
        # Spark's usual one starts the program chmod for each of the four files of a batch; here
        # both rename a finished file.
        options["spark.sql.streaming.checkpointFileManagerClass"] = _QUICK_CHECKPOINTS
    if jars:
        options["spark.jars"] = ",".join(map(str, jars))
    if SparkContext._gateway is None:  # only then is the JVM ours to start
        options["spark.driver.extraJavaOptions"] = f"-Dlog4j2.configurationFile={LOG_SETTINGS}"
    return options
