"""Data structures over numpy arrays with numba kernels; imports nothing else of Podium."""

from indexes.kernels.disk_cache import keep_forms_apart

keep_forms_apart()
