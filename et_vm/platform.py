"""What the VM asks of the system it runs on: a clock, a log and memory. Replace it by passing another one
to ``load_program``.
"""

from __future__ import annotations

import sys
import time
from enum import IntEnum

import numpy as np

from et_schema.errors import OutOfMemory
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

    def __init__(self, log_level: LogLevel = LogLevel.ERROR) -> None:
        """Messages below ``log_level`` are dropped."""
        self.log_level = log_level

    def ticks(self) -> int:
        """Monotonic time in nanoseconds."""
        return time.perf_counter_ns()

    def log(self, level: LogLevel, message: str) -> None:
        """Write one message."""
        if level >= self.log_level:
            print(f"et_vm: {level.name.lower()}: {message}", file=sys.stderr)

    def allocate(self, nbytes: int) -> Array:
        """``nbytes`` zeroed bytes as a flat uint8 array, 64-byte aligned.

        Raises OutOfMemory when the system has not that much.
        """
        try:
            raw = np.zeros(nbytes + ALIGNMENT, np.uint8)
        except (MemoryError, ValueError) as error:
            raise OutOfMemory(f"cannot allocate {nbytes} bytes", needed=nbytes) from error
        skip = -raw.ctypes.data % ALIGNMENT
        return raw[skip : skip + nbytes]
