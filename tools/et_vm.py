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

from et_tools.arguments import CommandParser
from et_tools.exit_codes import ExitCode, guarded

__all__ = ["main"]

KERNEL_LIBRARIES = ("portable", "aten")


RUN = """et-vm run: execute a method.

examples:
  et-vm run model.pte                                  random inputs, a summary of the outputs
  et-vm run model.pte --input x.npy --output-dir out   an array per input; outputs as .npy files
  et-vm run model.pte --input inputs.npz --json        the arrays of a file, in order
  et-vm run model.pte --method decode --input ones     another method, all inputs 1
  et-vm run model.pte --kernels aten --repeat 100      torch's kernels; latency as minimum and median
  et-vm run model.pte --poison                         overwrite dead memory while running
"""

INFO = """et-vm info: print what is in a file.

examples:
  et-vm info model.pte                   methods, operators, memory, the largest weights
  et-vm info model.pte --kernels aten    which operators torch's kernels lack
  et-vm info model.pte --json            everything, with every weight
"""

VALIDATE = """et-vm validate: check a file. Prints nothing when it is good.

examples:
  et-vm validate model.pte                       whole, consistent, no live tensors in the same bytes?
  et-vm validate model.pte --kernels portable    and is there a kernel for each operator?
"""


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return int(text)


def _parser() -> CommandParser:
    parser = CommandParser("et-vm", "et-vm {run,info,validate} [options] FILE", __doc__ or "")
    parser.add_version()
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")

    def verb(name: str, summary: str, text: str) -> CommandParser:
        added = verbs.add_parser(name, help=summary, usage=f"et-vm {name} [options] FILE", text=text)
        added.prog = f"et-vm {name}"
        added.add_argument("file", metavar="FILE", help="a .pte file; '-' is standard input")
        return added

    run = verb("run", "execute a method", RUN)
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

    info = verb("info", "print what is in a file", INFO)
    info.add_argument(
        "--kernels",
        choices=KERNEL_LIBRARIES,
        default="portable",
        help="mark the operators this library has no kernel for (default: portable)",
    )
    info.add_argument("--json", action="store_true", help="print JSON, with every weight")

    validate = verb("validate", "check a file", VALIDATE)
    validate.add_argument(
        "--kernels", choices=KERNEL_LIBRARIES, help="also load every method with the kernels of this library"
    )
    validate.add_argument("--json", action="store_true", help="print JSON")
    return parser


def run(arguments: list[str]) -> int:
    """The command; returns its exit code."""
    args = _parser().parse_args(arguments)
    from et_schema.errors import ExecutorchError
    from et_tools.vm_errors import describe, exit_code_of_error

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
        return exit_code_of_error(error)
    return ExitCode.OK


def main(arguments: list[str] | None = None) -> int:
    """Entry point of `et-vm`."""
    return guarded(run, sys.argv[1:] if arguments is None else arguments, "et-vm")


if __name__ == "__main__":
    sys.exit(main())
