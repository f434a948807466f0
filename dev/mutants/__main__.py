"""The command of mutation testing: `python -m dev.mutants`; see `dev.mutants`."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from dev.mutants.campaign import Campaign
from dev.mutants.recording import KINDS, Suite
from dev.mutants.report import compare, equivalents, summary
from dev.mutants.sampling import AREAS, Area

_ROOT = Path(__file__).parents[2]


def main(arguments: Sequence[str]) -> int:
    """Run a campaign; returns the exit code: 1 if a fault is not caught that the run of `--compare` has caught."""
    options = parser().parse_args(arguments)
    suites = [
        Suite(kind, tuple(shlex.split(line)), quick)
        for quick, prefix in ((True, "quick"), (False, "full"))
        for kind in KINDS
        for line in getattr(options, prefix if kind == "pytest" else f"{prefix}_{kind}")
    ]
    areas = [area for area in AREAS if not options.area or area.name in options.area]
    if options.package:
        areas = [Area(name, (f"{name}/*",), 1) for name in options.package]
    campaign = Campaign(
        root=options.sources.resolve(),
        tests=(options.tests or options.sources).resolve(),
        work=options.work.resolve(),
        suites=suites,
        count=options.count,
        seed=options.seed,
        mutants=options.mutants,
        processes=options.processes,
        budget=options.budget,
        environment=dict(each.split("=", 1) for each in options.environment),
        areas=areas,
        only=options.only,
        preload=not options.no_preload,
        kept=options.keep_cache or ("stock", "xnnpack"),
    )
    rows = campaign.run()
    print("\n".join(summary(rows, equivalents(options.equivalent) if options.equivalent else {})))
    if options.compare is None:
        return 0
    lost, gained = compare(json.loads(options.compare.read_text(encoding="utf-8"))["rows"], rows)
    for title, texts in (("caught before and not any more", lost), ("not caught before", gained)):
        print(f"{title}: {len(texts)}", *(f"  {text}" for text in texts), sep="\n")
    return 1 if lost else 0


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(prog="python -m dev.mutants", description=__doc__)
    made.add_argument("--count", type=int, default=200, help="size of the sample (default: 200)")
    made.add_argument("--seed", type=int, default=0, help="of the sample (default: 0)")
    made.add_argument("--mutants", type=Path, metavar="FILE", help="take the sample from this mutants.json")
    made.add_argument(
        "--only", type=int, nargs="+", default=[], metavar="NUMBER", help="only these of the sample"
    )
    made.add_argument(
        "--area", action="append", choices=[area.name for area in AREAS], help="sample only these"
    )
    made.add_argument(
        "--package", action="append", metavar="FOLDER", help="sample these folders instead of areas"
    )
    made.add_argument("--sources", type=Path, default=_ROOT, metavar="CHECKOUT", help="default: this one")
    made.add_argument(
        "--tests",
        type=Path,
        metavar="CHECKOUT",
        help="take test, dev and pyproject.toml from here (default: --sources)",
    )
    made.add_argument(
        "--work",
        type=Path,
        default=Path("build/mutants"),
        metavar="DIR",
        help="mutants.json, the copy, recording.json, results.json, logs; goes on with what is there",
    )
    for prefix, which in (("quick", "of `make test`"), ("full", "that only the whole run has")):
        for option, meaning in (
            ("", "arguments of pytest"),
            ("-lit", "paths for lit"),
            ("-command", "command"),
        ):
            made.add_argument(
                f"--{prefix}{option}",
                action="append",
                default=[],
                metavar="WORDS",
                help=f"{meaning}: tests {which}",
            )
    made.add_argument("--compare", type=Path, metavar="FILE", help="results.json of another run")
    made.add_argument(
        "--equivalent", type=Path, metavar="FILE", help="faults that change nothing, with reasons"
    )
    made.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    made.add_argument(
        "--budget",
        type=float,
        default=120.0,
        metavar="SECONDS",
        help="of tests that may depend on a fault without reaching it, for each fault (default: 120)",
    )
    made.add_argument(
        "--environment",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="of all tests; {fresh} is a folder of the run's own: caches that outlive a run must not hold faults",
    )
    made.add_argument(
        "--keep-cache",
        action="append",
        metavar="NAME",
        help="folder of pytest's cache that runs share, as it does not depend on the sources (default: stock, xnnpack)",
    )
    made.add_argument(
        "--no-preload", action="store_true", help="import in forks what tests do not import at once"
    )
    return made


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
