"""Compiled kernels are kept on disk, and processes that start together may keep them at once.

numba numbers the compiled forms of a kernel, and an index says which file has which form.  Two
processes that keep different forms at the same moment choose the same number, and a third calls
one form with the arguments of the other: it reads and writes where it must not.  Here a form has
a file of its own, named by what it takes, which is complete before the index knows it.  All that
such processes can do to each other now is to forget a form, which is compiled again.
"""

import hashlib
from typing import Any

from numba.core import caching

__all__ = ["keep_forms_apart"]


def keep_forms_apart() -> None:
    caching.IndexDataCacheFile.save = _save  # type: ignore[method-assign]


def _save(self: Any, key: Any, data: Any) -> None:
    digest = hashlib.sha256(repr(key).encode()).digest()
    name = self._data_name(int.from_bytes(digest[:8], "big"))
    self._save_data(name, data)
    overloads = self._load_index()
    overloads[key] = name
    self._save_index(overloads)
