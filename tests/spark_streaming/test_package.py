import subprocess
import sys
import zipfile

from spark_streaming.package import ROOT, write_package


def test_the_zip_has_the_same_bytes_whenever_the_code_has():
    assert write_package().read_bytes() == write_package().read_bytes()


def test_the_zip_has_what_tasks_import_and_nothing_above_it():
    names = zipfile.ZipFile(write_package()).namelist()
    assert "spark_streaming/tasks/build_bases.py" in names
    assert "indexes/intervals/sopt_r_tree.py" in names
    assert {name.split("/")[0] for name in names} == {
        "configs",
        "indexes",
        "spark_streaming",
        "storage",
        "topics",
    }


def test_the_tasks_code_runs_from_the_zip_alone(tmp_path):
    code = (
        f"import sys; sys.path = [{str(write_package())!r}]"
        f" + [p for p in sys.path if p not in ('', {str(ROOT)!r})]\n"
        "import spark_streaming.tasks.build_bases, indexes\n"
        "print(indexes.__file__)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "podium.zip" in ended.stdout
