"""How `make test` divides the tests: a file's fixtures, a fleet perhaps, are made once."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILES = (
    "tests/topics/test_frames.py",
    "tests/topics/codecs/test_byte_strings.py",
    "tests/topics/codecs/test_columns.py",
)


def test_a_file_is_not_divided_among_processes():
    options = ["-v", "--numprocesses", "2", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *options, *FILES]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    taken = re.findall(r"^\[(gw\d+)\].* (tests/\S+?\.py)::", run.stdout, re.MULTILINE)
    assert {file for _, file in taken} == set(FILES)
    assert {process for process, _ in taken} == {"gw0", "gw1"}
    assert len(set(taken)) == len(FILES), "a file has tests in both processes"
