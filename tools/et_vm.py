"""et-vm: run, look into and check ExecuTorch programs.

examples:
  et-vm run model.pte                                random inputs, a summary of the outputs
  et-vm run model.pte --input x.npy --output-dir out one array per input, outputs as .npy files
  et-vm run model.pte --input ones --repeat 100      latency as minimum and median
  et-vm run model.pte --poison                       overwrite dead memory while running
  et-vm info model.pte                               methods, operators, memory, weights
  et-vm validate model.pte                           silent when the file is good
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, NoReturn

from et_tools.exit_codes import ExitCode, UsageError, guarded

if TYPE_CHECKING:
    from et_schema.errors import ExecutorchError

__all__ = ["main"]

KERNEL_LIBRARIES = ("portable", "aten")


class _ArgumentParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    summary, _, examples = (__doc__ or "").partition("\n\n")
    parser = _ArgumentParser(
        prog="et-vm",
        usage="et-vm {run,info,validate} [options] FILE",
        description=f"{examples}\n{summary.partition(': ')[2]}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")

    run = verbs.add_parser("run", help="execute a method", description="Execute a method.")
    run.add_argument("file", metavar="FILE", help="a .pte file; '-' is standard input")
    run.add_argument("--method", metavar="NAME", help="default: forward, or the only method there is")
    run.add_argument(
        "--input",
        action="append",
        metavar="SOURCE",
        help="x.npy, x.npz (its arrays in order), random[:SEED] or ones; repeat for further inputs, "
        "one random or ones fills all (default: random:0)",
    )
    run.add_argument("--output-dir", metavar="DIR", help="write output_0.npy, output_1.npy, … there")
    run.add_argument("--repeat", type=_positive, metavar="N", help="execute N times and print the latency")
    run.add_argument("--kernels", choices=KERNEL_LIBRARIES, default="portable", help="default: portable")
    run.add_argument("--poison", action="store_true", help="overwrite memory that nothing may read any more")
    run.add_argument("--json", action="store_true", help="print JSON")

    info = verbs.add_parser("info", help="print what is in a file", description="Print what is in a file.")
    info.add_argument("file", metavar="FILE", help="a .pte file; '-' is standard input")
    info.add_argument(
        "--kernels",
        choices=KERNEL_LIBRARIES,
        default="portable",
        help="mark the operators this library has no kernel for (default: portable)",
    )
    info.add_argument("--json", action="store_true", help="print JSON, with every weight")

    validate = verbs.add_parser(
        "validate", help="check a file", description="Check a file. Prints nothing when it is good."
    )
    validate.add_argument("file", metavar="FILE", help="a .pte file; '-' is standard input")
    validate.add_argument(
        "--kernels", choices=KERNEL_LIBRARIES, help="also load every method with the kernels of this library"
    )
    validate.add_argument("--json", action="store_true", help="print JSON")
    return parser


def run(arguments: list[str]) -> int:
    """The command; returns its exit code."""
    from et_schema.errors import ExecutorchError

    args = _parser().parse_args(arguments)
    try:
        if args.verb == "run":
            from et_tools.vm_run import run_file

            run_file(args)
        elif args.verb == "info":
            from et_tools.vm_info import print_info

            print_info(args)
        else:
            from et_tools.vm_validate import validate_file

            return validate_file(args)
    except ExecutorchError as error:
        print(f"et-vm: error: {describe(error, args.file)}", file=sys.stderr)
        return exit_code_of(error)
    return ExitCode.OK


def describe(error: ExecutorchError, file: str) -> str:
    """The message of an error, with the source lines that a trap comes from when the file has them."""
    from et_schema.errors import Trap

    text = f"{file}: {error}"
    for frame in error.frames if isinstance(error, Trap) else ():
        context: str = getattr(frame, "context", "").strip()
        if context:
            text += f"\n    {context}"
    return text


def exit_code_of(error: ExecutorchError) -> ExitCode:
    """The exit code for what loading or running a program raises."""
    from et_schema import errors

    if isinstance(error, errors.OutOfMemory):
        return ExitCode.INFEASIBLE_MEMORY
    if isinstance(error, errors.Trap):
        return ExitCode.TRAP
    if isinstance(error, errors.MissingOperator | errors.MissingBackend):
        return ExitCode.MISSING_OPERATOR
    if isinstance(error, errors.InvalidFile):
        return ExitCode.INVALID_INPUT
    # Wrong inputs, unknown methods, files that cannot be opened, libraries that are not installed.
    return ExitCode.USAGE


def main(arguments: list[str] | None = None) -> int:
    """Entry point of `et-vm`."""
    return guarded(run, sys.argv[1:] if arguments is None else arguments, "et-vm")


if __name__ == "__main__":
    sys.exit(main())
