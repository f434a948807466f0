"""Measure all published figures, and write them into docs/performance.md.

    python -m bench                  everything but the checks, in 20 minutes on two idle cores
    python -m bench checks           minutes of `make check`, `make test` and `.ci/run`, in 45 minutes
    python -m bench compile load     some measurements; the others stay as they are
    python -m bench --check          measure nothing; mark the figures whose code has changed since
    python -m bench --dry-run load   measure, and write nothing

The figures are kept in bench/figures.json with the commit that each was measured at. A figure is stale when the code
that its measurement names has changed since. The working tree must be as committed, or there is no such commit.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.console import Console

from bench.figures import (
    MEASUREMENTS,
    PAGE,
    ROOT,
    STORE,
    Measurement,
    git,
    page,
    read,
    rows_of,
    state_of,
    table,
)
from bench.measure import SCALE, TABLES, environment


def measured(measurement: Measurement) -> list[dict[str, Any]]:
    """The rows of a measurement, run in a process of its own; its progress is on standard error."""
    with tempfile.TemporaryDirectory() as folder:
        tables = Path(folder) / "tables"
        settings = {**environment(), TABLES: str(tables), SCALE: "0.5"}
        line = [sys.executable, "-W", "ignore", "-m", f"bench.{measurement.name}", *measurement.arguments]
        subprocess.run(line, check=True, cwd=ROOT, env=settings, stdout=sys.stderr)
        read_back = [json.loads(text) for text in tables.read_text(encoding="utf-8").splitlines()]
    return list(rows_of(measurement, read_back))


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [measurement.name for measurement in MEASUREMENTS]
    parser.add_argument("measurement", nargs="*", help=f"of {', '.join(names)}; all but checks unless given")
    parser.add_argument("--check", action="store_true", help="mark stale figures, measure nothing")
    parser.add_argument("--dry-run", action="store_true", help="print the table, write nothing")
    options = parser.parse_args()
    for name in options.measurement:
        if name not in names:
            parser.error(f"there is no measurement {name}; there are {', '.join(names)}")
    console = Console(stderr=True, highlight=False)
    kept = read()
    failed: list[str] = []
    if not options.check:
        changed = git(
            "status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs", ":!bench/figures.json"
        )
        if changed.stdout and not options.dry_run:
            parser.error("the working tree has changes that are not committed; commit them, or use --dry-run")
        commit = git("rev-parse", "HEAD").stdout.strip()
        usual = [each.name for each in MEASUREMENTS if not each.is_on_request]
        chosen = [each for each in MEASUREMENTS if each.name in (options.measurement or usual)]
        started = time.monotonic()
        for at, measurement in enumerate(chosen, 1):
            minutes, seconds = divmod(int(time.monotonic() - started), 60)
            console.print(f"[bold]{at} of {len(chosen)}[/], {minutes}:{seconds:02}  {measurement.command}")
            try:
                kept[measurement.name] = {"commit": commit, "rows": measured(measurement)}
            except subprocess.CalledProcessError as error:
                failed.append(measurement.name)
                console.print(f"[red]bench.{measurement.name} failed with {error.returncode}[/]")
                continue
            if not options.dry_run:
                STORE.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    states = {
        each.name: state_of(each, kept[each.name]["commit"]) for each in MEASUREMENTS if each.name in kept
    }
    figures = table(kept, states)
    if options.dry_run:
        print(figures, end="")
    else:
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), figures), encoding="utf-8")
    for name, state in states.items():
        if state != "current":
            console.print(f"bench.{name}: {state}, measured at {kept[name]['commit'][:10]}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
