"""What `podium doctor` looks at: each check answers with one `Check`, and never raises."""

from typing import Literal, NamedTuple

State = Literal["ok", "warning", "failed", "skipped"]


class Check(NamedTuple):
    name: str
    state: State
    detail: str  # what was found, or the cause
    remedy: str = ""
