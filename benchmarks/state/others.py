"""How much of the machine other programs used while something was measured."""

import time
from types import TracebackType
from typing import Self

import psutil

__all__ = ["Others"]

_MANY = 0.3  # cores: beyond that a target that was missed says little


class Others:
    """`cores` after the block: CPU time a second of all processes but this one and its children.

    A child that ends inside the block counts as another's.
    """

    cores = 0.0

    def __enter__(self) -> Self:
        self._before = _others_cpu_s()
        self._began = time.monotonic()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        used = _others_cpu_s() - self._before
        self.cores = max(0.0, used / max(time.monotonic() - self._began, 1e-9))

    @property
    def many(self) -> bool:
        return self.cores > _MANY


def _others_cpu_s() -> float:
    all_ = psutil.cpu_times()
    idle = all_.idle + getattr(all_, "iowait", 0.0)
    guests = getattr(all_, "guest", 0.0) + getattr(all_, "guest_nice", 0.0)  # in `user` as well
    return float(sum(all_) - idle - guests - _ours_cpu_s())


def _ours_cpu_s() -> float:
    us = psutil.Process()
    total = 0.0
    for process in (us, *us.children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue  # its time is among those of its parent's dead children
        total += times.user + times.system
    return total
