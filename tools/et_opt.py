"""et-opt: run passes over a module in text form.

examples:
  et-opt model.mlir                                        parse, verify, print
  et-opt -p decompose,cse,dce model.mlir -o core.mlir      run passes
  et-opt -p 'plan-memory{algorithm=naive}' model.mlir      a pass with options
  et-opt --pass-pipeline='builtin.module(cse,dce)' x.mlir  as mlir-opt writes it
  et-opt -p 'O2-executorch{target="et-vm"}' edge.mlir      a standard pipeline, that of et-compile -O2
  et-opt --list-passes                                     what there is
  et-opt -p cse --print-ir-after-all --mlir-timing - <x    from standard input
  et-opt --split-input-file --verify-diagnostics bad.mlir  errors as the text expects them
"""

from __future__ import annotations

import argparse
import gc
import sys

from et_tools.arguments import CommandParser
from et_tools.exit_codes import guarded

__all__ = ["main"]


def _arguments(arguments: list[str]) -> argparse.Namespace:
    parser = CommandParser("et-opt", "et-opt [-p PIPELINE] [options] [FILE]", __doc__ or "")
    add = parser.add_argument
    add("input_file", nargs="?", metavar="FILE", help="text to read; standard input for '-' or none")
    add("-p", "--pass-pipeline", default="", metavar="PIPELINE", help="passes to run: 'a{option=value},b'")
    add(
        "--load",
        action="append",
        default=[],
        metavar="FILE.py",
        help="add the passes that a Python file defines",
    )
    add(
        "-o",
        "--output",
        metavar="FILE",
        help="write here, constants to FILE's .safetensors; default standard output",
    )
    add("--weights", metavar="FILE", help="weight store of the input; default its .safetensors")
    add(
        "--split-input-file",
        action="store_true",
        help="treat the parts between lines '// -----' as files of their own",
    )
    add("--verify-diagnostics", action="store_true", help="compare errors with 'expected-error' comments")
    add("--no-verify", action="store_true", help="do not verify the input, nor after each pass")
    add("--print-ir-after-all", action="store_true", help="print the module after each pass, on stderr")
    add("-g", "--print-debuginfo", "--mlir-print-debuginfo", action="store_true", help="print locations")
    add(
        "--print-op-generic",
        "--mlir-print-op-generic",
        action="store_true",
        help="print operations in the generic form",
    )
    add("--mlir-timing", action="store_true", help="print the time that each pass took, on stderr")
    add("--allow-unregistered-dialect", action="store_true", help="accept operations of unknown dialects")
    add("--list-passes", action="store_true", help="list this project's passes and exit")
    parser.add_version()
    return parser.parse_args(arguments)


def run(arguments: list[str]) -> int:
    """The command; returns its exit code."""
    args = _arguments(arguments)
    from et_tools.opt_driver import EtOptMain

    # A module is one large web of live objects: collecting it again and again finds nothing.
    gc.set_threshold(200_000, 50, 100)
    return EtOptMain(args).main()


def main(arguments: list[str] | None = None) -> int:
    """Entry point of `et-opt`."""
    return guarded(run, sys.argv[1:] if arguments is None else arguments, "et-opt")


if __name__ == "__main__":
    sys.exit(main())
