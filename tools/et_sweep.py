"""et-sweep: compile, check and time models × backends × targets × options, one row a cell.

examples:
  et-sweep matrix.toml                              cells in local processes, results in results/
  et-sweep matrix.toml -o table --workers 4         four of them; start it again to go on
  et-sweep matrix.toml --cache                      with the cache of compiled partitions
  et-sweep matrix.toml --dask local:2               workers of Dask on this machine
  et-sweep matrix.toml --scheduler tcp://HOST:8786  workers of Dask elsewhere
  et-sweep matrix.toml --retry --no-timing          compile again what failed, measure nothing
  et-sweep matrix.toml --baseline before            differences to the results in another folder
  et-sweep matrix.toml --reduce                     a reduced program for each kind of failure

Results are kept as they come: an interrupted sweep goes on where it was, and cells are compiled again only
where the compiler, a package, or a file of theirs has changed. The folder gets table.jsonl and report.html.
Models are code: sweep only those that you trust.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from et_tools.arguments import CommandParser, positive_number
from et_tools.exit_codes import ExitCode, UsageError, guarded
from et_tools.output import check_output_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from et_sweep.engines import Engine
    from et_sweep.matrix import Cell, Matrix
    from et_sweep.sweep import Outcome

__all__ = ["main"]


def _arguments(arguments: list[str]) -> argparse.Namespace:
    parser = CommandParser("et-sweep", "et-sweep MATRIX [options]", __doc__ or "")
    add = parser.add_argument
    add("matrix", metavar="MATRIX", help="a .toml with axes, filters and settings")
    add("-o", "--output", default="results", metavar="FOLDER", help="folder of results (default: results)")
    add("--workers", type=positive_number, metavar="N", help="local processes (default: one per processor)")
    add("--dask", metavar="local:N", help="run on N workers of Dask on this machine")
    add(
        "--scheduler", metavar="ADDRESS", help="run on the workers of a scheduler of Dask, as tcp://HOST:8786"
    )
    add(
        "--cache",
        nargs="?",
        const="",
        metavar="DIR",
        help="keep compiled partitions in a folder, or that of et-compile --cache (default: ET_IR_CACHE)",
    )
    add("--no-cache", action="store_true", help="no cache, whatever ET_IR_CACHE says")
    add("--no-timing", action="store_true", help="do not time executions")
    add("--retry", action="store_true", help="compile again what failed before")
    add("--baseline", metavar="FOLDER", help="results of another sweep to show differences to")
    add("--reduce", action="store_true", help="reduce a program of each kind of failure by et-reduce")
    add("-q", "--quiet", action="store_true", help="print neither progress nor a summary")
    parser.add_version()
    args = parser.parse_args(arguments)
    if sum(one is not None for one in (args.workers, args.dask, args.scheduler)) > 1:
        raise UsageError("give one of --workers, --dask and --scheduler")
    return args


def _engine(args: argparse.Namespace) -> Engine:
    import os

    from et_sweep.engines import DaskEngine, LocalEngine

    if args.scheduler is not None:
        return DaskEngine(args.scheduler)
    if args.dask is not None:
        found = re.fullmatch(r"local:([1-9]\d{0,3})", args.dask)
        if found is None:
            raise UsageError(f"--dask {args.dask}: expected local:N, a number of workers")
        return DaskEngine(workers=int(found[1]))
    return LocalEngine(args.workers or len(os.sched_getaffinity(0)))


@contextmanager
def _progress(matrix: Matrix, *, quiet: bool) -> Iterator[Any]:
    """A function to tell of results; on a terminal it shows bars with hits, failures and time left."""
    if quiet or not sys.stderr.isatty():
        yield lambda what, cell, columns: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from et_tools.streams import moving

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    counts = {"hit": 0, "failed": 0}
    with Progress(*columns, console=Console(file=moving(sys.stderr)), transient=True) as bar:
        compiled = bar.add_task("cells", total=len(matrix.cells))
        timed = bar.add_task("timings", total=None, visible=matrix.timing.enabled)

        def told(what: str, cell: Cell, columns: Mapping[str, Any]) -> None:
            if what in counts:
                counts[what] += 1
            bar.advance(timed if what == "timed" else compiled)
            bar.update(compiled, description=f"cells: {counts['hit']} hits, {counts['failed']} failures")

        yield told


def _cache_folder(args: argparse.Namespace) -> str | None:
    from et_tools.compile_cache import chosen_store

    args.cache_stats = False
    store = chosen_store(args)
    return None if store is None else str(store.folder)


def _sweep(args: argparse.Namespace) -> Outcome:
    from et_sweep.engines import EngineError
    from et_sweep.journal import JournalError
    from et_sweep.matrix import MatrixError, read_matrix
    from et_sweep.report import read_rows, write_report
    from et_sweep.sweep import run as run_sweep

    check_output_folder(args.output)
    try:
        matrix = read_matrix(args.matrix)
        if args.no_timing:
            matrix = replace(matrix, timing=replace(matrix.timing, enabled=False))
        baseline = None if args.baseline is None else read_rows(args.baseline)
        with ExitStack() as stack:
            engine = _engine(args)
            stack.callback(engine.close)
            report = stack.enter_context(_progress(matrix, quiet=args.quiet))
            outcome = run_sweep(
                matrix,
                args.output,
                engine=engine,
                cache_folder=_cache_folder(args),
                retry=args.retry,
                report=report,
            )
    except MatrixError as error:
        raise UsageError(str(error), ExitCode.INVALID_INPUT) from None
    except (JournalError, EngineError) as error:
        raise UsageError(str(error)) from None
    reduced: dict[str, str] = {}
    if args.reduce:
        from et_sweep.reduced import reduce_failures

        reduced = reduce_failures(matrix, outcome.rows, args.output)
    write_report(args.output, matrix.name, outcome.rows, baseline, reduced)
    return outcome


def run(arguments: list[str]) -> int:
    """The command; returns its exit code."""
    args = _arguments(arguments)
    outcome = _sweep(args)
    if not args.quiet:
        done = len(outcome.rows) - outcome.hits
        print(
            f"{len(outcome.rows)} cells: {done} compiled now, {outcome.hits} done before, {outcome.failures} failed",
            file=sys.stderr,
        )
    return ExitCode.OK


def main(arguments: list[str] | None = None) -> int:
    """Entry point of `et-sweep`."""
    return guarded(run, sys.argv[1:] if arguments is None else arguments, "et-sweep")


if __name__ == "__main__":
    sys.exit(main())
