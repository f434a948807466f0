"""Measurement of program times for the compiler's selection of backends.

    python -m et_vm.backends.timing FILE…

Runs the files, including machine code in them. Prints a JSON list with an object for each: `seconds`, or the `error`
that prevents its execution.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from et_schema.errors import ExecutorchError
from et_schema.scalar_type import numpy_dtype
from et_vm.runtime import Runtime

__all__ = ["program_times", "random_inputs"]

ROUNDS: Final = 40
"""Executions of each program that are timed, at most."""
SECONDS: Final = 5.0
"""Time after which no further round begins."""
LEAST: Final = 3
"""Executions of each program that are timed, at least."""


def random_inputs(meta: Any) -> list[Any]:
    """Inputs of a method: floats are random, other inputs are 0."""
    random = np.random.default_rng(0)
    inputs: list[Any] = []
    for slot in range(meta.num_inputs()):
        if meta.input_tag(slot) != "Tensor":
            inputs.append(meta.input_value(slot))
            continue
        info = meta.input_tensor_meta(slot)
        dtype = numpy_dtype(info.dtype())
        value = np.zeros(info.sizes(), dtype)
        if dtype.kind == "f":
            value[...] = random.standard_normal(info.sizes())
        inputs.append(value)
    return inputs


def program_times(files: Sequence[bytes]) -> list[Mapping[str, float | str]]:
    """The minimum time of an execution of each file's method `forward` on one thread, in seconds.

    The files take turns. One that cannot be executed has the error instead.
    """
    found: list[dict[str, float | str]] = [{} for _ in files]
    methods: dict[int, Any] = {}
    for number, file in enumerate(files):
        try:
            method = Runtime(threads=1).load_program(file, allow_native=True).load_method("forward")
            method.execute(random_inputs(method.metadata))  # the first one reads the program from memory
            methods[number] = method
        except ExecutorchError as error:
            found[number]["error"] = str(error)
    inputs = {number: random_inputs(method.metadata) for number, method in methods.items()}
    end = time.monotonic() + SECONDS
    for turn in range(ROUNDS):
        if turn >= LEAST and time.monotonic() > end:
            break
        for number, method in methods.items():
            start = time.perf_counter()
            method.execute(inputs[number])
            taken = time.perf_counter() - start
            found[number]["seconds"] = min(float(found[number].get("seconds", taken)), taken)
    return list(found)


if __name__ == "__main__":
    print(json.dumps(program_times([Path(name).read_bytes() for name in sys.argv[1:]])))
