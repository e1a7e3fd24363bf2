"""Hypothesis profiles: without the JIT every kernel is interpreted, so fewer examples are drawn."""

import os

from hypothesis import settings

settings.register_profile("compiled", max_examples=60, stateful_step_count=30, deadline=None)
settings.register_profile("interpreted", max_examples=12, stateful_step_count=30, deadline=None)
settings.load_profile("interpreted" if os.environ.get("NUMBA_DISABLE_JIT") == "1" else "compiled")
