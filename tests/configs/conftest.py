import os

import pytest


@pytest.fixture(autouse=True)
def nothing_is_set(monkeypatch, tmp_path):
    """No variable of ours, and a working folder without a settings file."""
    for name in os.environ:
        if name.startswith("PODIUM_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def write(tmp_path):
    def write(text, name="podium.yaml"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    return write
