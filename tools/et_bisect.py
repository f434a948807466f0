"""et-bisect: find the pass, and the rewrite within it, that makes the results of a program wrong.

examples:
  et-bisect model.py:net --load wrong.py --pass edge:wrong          on the example inputs
  et-bisect model.py:net --input x.npz --bad 'max>1e-3'             other inputs, and a custom criterion
  et-bisect model.py:net --bad 'sqnr<30,cosine<0.99' -O2            any option of et-compile
  et-bisect edge.mlir --input random:7 --json                       a text above the executorch level

The program is compiled as by et-compile, and run before and after passes: by the reference evaluator, and
at the executorch level by et-vm. --bad compares each result with that of the program before the first pass:
max (largest absolute difference), relative (max over the largest magnitude), mse, sqnr (in dB), cosine.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from et_tools.arguments import CommandParser
from et_tools.compile_options import parse_options
from et_tools.compile_stages import Stages
from et_tools.exit_codes import ExitCode, guarded

if TYPE_CHECKING:
    from et_ir.driver.observer import Observer
    from et_tools.bisection import Finding
    from et_tools.compile_source import Source

__all__ = ["main"]

SHOWN = 8


def _extend(parser: CommandParser) -> None:
    parser.add_argument(
        "--input",
        default="inputs",
        metavar="SOURCE",
        help="inputs (the default: example inputs, or random ones where there are none), random[:SEED], x.npy or x.npz",
    )
    parser.add_argument(
        "--bad",
        metavar="CRITERION",
        help="criterion for a wrong result: 'max>1e-3', 'sqnr<30'; any of several, separated by commas (default: a "
        "relative difference that rounding does not explain)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: list[str]) -> int:
    """The command; returns its exit code: 1 if no pass makes the results wrong."""
    args = parse_options(__doc__ or "", arguments, "et-bisect", _extend)
    from et_tools.failures import report_failures

    text = args.model if args.model.endswith(".mlir") else ""
    code = ExitCode.OK
    with (
        report_failures("et-bisect", "<stdin>" if args.model == "-" else text) as outcome,
        Stages(args.quiet) as stages,
    ):
        code = _bisect(args, stages)
    return outcome.exit_code or code


def _bisect(args: argparse.Namespace, stages: Stages) -> ExitCode:
    from xdsl.utils.exceptions import PassFailedException

    from et_schema.diagnostics import Report
    from et_tools.bisection import Bisection, Criterion, PassHistory
    from et_tools.et_compile import compile_program
    from et_tools.example_inputs import given_inputs
    from et_tools.level_runs import LevelRunner

    criterion = Criterion(args.bad)
    history = PassHistory()
    inputs: dict[str, list[object]] = {}

    def watch(source: Source) -> Observer:
        inputs.update(given_inputs(args.input, source.module, source.programs, "--input"))
        return history

    try:
        compile_program(args, stages, watch)
    except (Report, PassFailedException) as error:
        # What a wrong pass has made may be too wrong for those behind it.
        if len(history.states) < 2:
            raise
        print(f"et-bisect: the compilation ends early: {str(error).splitlines()[0]}", file=sys.stderr)

    def tell(text: str) -> None:
        if not args.quiet:
            print(f"et-bisect: {text}", file=sys.stderr)

    tell(f"{history.ran} passes, {len(history.passes)} of which change the program")
    runner = LevelRunner.with_files(args.load, native=args.native)
    found = Bisection(history, inputs, runner, criterion, tell).find()
    if args.json:
        print(json.dumps({"found": None if found is None else _json(found)}, indent=2))
    elif found is not None:
        print("\n".join(_lines(found)))
    if found is None:
        print("et-bisect: no pass makes the results wrong", file=sys.stderr)
        return ExitCode.CHECK_FAILED
    return ExitCode.OK


def _lines(found: Finding) -> list[str]:
    lines = [
        f"pass '{found.pass_name}', the {_ordinal(found.position)} that changes the program: {found.why}"
    ]
    if found.rewrite:
        lines.append(f"rewrite {found.rewrite} of {found.rewrites}: {found.what}")
    if found.first is not None:
        value = found.first.value
        lines.append(
            f"first value that differs: '{value.operator}' at {value.place.source}: {found.first.gap}"
        )
    lines += [f"  {change}" for change in found.changes[:SHOWN]]
    if len(found.changes) > SHOWN:
        lines.append(f"  … and {len(found.changes) - SHOWN} more changed ops")
    return lines


def _ordinal(number: int) -> str:
    suffix = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"


def _json(found: Finding) -> dict[str, object]:
    from et_ir.locations import place_of

    return {
        "pass": found.pass_name,
        "position": found.position,
        "rewrite": found.rewrite,
        "rewrites": found.rewrites,
        "what": found.what,
        "why": found.why,
        "first_difference": None
        if found.first is None
        else {"operator": found.first.value.operator, "source": found.first.value.place.json()},
        "changes": [
            {"sign": one.sign, "op": one.op.name, "source": place_of(one.op.location).json()}
            for one in found.changes
        ],
    }


def main(arguments: list[str] | None = None) -> int:
    """Entry point of `et-bisect`."""
    return guarded(run, sys.argv[1:] if arguments is None else arguments, "et-bisect")


if __name__ == "__main__":
    sys.exit(main())
