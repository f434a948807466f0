"""Run cases: `python -m fuzz` with `test` on the path.

    python -m fuzz --count 20000                      seeds 0 to 19,999
    python -m fuzz --count 1000000 --state FILE       go on where FILE says the last run was, with progress
    python -m fuzz --first 1234 --count 1 --save DIR  one case, its file written to DIR
    python -m fuzz --only wave session --count 1000   cases of two targets

A violation is printed with its seed, and its file is written to the folder of `--save`. The exit code is 1 when there
were any.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path

from support.repetition import command

from fuzz.workers import Run

SHOWN = 20


def main() -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--state", type=Path, help="continue from the seed in this file, and keep it up to date"
    )
    parser.add_argument("--save", type=Path, metavar="DIR", help="where the files of violations go")
    parser.add_argument("--corpus", metavar="DIR", help="mutate the .pte files of this folder, too")
    parser.add_argument(
        "--only",
        nargs="+",
        default=[],
        metavar="KIND",
        help="cases of these targets, named as in the summary",
    )
    parser.add_argument("--quiet", action="store_true", help="no progress")
    args = parser.parse_args()
    if args.corpus is not None:
        # Before anything that may read it, and for the processes that are started.
        os.environ["FUZZ_CORPUS"] = args.corpus
    options = [] if args.corpus is None else ["--corpus", args.corpus]
    kinds = tuple(args.only)
    if kinds:
        options += ["--only", *kinds]
    first = args.first
    if args.state is not None:
        args.state.parent.mkdir(parents=True, exist_ok=True)
        if args.state.exists():
            first = int(args.state.read_text())
    # Shells let what they start in the background ignore it, and then nothing tells what has been found.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    run = Run(first, args.first + args.count, args.state, kinds)
    run.run(args.processes, quiet=args.quiet)
    again: list[str] = []
    for seed, text in sorted(run.violations)[:SHOWN]:
        again.append(command("fuzz", ["--first", str(seed), "--count", "1", *options]))
        print(f"--- seed {seed}\n{text}\n{again[-1]}")
    if args.save is not None:
        from fuzz.cases import make_case

        args.save.mkdir(parents=True, exist_ok=True)
        seeds = [seed for seed, _ in run.violations] or [args.first][: args.count == 1]
        for case in (make_case(seed, kinds) for seed in seeds):
            (args.save / f"{case.seed}.{case.kind.replace(' ', '-')}").write_bytes(case.content)
    for outcome, count in sorted(run.outcomes.items()):
        print(f"{count:>9,}  {outcome}")
    print(f"{len(run.violations):>9,}  violations", *again, sep="\n")
    return 1 if run.violations else 0


if __name__ == "__main__":
    sys.exit(main())
