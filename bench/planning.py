"""Arenas of each planning algorithm to the lower bound, and the time that planning takes.

    python -m bench.planning [--budget NODES] [--folder FOLDER] [INSTANCE …]

The instances are those of MiniMalloc in `test/fixtures/minimalloc`: the peak of what is needed at once is their lower
bound, and a layout of that size is known for each. Every layout is checked by code that the planners do not share. Then
synthetic programs, of up to 60,000 buffers, at the compiler's default effort.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.measure import print_table, progress, show_time, verdict
from et_ir.planning import (
    PLANNERS,
    Buffer,
    Plan,
    layout_problems,
    lower_bound,
    plan_best,
    plan_exact,
    plan_of,
)
from et_ir.planning.exact import BUDGET
from et_ir.planning.instances import read_instance
from et_ir.planning.placement import overlapping_pairs

FOLDER = Path(__file__).parents[1] / "test/fixtures/minimalloc"
ALGORITHMS = ("naive", "upstream", "greedy", "best", "exact")


def timed(run: Callable[[], Plan], buffers: Sequence[Buffer]) -> tuple[Plan, float]:
    """A plan, checked, and the processor's seconds it took: the search uses one core and waits for nothing."""
    start = time.process_time()
    plan = run()
    seconds = time.process_time() - start
    problems = layout_problems(buffers, plan.layout)
    if problems:
        raise SystemExit(f"the layout is wrong: {problems[0]}")
    return plan, seconds


def planned(algorithm: str, buffers: Sequence[Buffer], budget: int) -> Plan:
    """The result of an algorithm on buffers; `budget` nodes are for `exact`."""
    if algorithm == "exact":
        return plan_exact(buffers, budget=budget)
    made = PLANNERS[algorithm](buffers)
    return made if isinstance(made, Plan) else plan_of(buffers, made)


def synthetic(count: int, longest: int = 8) -> list[Buffer]:
    """Buffers that are needed for up to so many instructions each, one more with each instruction, and every 64th to
    the end; the same each time.
    """
    state = 1
    buffers: list[Buffer] = []
    for first in range(count):
        state = state * 48271 % 2147483647
        length = count - first if longest > 8 and first % 64 == 0 else 1 + state // 7 % longest
        buffers.append(Buffer(64 + state % 100_000, first, first + length))
    return buffers


SYNTHETIC = ((1_000, 8), (1_000, 100), (10_000, 8), (10_000, 1_000), (60_000, 8), (60_000, 6_000))
"""Numbers of buffers, and how long they are needed: programs with a few live tensors, and with thousands."""


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.planning",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("instance", nargs="*", metavar="INSTANCE", help="such as A; all unless given")
    parser.add_argument("--budget", type=int, default=BUDGET, help="nodes of the exact search (%(default)s)")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="of instances, NAME.CAPACITY.csv")
    options = parser.parse_args()
    rows: list[list[str]] = []
    for path in progress(sorted(options.folder.glob("*.csv")), "planning"):
        name = path.name.partition(".")[0]
        if options.instance and name not in options.instance:
            continue
        buffers = read_instance(path.read_text()).buffers
        cells: list[str] = []
        goal = ""
        for algorithm in ALGORITHMS:
            plan, seconds = timed(lambda a=algorithm, b=buffers: planned(a, b, options.budget), buffers)
            ratio = plan.size / lower_bound(buffers)
            cells.append(f"{ratio:.3f} {show_time(seconds)}")
            goal = verdict(ratio, 1.0)
        rows.append([name, str(len(buffers)), str(lower_bound(buffers)), *cells, goal])
    print_table(["instance", "buffers", "bound", *ALGORITHMS, "exact to the bound"], rows)
    if options.instance:
        return
    print()
    rows = []
    for count, longest in progress(SYNTHETIC, "synthetic"):
        buffers = synthetic(count, longest)
        plan, seconds = timed(lambda b=buffers: plan_best(b), buffers)
        ratio = plan.size / lower_bound(buffers)
        most = f"{overlapping_pairs(buffers) // count:,}"
        rows.append(
            [
                f"{count:,} buffers, {most} with each",
                f"{ratio:.3f}",
                show_time(seconds),
                verdict(seconds, 1.0),
            ]
        )
    print_table(["synthetic, best", "to the bound", "time", "goal in s"], rows)


if __name__ == "__main__":
    main()
