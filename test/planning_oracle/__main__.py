"""Compare exact planning with CP-SAT: `python -m planning_oracle` with `test` on the path.

    python -m planning_oracle --count 10000                 seeds 0 to 9999
    python -m planning_oracle --count 10000 --state FILE    go on where FILE says the last run was
    python -m planning_oracle --first 1234 --count 1        one instance

The plan of each random instance has to be right, of the size that the solver proves to be the smallest, and its bound
not above that. A short search finds it, as a rule; what takes longer, and what is found but not proven to be optimal,
is counted. The exit code is 1 when something is wrong; the instance is printed as a table for et-plan.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from support.repetition import command

from et_ir.planning import Buffer, Layout, layout_problems, plan_best, plan_exact
from et_ir.planning.exact import BUDGET
from et_ir.planning.instances import Instance, write_layout
from planning_oracle.cp_sat import smallest_arena
from planning_oracle.instances import instance

__all__ = ["Outcome", "compare", "main"]

BUDGETS = (20_000, BUDGET, 20 * BUDGET)
"""Nodes of the search; more only where fewer do not find the smallest plan."""


@dataclass(frozen=True)
class Outcome:
    """The problem with the plans of an instance, if any; the budget that the smallest took, and whether it
    proved that; whether the solver did.
    """

    wrong: str | None
    budget: int = 0
    proven: bool = False
    solved: bool = True


def compare(buffers: list[Buffer]) -> Outcome:
    """Compare the plans of an instance with the answer of the solver."""
    least, smallest = smallest_arena(buffers)
    plan = plan_best(buffers)
    for budget in BUDGETS:
        problems = layout_problems(buffers, plan.layout)
        if problems:
            return Outcome(problems[0])
        if not (plan.bound <= smallest and least <= plan.size):
            return Outcome(f"a plan of {plan.bound} to {plan.size} bytes, CP-SAT says {least} to {smallest}")
        plan = plan_exact(buffers, budget=budget)
        if least <= plan.size <= smallest and not layout_problems(buffers, plan.layout):
            return Outcome(None, budget, plan.optimal, least == smallest)
    return Outcome(f"a plan of {plan.size} bytes, CP-SAT has one of {smallest}")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m planning_oracle",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--first", type=int, default=0, help="the first seed (default: 0)")
    parser.add_argument("--count", type=int, default=500, help="how many seeds (default: 500)")
    parser.add_argument(
        "--state", type=Path, help="continue from the seed in this file, and keep it up to date"
    )
    parser.add_argument("--quiet", action="store_true", help="say nothing where all is right")
    options = parser.parse_args(arguments)
    first = options.first
    if options.state is not None and options.state.exists():
        first = int(options.state.read_text())
    seeds = range(first, options.first + options.count)
    found = _run(seeds, options.state, quiet=options.quiet)
    if found["different"] or not options.quiet:
        print(f"{found['instances']:,} instances: {found['different']} different")
        print(
            f"{found['longer']} took more than {BUDGETS[0]} nodes, {found['unproven']} were not proven to be optimal "
            f"with those, {found['unsolved']} not solved by CP-SAT"
        )
    return 1 if found["different"] else 0


def _run(seeds: range, state: Path | None, *, quiet: bool) -> Counter[str]:
    """Compare the instances of some seeds; returns how many there were of each kind."""
    found: Counter[str] = Counter()
    start = shown = time.monotonic()
    for seed in seeds:
        buffers = instance(seed)
        outcome = compare(buffers)
        found["instances"] += 1
        found["unsolved"] += not outcome.solved
        if outcome.wrong is not None:
            found["different"] += 1
            names = tuple(f"b{index}" for index in range(len(buffers)))
            table = write_layout(Instance(names, tuple(buffers)), Layout((0,) * len(buffers), 0))
            again = command("planning_oracle", ["--first", str(seed), "--count", "1"])
            print(f"seed {seed}: {outcome.wrong}", table, again, sep="\n", flush=True)
        else:
            found["longer"] += outcome.budget > BUDGETS[0]
            found["unproven"] += not outcome.proven
            if outcome.budget > BUDGETS[0] and not quiet:
                print(f"seed {seed}: {outcome.budget} nodes", flush=True)
        if state is not None:
            state.write_text(f"{seed + 1}\n")
        now = time.monotonic()
        if not quiet and now - shown > 5:
            shown = now
            rate = found["instances"] / (now - start)
            print(
                f"{seed + 1:,} of {seeds.stop:,}, {rate:.1f} a second, {found['different']} different",
                file=sys.stderr,
            )
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
