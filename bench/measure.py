"""Timing of alternatives side by side, and the table they end in.

Absolute times drift with whatever else a machine does; a ratio of two things that took turns does not. So
every figure is a ratio of medians over rounds in which each candidate ran once.
"""

from __future__ import annotations

import gc
import json
import os
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

Seconds = list[float]
T = TypeVar("T")

TABLES: Final = "BENCH_TABLES"
"""Environment variable: a file that tables are added to as lines of JSON, beside being printed."""
SCALE: Final = "BENCH_SCALE"
"""Environment variable: how much of its time a measurement takes for rounds."""
PAUSE: Final = 0.1
"""Seconds before a turn of a runtime: more than the threads of any wait without sleeping, onnxruntime's some 35 ms."""


def take_turns(
    candidates: Mapping[str, Callable[[], object]],
    rounds: int,
    warmup: int = 1,
    *,
    pause: float = 0.0,
    before: int = 0,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Seconds]:
    """Seconds of each candidate by a clock in each of `rounds` rounds, after `warmup` rounds that do not count.

    Each run starts with the garbage of the others collected. What was there before is not looked through for any:
    a walk over all that torch holds leaves the caches of the processor to the next run as empty as they get. Before
    that, the process pauses for some seconds, and after it, the candidate runs `before` times without being timed.
    """
    seconds: dict[str, Seconds] = {name: [] for name in candidates}
    gc.collect()
    gc.freeze()
    try:
        for round_ in range(-warmup, rounds):
            for name, run in candidates.items():
                time.sleep(pause)
                gc.collect()
                for _ in range(before):
                    run()
                start = clock()
                run()
                elapsed = clock() - start
                if round_ >= 0:
                    seconds[name].append(elapsed)
    finally:
        gc.unfreeze()
    return seconds


def rounds_for(seconds: float, budget: float = 8.0, least: int = 3, most: int = 50) -> int:
    """The number of rounds of about `seconds` that fit into `budget` seconds, within bounds."""
    budget *= float(os.environ.get(SCALE, "1"))
    return max(least, min(most, int(budget / max(seconds, 1e-9))))


def progress(items: Iterable[T], what: str) -> Iterable[T]:
    """The items, with a bar on standard error that says how many of them are done."""
    from rich.console import Console
    from rich.progress import track

    return track(list(items), what, console=Console(stderr=True))


def set_threads(threads: int) -> None:
    """Give numpy's BLAS, torch and the stock runtime so many threads; before any of them is imported."""
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = str(threads)


def environment() -> dict[str, str]:
    """The environment of processes that are measured.

    Python keeps compiled bytecode there, as it does unless a developer's environment forbids it; without, each
    start compiles what changed since the package was installed.
    """
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def show_time(seconds: float) -> str:
    """A duration with three significant digits and its unit."""
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * scale >= 1 or unit == "µs":
            return f"{seconds * scale:.3g} {unit}"
    raise AssertionError("the smallest unit takes everything")


def verdict(value: float, goal: float) -> str:
    """Whether a figure that should be at most `goal` is."""
    return f"≤ {goal:g}: {'reached' if value <= goal else 'MISSED'}"


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a Markdown table with aligned columns; the first column is text, the others right-aligned."""
    if TABLES in os.environ:
        with Path(os.environ[TABLES]).open("a", encoding="utf-8") as file:
            file.write(json.dumps([list(head), [list(row) for row in rows]], ensure_ascii=False) + "\n")
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    marks = ["-" * width if column == 0 else "-" * (width - 1) + ":" for column, width in enumerate(widths)]
    for row in [head, marks, *rows]:
        cells = [
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print(f"| {' | '.join(cells)} |", flush=True)


def drop_cached_pages(path: Path) -> None:
    """Drop the pages of a file that the system holds in memory, so that it is read as after a restart.

    Whoever wrote the file laid them out, a runtime does not.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)  # pages that are not yet on disk stay
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


def median_ratio(ours: Seconds, theirs: Seconds) -> float:
    """Median of `ours` over median of `theirs`: below 1, ours is faster."""
    return statistics.median(ours) / statistics.median(theirs)
