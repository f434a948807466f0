"""Check random programs: `python -m property` with `test` on the path.

    python -m property --count 500                       seeds 0 to 499
    python -m property --count 100000 --state FILE       go on where FILE says the last run was, with progress
    python -m property --first 1234 --count 1            one program, with all that is checked of any
    python -m property --first 1234 --count 1 --print    the program
    python -m property --native --count 2000             each as machine code, too
    python -m property --backend tosa --count 500        each with what a backend takes delegated to it; blobs that
                                                         et-vm has no runtime for are read
    python -m property --freestanding cortex-m4          each as an object, in an emulator, and a quantized program
    python -m property --freestanding wasm32 --only      nothing else of each

Each program is compiled and run by the VM; by their seeds some are also compiled again, compiled with inputs, outputs
and state in the caller's memory, run with torch's kernels and by the stock runtime, compiled with random parts
delegated or to machine code, exported by torch, or verified after each pass. A failure is printed as the smallest
program that fails in the same way, with its seed, and written to the folder of `--save`.
The exit code is 1 when there were any.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

EVERY: Final = {
    "again": 2,
    "delegated": 2,
    "raised": 4,
    "every_pass": 5,
    "aten": 4,
    "callers": 3,
    "stock": 10,
    "native": 4,
    "backend": 10,
    "freestanding": 50,
    "exported": 25,
}
"""Of how many programs one has which further check."""

BACKENDS: Final = ("tosa", "coreml", "vulkan-graph")
"""The backends that programs with that check take turns with."""

PROCESSORS: Final = (
    "cortex-m4",
    "riscv32imac",
    "cortex-m0plus",
    "riscv64gc",
    "aarch64",
    "wasm32",
    "cortex-m7",
    "cortex-m33",
    "x86-64",
    "cortex-m55",
    "riscv64gcv",
)
"""The processors that programs with that check take turns with."""

LIMIT: Final = 5
"""A run with more failures ends: making each small takes its time."""


def checks_of(
    seed: int,
    stock: Any,
    *,
    everything: bool,
    native: bool = False,
    backend: str | None = None,
    freestanding: str | None = None,
    only: bool = False,
) -> Any:
    """The checks of the program of a seed; with `native`, it is compiled to machine code, whatever the seed, what
    `backend` takes is delegated to it, and it is compiled for the processor `freestanding`: with `only`, nothing else.
    """
    from et_backends.codegen.object_code import INSTRUCTION_SETS
    from et_vm.backends.cpu import cpu_features
    from property.check import Checks

    wanted = {name: not only and (everything or seed % every == every - 1) for name, every in EVERY.items()}
    wanted["native"] |= native
    sets = [name for name, one in INSTRUCTION_SETS.items() if cpu_features().issuperset(one.cpu_flags)]
    return Checks(
        portable=not only,
        again=wanted["again"],
        raised=wanted["raised"],
        every_pass=wanted["every_pass"],
        aten=wanted["aten"],
        callers=wanted["callers"],
        delegated=seed if wanted["delegated"] else None,
        stock=stock if wanted["stock"] else None,
        native=sets[seed // EVERY["native"] % len(sets)] if wanted["native"] else None,
        backend=backend
        or (BACKENDS[seed // EVERY["backend"] % len(BACKENDS)] if wanted["backend"] else None),
        freestanding=freestanding
        or (PROCESSORS[seed // EVERY["freestanding"] % len(PROCESSORS)] if wanted["freestanding"] else None),
        exported=wanted["exported"],
    )


def show(seed: int) -> None:
    """Print a program as Python and as MLIR."""
    from property.generator import generate
    from property.report import mlir
    from property.source import HEADER, python

    program = generate(seed)
    print(HEADER, python(program), mlir(program), sep="\n\n")


def run(
    seeds: range,
    *,
    state: Path | None,
    save: Path | None,
    quiet: bool,
    native: bool,
    backend: str | None = None,
    freestanding: str | None = None,
    only: bool = False,
) -> int:
    """Check the programs of some seeds; returns the exit code."""
    from stock import StockRuntime
    from support.repetition import command

    from property.check import Failure, check
    from property.generator import generate
    from property.report import report

    outcomes: Counter[str] = Counter()
    failures = 0
    again: list[str] = []
    options = ["--native"] * native + ["--only"] * only
    options += [] if backend is None else ["--backend", backend]
    options += [] if freestanding is None else ["--freestanding", freestanding]
    started = shown = time.monotonic()
    with StockRuntime() as stock:
        for seed in seeds:
            checks = checks_of(
                seed,
                stock,
                everything=len(seeds) == 1,
                native=native,
                backend=backend,
                freestanding=freestanding,
                only=only,
            )
            program = generate(seed)
            try:
                outcomes[check(program, checks)] += 1
            except Failure as failure:
                failures += 1
                again.append(command("property", ["--first", str(seed), "--count", "1", *options]))
                text = f"{report(program, checks, failure)}\n{again[-1]}"
                print(f"--- seed {seed}\n{text}", flush=True)
                if save is not None:
                    save.mkdir(parents=True, exist_ok=True)
                    Path(save, f"{seed}.txt").write_text(text)
            if state is not None:
                state.write_text(f"{seed + 1}\n")
            if failures == LIMIT and len(seeds) > LIMIT:
                print(f"stopped at seed {seed}: {failures} failures")
                break
            now = time.monotonic()
            if not quiet and now - shown > 5:
                shown = now
                rate = (seed + 1 - seeds.start) / (now - started)
                print(
                    f"{seed + 1:,} of {seeds.stop:,}, {rate:.1f} a second, {failures} failures",
                    file=sys.stderr,
                )
    for outcome, count in sorted(outcomes.items()):
        print(f"{count:>9,}  {outcome}")
    print(f"{failures:>9,}  failures", *again, sep="\n")
    return 1 if failures else 0


def in_processes(count: int, seeds: range, arguments: list[str]) -> int:
    """Check equal parts of the seeds in processes of their own; returns the largest exit code."""
    ends = [seeds.start + len(seeds) * part // count for part in range(count + 1)]
    parts = [
        ["--first", str(start), "--count", str(end - start), "--processes", "1"]
        for start, end in pairwise(ends)
    ]
    started = [subprocess.Popen([sys.executable, "-m", "property", *arguments, *part]) for part in parts]
    return max(process.wait() for process in started)


def main() -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m property", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument(
        "--state", type=Path, help="continue from the seed in this file, and keep it up to date"
    )
    parser.add_argument("--save", type=Path, metavar="DIR", help="where the reports of failures go")
    parser.add_argument("--native", action="store_true", help="compile each program to machine code, too")
    parser.add_argument(
        "--backend", metavar="NAME[:key=value,…]", help="delegate what it takes of each program"
    )
    parser.add_argument(
        "--freestanding", choices=PROCESSORS, help="compile each to an object for a processor, and call it"
    )
    parser.add_argument(
        "--only",
        action="store_true",
        help="leave out what --native, --backend and --freestanding do not ask for",
    )
    parser.add_argument(
        "--processes", type=int, default=1, metavar="N", help="check equal parts of the seeds in N processes"
    )
    parser.add_argument("--print", action="store_true", help="print the programs instead")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    args = parser.parse_args()
    if args.only and not (args.native or args.backend or args.freestanding):
        parser.error("--only needs --native, --backend or --freestanding")
    if args.processes > 1 and (args.state is not None or args.print):
        parser.error("--processes goes with neither --state nor --print")
    # For torch, which has not been imported yet: programs are small.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    first = args.first
    if args.state is not None and args.state.exists():
        first = int(args.state.read_text())
    seeds = range(first, args.first + args.count)
    if args.print:
        for seed in seeds:
            show(seed)
        return 0
    if args.processes > 1 and len(seeds) >= args.processes:
        return in_processes(args.processes, seeds, sys.argv[1:])
    return run(
        seeds,
        state=args.state,
        save=args.save,
        quiet=args.quiet,
        native=args.native,
        backend=args.backend,
        freestanding=args.freestanding,
        only=args.only,
    )


if __name__ == "__main__":
    sys.exit(main())
