"""Times of the kernels of native programs, which the compiler's tuning compares.

    python -m et_backends.native.runtime.timing FILE…

Runs the machine code in the files. Prints a JSON list with an object for each file: seconds by number of the kernel.
"""

from __future__ import annotations

import json
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from et_schema.errors import ExecutorchError
from et_vm.backends.timing import random_inputs
from et_vm.runtime import Runtime
from et_vm.tracer import RecordingTracer

__all__ = ["kernel_times"]

ROUNDS: Final = 40
"""Executions of each program that are timed, at most."""
SECONDS: Final = 5.0
"""Time after which no further round begins."""
LEAST: Final = 5
"""Executions of each program that are timed, at least."""


def kernel_times(files: Sequence[bytes]) -> list[dict[int, float]]:
    """The least time of each kernel on one thread, in seconds, by its number.

    The programs, of one method `forward` each, take turns. Floats are random, other inputs are 0.
    """
    programs = [(RecordingTracer(), file) for file in files]
    methods = [
        Runtime(threads=1).load_program(file, allow_native=True, tracer=tracer).load_method("forward")
        for tracer, file in programs
    ]
    inputs = random_inputs(methods[0].metadata)
    least: list[dict[int, float]] = [{} for _ in files]
    end = time.monotonic() + SECONDS
    for turn in range(1 + ROUNDS):
        if turn > LEAST and time.monotonic() > end:
            break
        for (tracer, _), method, found in zip(programs, methods, least, strict=True):
            tracer.delegates.clear()
            method.execute(inputs)
            taken: defaultdict[int, float] = defaultdict(float)
            for event in tracer.delegates:
                taken[int(event.identifier)] += (event.end - event.start) * 1e-9
            if turn:  # The first one reads the program from memory.
                for number, seconds in taken.items():
                    found[number] = min(found.get(number, seconds), seconds)
    return least


if __name__ == "__main__":
    try:
        found = kernel_times([Path(name).read_bytes() for name in sys.argv[1:]])
    except ExecutorchError as error:
        sys.exit(str(error))
    print(json.dumps(found))
