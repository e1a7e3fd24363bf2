"""What a task does for the next one: Spark's Python processes live from batch to batch."""

import gc
import sys
from zipimport import zipimporter

_settled = False


def keep_quick() -> None:
    """To be called at the end of a task; a task of nothing takes 15 ms of CPU then, not 170.

    PySpark makes Python forget what it knows of the folders that it imports from before every task,
    and collects garbage after it.  Until Python 3.12, forgetting a zip means to read its list of
    files again, once for each package in it, and PySpark is a zip of 16 packages: without importers
    there is nothing to forget, and Python makes a new one when it needs it.  What was imported is
    no garbage, so the collector need not look at it.
    """
    for path, importer in list(sys.path_importer_cache.items()):
        if isinstance(importer, zipimporter):
            del sys.path_importer_cache[path]
    global _settled
    if not _settled:
        gc.freeze()
        _settled = True
