"""Data structures over numpy arrays with numba kernels; imports nothing else of Podium."""
