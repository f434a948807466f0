"""Time to compile, from the same ExportedProgram to bytes: ours against the stock compiler.

    python -m bench.compile [MODEL …]

"first" is the first compilation in a new process (imports of the compiler and of torch already done), what a
user waits for; "warm" is a later one, median of rounds in which both compilers took turns. Goal: at most 0.5
on each model.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

from bench.measure import median_ratio, print_table, rounds_for, show_time, take_turns, verdict
from bench.subjects import COMPILERS, NAMES, subject

GOAL = 0.5
FIRST_ROUNDS = 3


def first(name: str, compiler: str) -> float:
    """Seconds of the first compilation in a process of its own."""
    line = [sys.executable, "-m", "bench.compile", "--first", compiler, name]
    return float(subprocess.run(line, check=True, stdout=subprocess.PIPE, text=True).stdout.split()[-1])


def time_first(name: str, compiler: str) -> float:
    """Import what is needed, export, and time one compilation in this process."""
    if compiler == "ours":
        import et_ir

        assert et_ir.to_edge
    else:
        import executorch.exir

        assert executorch.exir.to_edge
    program = subject(name).export()
    start = time.perf_counter()
    COMPILERS[compiler](program)
    return time.perf_counter() - start


def row(name: str) -> list[str]:
    ours_first, stock_first = (
        statistics.median(first(name, compiler) for _ in range(FIRST_ROUNDS))
        for compiler in ("ours", "stock")
    )
    program = subject(name).export()
    runs = {compiler: (lambda run=run: run(program)) for compiler, run in COMPILERS.items()}
    seconds = take_turns(runs, rounds_for(ours_first + stock_first, budget=20))
    ratio = median_ratio(seconds["ours"], seconds["stock"])
    return [
        name,
        show_time(ours_first),
        show_time(stock_first),
        f"{ours_first / stock_first:.2f}",
        show_time(statistics.median(seconds["ours"])),
        show_time(statistics.median(seconds["stock"])),
        f"{ratio:.2f}",
        verdict(max(ratio, ours_first / stock_first), GOAL),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.compile",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", nargs="*", help=f"of {', '.join(NAMES)}; all unless given")
    parser.add_argument("--first", choices=list(COMPILERS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.first:
        print(time_first(options.model[0], options.first))
        return
    head = ["model", "ours, first", "stock, first", "ratio", "ours, warm", "stock, warm", "ratio", "goal"]
    print_table(head, [row(name) for name in options.model or NAMES])


if __name__ == "__main__":
    main()
