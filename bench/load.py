"""Loading a file: read, verified, method prepared; against the stock runtime.

    python -m bench.load [MODEL …]

Loading is from the path to a method that could be executed, `load_program` and `load_method`; what a process imports
the first time is not part of it. The goal is 5 ms and 20 µs per instruction. The stock runtime verifies less and
prepares nothing: it is beside it for scale.
"""

from __future__ import annotations

import argparse
import statistics
from typing import Any

from bench.measure import median_ratio, print_table, progress, rounds_for, show_time, take_turns, verdict

FIXED = 5e-3
PER_INSTRUCTION = 20e-6


def row(name: str) -> list[str]:
    from executorch.runtime import Runtime as Stock

    from bench.subjects import file, quiet, subject
    from et_vm.runtime import Runtime

    path = file(subject(name), "ours")
    runtime, stock = Runtime(), Stock.get()

    def load_ours() -> Any:
        return runtime.load_program(path).load_method("forward")

    def load_stock() -> Any:
        return stock.load_program(str(path)).load_method("forward")

    instructions = load_ours().metadata.num_instructions()
    with quiet():
        runs = {"ours": load_ours, "stock": load_stock}
        pace = sum(times[0] for times in take_turns(runs, 1).values())
        seconds = take_turns(runs, rounds_for(pace, budget=5))
    ours = statistics.median(seconds["ours"])
    goal = FIXED + PER_INSTRUCTION * instructions
    return [
        name,
        f"{instructions:,}",
        show_time(ours),
        show_time(statistics.median(seconds["stock"])),
        f"{median_ratio(seconds['ours'], seconds['stock']):.2f}",
        show_time(goal),
        f"{ours / goal:.2f}",
        verdict(ours / goal, 1.0),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.load",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", nargs="*", help="examples; all unless given")
    options = parser.parse_args()
    from bench.subjects import NAMES, TRAINED

    names = options.model or [*NAMES, *TRAINED]
    heads = ("model", "instructions", "ours", "stock", "ratio", "goal", "share", "")
    print_table(heads, [row(name) for name in progress(names, "load")])


if __name__ == "__main__":
    main()
