"""Hypothesis profiles: without the JIT every kernel is interpreted, so fewer examples are drawn."""

import os

from hypothesis import settings

from tests.effort import effort

settings.register_profile(
    "compiled", max_examples=effort(short=40, long=60), stateful_step_count=30, deadline=None
)
settings.register_profile(
    "interpreted", max_examples=effort(short=8, long=12), stateful_step_count=30, deadline=None
)
settings.load_profile("interpreted" if os.environ.get("NUMBA_DISABLE_JIT") == "1" else "compiled")
