"""Arenas of the example models, to those of the stock compiler, with their lower bounds.

    python -m bench.planned_models [MODEL …]

Both compilers plan inputs and outputs, at multiples of 16 bytes. "planned again" is the stock file's program with our
planner: what planning alone saves of its arena; the rest is a better program to plan. "least" is the certificate of our
arena, a bound that a second of planning proves, and "bound of stock's" that et-vm finds in the stock file.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

from bench.measure import print_table, progress, show_time, verdict
from bench.subjects import NAMES, TRAINED, file, quiet, subject
from et_ir.dialects.executorch import PlanOp
from et_ir.driver.stages import run_pipeline
from et_ir.emit import disassemble
from et_schema.pte import read_pte
from et_vm.devtools.certificate import certificates
from et_vm.program import Program

GOALS = {"mobilenet_v2": 0.65, "resnet18": 0.75, "bert": 0.8}
"""Of the stock compiler's arena; others at most all of it."""


@dataclass(frozen=True)
class Planned:
    """A program planned by the exact planner."""

    nbytes: int
    bound: int
    seconds: float


def arena(path: Path) -> int:
    """The bytes of all arenas of all methods of a file."""
    program = Program.load(path.read_bytes())
    return sum(
        size
        for name in program.method_names
        for size in program.method_meta(name).memory_planned_buffer_sizes().values()
    )


def bound(path: Path) -> int:
    """The lower bound of a file's arenas that et-vm computes."""
    program = Program.load(path.read_bytes())
    return sum(each.bound for name in program.method_names for each in certificates(program, name).values())


def planned_again(path: Path) -> Planned:
    """The program of a file, planned anew and checked."""
    module = disassemble(read_pte(path.read_bytes()))
    start = time.process_time()
    run_pipeline(module, "plan-memory{algorithm=exact}")
    seconds = time.process_time() - start
    run_pipeline(module, "verify-executorch")
    plans = [op for op in module.walk() if isinstance(op, PlanOp)]
    bounds = [plan.bounds.get_values() for plan in plans if plan.bounds is not None]
    return Planned(sum(sum(plan.arena_sizes or ()) for plan in plans), sum(map(sum, bounds)), seconds)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.planned_models",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", nargs="*", metavar="MODEL", help="all examples unless given")
    rows: list[list[str]] = []
    for name in progress(parser.parse_args().model or (*NAMES, *TRAINED), "planned_models"):
        model = subject(name)
        with quiet():
            ours, stock = file(model, "ours"), file(model, "stock")
        own, theirs, again = planned_again(ours), arena(stock), planned_again(stock)
        if own.nbytes > arena(ours):
            raise SystemExit(f"{name}: planned again, {own.nbytes} bytes are more than {arena(ours)}")
        ratio = arena(ours) / theirs
        rows.append(
            [
                name,
                f"{arena(ours):,}",
                "optimal" if own.bound == arena(ours) else f"least {own.bound:,}",
                show_time(own.seconds),
                f"{theirs:,}",
                f"{bound(stock):,}",
                f"{again.nbytes:,}",
                verdict(ratio, GOALS.get(name, 1.0)),
                f"{ratio:.3f}",
            ]
        )
    head = [
        "model",
        "arena",
        "certificate",
        "planning",
        "stock's",
        "bound of stock's",
        "planned again",
        "goal",
        "ratio",
    ]
    print_table(head, rows)


if __name__ == "__main__":
    main()
