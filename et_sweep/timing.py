"""Times of executions: programs of one model take turns, until the noise of each is within a bound."""

from __future__ import annotations

import gc
import math
import os
import statistics
import time
from collections.abc import Mapping, Sequence
from typing import Any

from et_sweep.cell import inputs_of, load_method, machine

__all__ = ["noise", "summary", "time_cells"]


def time_cells(request: Mapping[str, Any]) -> dict[str, Any]:
    """Time programs in turn. `request` has `programs`, each with `file`, `run` and `inputs` as `compile_cell` gives
    them, the `folder` of the matrix, the number of `threads`, which as many processors are kept for, the `seed`, and
    the settings `noise`, `seconds` and `least` of `Timing`.

    The result has `times`: for each program the columns of `summary`, or a `time_message` why there are none.
    """
    from et_schema.errors import ExecutorchError
    from et_tools.exit_codes import UsageError

    os.chdir(request["folder"])
    processors = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, processors[-request["threads"] :])
    found: list[dict[str, Any]] = [{} for _ in request["programs"]]
    runs: dict[int, Any] = {}
    for index, one in enumerate(request["programs"]):
        try:
            loaded, _ = load_method(one["file"], one["run"])
            inputs = inputs_of(loaded, one["inputs"], request["seed"])
            runs[index] = _runner(loaded[1], inputs)
            runs[index]()  # warms up, and shows what fails
        except (ExecutorchError, UsageError) as error:
            runs.pop(index, None)
            found[index] = {"time_message": str(error)}
    seconds: dict[int, list[float]] = {index: [] for index in runs}
    waiting = set(runs)
    gc.collect()
    gc.disable()
    while waiting:
        # All of them take turns until the last has enough, so that a disturbance meets all.
        for index, run in runs.items():
            seconds[index].append(run())
        waiting = {
            index
            for index in waiting
            if len(seconds[index]) < request["least"]
            or (noise(seconds[index]) > request["noise"] and sum(seconds[index]) < request["seconds"])
        }
    first = next(iter(seconds), 0)
    for index, measured in seconds.items():
        found[index] = summary(measured, request["noise"])
        found[index] |= {
            "relative_seconds": statistics.median(measured) / statistics.median(seconds[first]),
            "time_machine": machine(),
        }
    return {"times": found}


def _runner(loaded: Any, inputs: Sequence[Any]) -> Any:
    def run() -> float:
        given = [one.copy() if hasattr(one, "copy") else one for one in inputs]
        started = time.perf_counter()
        loaded.execute(given)
        return time.perf_counter() - started

    return run


def noise(seconds: Sequence[float]) -> float:
    """The relative standard error of the median: of a normal distribution 1.2533 σ / √n, with σ by the distance of the
    quartiles, which outliers do not move. Infinite for fewer than two.
    """
    if len(seconds) < 2:
        return math.inf
    low, middle, high = statistics.quantiles(seconds, n=4, method="inclusive")
    return 1.2533 * (high - low) / 1.349 / math.sqrt(len(seconds)) / middle if middle else math.inf


def summary(seconds: Sequence[float], bound: float) -> dict[str, Any]:
    """Columns of times in seconds: least, median, distance of the quartiles, count, noise and whether it is within
    its bound.
    """
    low, middle, high = statistics.quantiles(seconds, n=4, method="inclusive")
    found = noise(seconds)
    return {
        "min_seconds": min(seconds),
        "median_seconds": middle,
        "spread_seconds": high - low,
        "executions": len(seconds),
        "noise": found,
        "noise_met": found <= bound,
        "time_message": None,
    }
