"""Platform abstraction of the VM: clock, log and memory.

Replace it by passing another one to `load_program`.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import weakref
from enum import IntEnum

import numpy as np

from et_schema.errors import OutOfMemory
from et_schema.wording import abbreviated
from et_vm.values import Array

ALIGNMENT = 64


class LogLevel(IntEnum):
    """Severity of a message."""

    DEBUG = 0
    INFO = 1
    ERROR = 2
    FATAL = 3


class Platform:
    """The default platform: the process's monotonic clock, standard error, and numpy's allocator."""

    def __init__(
        self,
        log_level: LogLevel = LogLevel.ERROR,
        *,
        memory_limit: int | None = None,
        work_limit: int | None = None,
        threads: int | None = None,
    ) -> None:
        """Messages below `log_level` are dropped.

        `memory_limit` is how many bytes there may be at one time of what `allocate` returned and
        `reserve` counted: arenas, tensors that nobody planned, working memory of kernels and data derived from
        constants, of all programs that are loaded with this platform. `work_limit` is how many units of work one
        execution may take (`et_vm.work`). `threads` is on how many threads the chains of a method run, the caller's
        among them: as many as there are processors unless given.
        """
        self.log_level = log_level
        self.memory_limit = memory_limit
        self.work_limit = work_limit
        self.threads = processors() if threads is None else threads
        self._allocated = 0
        # Memory is given back in the middle of whatever runs when its last user goes.
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        limits = {"memory_limit": self.memory_limit, "work_limit": self.work_limit}
        given = [f"{name}={limit}" for name, limit in limits.items() if limit is not None]
        return f"{type(self).__name__}({', '.join([f'log_level={self.log_level.name}', *given])})"

    def ticks(self) -> int:
        """Monotonic time in nanoseconds."""
        return time.perf_counter_ns()

    def log(self, level: LogLevel, message: str) -> None:
        """Write one message."""
        if level >= self.log_level:
            print(f"et_vm: {level.name.lower()}: {abbreviated(message)}", file=sys.stderr)

    def allocate(self, nbytes: int) -> Array:
        """`nbytes` zeroed bytes as a flat uint8 array, 64-byte aligned.

        Raises OutOfMemory when the system has not that much, or the limit would be passed.
        """
        limited = self.memory_limit is not None
        if limited:
            self._take(nbytes)
        try:
            raw = np.zeros(nbytes + ALIGNMENT, np.uint8)
        except (MemoryError, ValueError, OverflowError) as error:
            if limited:
                self._release(nbytes)
            raise OutOfMemory(f"cannot allocate {nbytes} bytes", needed=nbytes) from error
        if limited:
            weakref.finalize(raw, self._release, nbytes)
        skip = -raw.ctypes.data % ALIGNMENT
        return raw[skip : skip + nbytes]

    def reserve(self, nbytes: int) -> object:
        """Count `nbytes` that something else allocates for as long as the object lives that is returned.

        Raises OutOfMemory when the limit would be passed.
        """
        if self.memory_limit is None:
            return None
        self._take(nbytes)
        reservation = _Reservation()
        weakref.finalize(reservation, self._release, nbytes)
        return reservation

    def _take(self, nbytes: int) -> None:
        limit = self.memory_limit
        assert limit is not None
        with self._lock:
            left = limit - self._allocated
            if nbytes > left:
                raise OutOfMemory(
                    f"cannot allocate {nbytes} bytes, {left} are left of a limit of {limit}",
                    needed=nbytes,
                    available=left,
                )
            self._allocated += nbytes

    def _release(self, nbytes: int) -> None:
        with self._lock:
            self._allocated -= nbytes


def processors() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Reservation:
    """Bytes that count until it is gone."""

    __slots__ = ("__weakref__",)
