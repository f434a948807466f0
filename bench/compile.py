"""Time to compile, from the same ExportedProgram to bytes: ours against the stock compiler.

    python -m bench.compile [MODEL …]

"first" is the first compilation in a new process that has torch, the compiler and the ExportedProgram: whatever a
compiler imports or builds when it is first used is in it. "with import" is the same with the import of the compiler
itself, what a user waits for. Both are medians over new processes, in which the compilers took turns. "warm" is a
later compilation, median of rounds in one process in which both took turns.
Goals, first and warm: MobileNetV2 0.25, ResNet-18 0.2, BERT 0.1.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from importlib import import_module

from bench.measure import (
    environment,
    median_ratio,
    print_table,
    progress,
    rounds_for,
    show_time,
    take_turns,
    verdict,
)
from bench.subjects import NAMES, TRAINED, compile_ours, compile_stock, subject

GOALS = {"mobilenet_v2": 0.25, "resnet18": 0.2, "bert": 0.1}
SIDES = {"ours": compile_ours, "stock": compile_stock}
MODULES = {"ours": "et_ir.driver.managers", "stock": "executorch.exir"}


def in_process(name: str, compiler: str) -> tuple[float, float]:
    """Seconds of the import of a compiler and of its first compilation, in a process of their own."""
    line = [sys.executable, "-W", "ignore", "-m", "bench.compile", "--first", compiler, name]
    process = subprocess.run(
        line, check=True, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    loading, compiling = map(float, process.stdout.split()[-2:])
    return loading, compiling


def time_first(name: str, compiler: str) -> tuple[float, float]:
    """Export, then import the compiler and compile, in this process."""
    program = subject(name).export()
    start = time.perf_counter()
    import_module(MODULES[compiler])
    loaded = time.perf_counter()
    SIDES[compiler](program)
    return loaded - start, time.perf_counter() - loaded


def row(name: str, processes: int) -> list[str]:
    # The first round leaves bytecode and files in the system's caches, and does not count.
    turns = [{compiler: in_process(name, compiler) for compiler in SIDES} for _ in range(processes + 1)]
    first = {compiler: [turn[compiler][1] for turn in turns[1:]] for compiler in SIDES}
    whole = {compiler: [sum(turn[compiler]) for turn in turns[1:]] for compiler in SIDES}
    program = subject(name).export()
    runs = {compiler: (lambda run=run: run(program)) for compiler, run in SIDES.items()}
    pace = sum(statistics.median(seconds) for seconds in first.values())
    warm = take_turns(runs, rounds_for(pace, budget=20))
    cells = [name]
    for seconds in (first, whole, warm):
        cells += [show_time(statistics.median(seconds[compiler])) for compiler in SIDES]
        cells.append(f"{median_ratio(seconds['ours'], seconds['stock']):.2f}")
    ratio = max(median_ratio(seconds["ours"], seconds["stock"]) for seconds in (first, warm))
    return [*cells, verdict(ratio, GOALS[name]) if name in GOALS else ""]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.compile",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "model", nargs="*", help=f"of {', '.join((*NAMES, *TRAINED))}; the first four unless given"
    )
    parser.add_argument("--processes", type=int, default=5, help="of each compiler (%(default)s)")
    parser.add_argument("--first", choices=list(SIDES), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.first:
        print(*time_first(options.model[0], options.first))
        return
    head = ["model"]
    for kind in ("first", "with import", "warm"):
        head += [f"ours, {kind}", "stock", "ratio"]
    print_table(
        [*head, "goal"],
        [row(name, options.processes) for name in progress(options.model or NAMES, "compile")],
    )


if __name__ == "__main__":
    main()
