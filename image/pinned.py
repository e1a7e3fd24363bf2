"""The lines of requirements.lock that pin one package: `python image/pinned.py setuptools`."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "podium" / "stack" / "setup"))
    from bootstrap import requirement

    print(requirement((ROOT / "requirements.lock").read_text(), sys.argv[1]), end="")
