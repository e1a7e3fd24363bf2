"""The Dockerfile as tests read it: stages with their instructions, and what may be copied."""

import re
import shlex
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]


class Stage(NamedTuple):
    base: str
    name: str
    instructions: list[tuple[str, str]]

    def all(self, word: str) -> list[str]:
        return [text for name, text in self.instructions if name == word]

    def variables(self) -> dict[str, str]:
        """Of its ENV and ARG instructions, defaults filled in."""
        found: dict[str, str] = {}
        for name, text in self.instructions:
            if name not in ("ENV", "ARG"):
                continue
            for pair in shlex.split(text):
                variable, _, value = pair.partition("=")
                found[variable] = re.sub(r"\$\{(\w+)\}", lambda m: found.get(m[1], m[0]), value)
        return found


def stages(text: str) -> dict[str, Stage]:
    found: dict[str, Stage] = {}
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    for line in re.sub(r"\\\n", " ", "\n".join(lines)).splitlines():
        if not line.strip():
            continue
        word, _, rest = line.partition(" ")
        if word == "FROM":
            base, _, name = rest.partition(" AS ")
            latest = found[name] = Stage(base, name, [])
        elif found:
            latest.instructions.append((word, rest.strip()))
    return found


def sent_to_the_builder(ignore: str, files: list[str]) -> list[str]:
    """Of `files`, those that .dockerignore leaves: the last line that fits decides."""
    kept = []
    for file in files:
        sent = True
        for line in ignore.splitlines():
            pattern = line.strip().removeprefix("!")
            if not pattern or pattern.startswith("#"):
                continue
            name = pattern.removeprefix("**/")
            parts = Path(file).parts
            fits = (
                any(fnmatch(part, name) for part in parts)
                if pattern.startswith("**/")
                else fnmatch(file, pattern) or file == pattern or file.startswith(pattern + "/")
            )
            if fits:
                sent = line.startswith("!")
        if sent:
            kept.append(file)
    return kept
