import subprocess
import sys
import zipfile

from spark_streaming.package import ROOT

# In a process of its own: what is frozen stays so.
TASKS = """
import gc, importlib, sys
from zipimport import zipimporter
from spark_streaming.tasks.worker_process import keep_quick

sys.path.insert(0, sys.argv[1])
import packed.one
assert any(isinstance(found, zipimporter) for found in sys.path_importer_cache.values())
keep_quick()
assert not any(isinstance(found, zipimporter) for found in sys.path_importer_cache.values())
frozen = gc.get_freeze_count()
assert frozen > 1000
importlib.invalidate_caches()  # as PySpark does before the next task
import packed.two
print(packed.one.NAME, packed.two.NAME)
keep_quick()
assert gc.get_freeze_count() == frozen
"""


def test_between_tasks_nothing_is_read_again_and_imports_still_find_what_is_in_a_zip(tmp_path):
    package = tmp_path / "packed.zip"
    with zipfile.ZipFile(package, "w") as made:
        made.writestr("packed/__init__.py", "")
        for name in ("one", "two"):
            made.writestr(f"packed/{name}.py", f"NAME = {name!r}")
    ended = subprocess.run(
        [sys.executable, "-c", TASKS, str(package)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.stdout.split() == ["one", "two"], ended.stderr
