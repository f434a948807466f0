"""et-opt: run passes over a module in text form.

examples:
  et-opt model.mlir                                        parse, verify, print
  et-opt -p decompose,cse,dce model.mlir -o core.mlir      run passes
  et-opt -p 'plan-memory{algorithm=naive}' model.mlir      a pass with options
  et-opt --pass-pipeline='builtin.module(cse,dce)' x.mlir  in mlir-opt's syntax
  et-opt -p 'O2-executorch{target="et-vm"}' edge.mlir      the standard pipeline of et-compile -O2
  et-opt --list-passes                                     names and summaries of all passes
  et-opt --help-pass plan-memory                           what a pass does, and its options
  et-opt -p cse --print-ir-after-all --mlir-timing - <x    read standard input
  et-opt --load fma.py -p fuse-fma model.mlir              dialects and passes of a file
  et-opt -p canonicalize --rewrite-limit 12 model.mlir     the first 12 rewrites only, for bisection
  et-opt --split-input-file --verify-diagnostics bad.mlir  check errors against 'expected-error' comments
"""

from __future__ import annotations

import argparse
import gc
import sys

from et_tools.arguments import CommandParser
from et_tools.exit_codes import guarded
from et_tools.pass_options import add_pass_options

__all__ = ["main"]


def _arguments(arguments: list[str]) -> argparse.Namespace:
    parser = CommandParser("et-opt", "et-opt [-p PIPELINE] [options] [FILE]", __doc__ or "")
    add = parser.add_argument
    add("input_file", nargs="?", metavar="FILE", help="input file; standard input if '-' or omitted")
    add("-p", "--pass-pipeline", default="", metavar="PIPELINE", help="pass pipeline: 'a{option=value},b'")
    add(
        "--load",
        action="append",
        default=[],
        metavar="FILE",
        help="load dialects, passes, targets and backends from a Python file or module; repeatable",
    )
    add(
        "-o",
        "--output",
        metavar="FILE",
        help="output file (default: standard output); constants go to the .safetensors next to it",
    )
    add("--weights", metavar="FILE", help="weight store of the input (default: the .safetensors next to it)")
    add(
        "--split-input-file",
        action="store_true",
        help="split the input at '// -----' lines and process each part separately",
    )
    add(
        "--verify-diagnostics",
        action="store_true",
        help="check diagnostics against 'expected-error' comments",
    )
    add("--no-verify", action="store_true", help="verify neither the input nor the result of each pass")
    add_pass_options(add, verify_each=True)
    add("-g", "--print-debuginfo", "--mlir-print-debuginfo", action="store_true", help="print locations")
    add(
        "--print-op-generic",
        "--mlir-print-op-generic",
        action="store_true",
        help="print operations in generic form",
    )
    add("--mlir-timing", action="store_true", help="print the time of each pass on stderr")
    add(
        "--allow-unregistered-dialect", action="store_true", help="accept operations of unregistered dialects"
    )
    add("--help-pass", metavar="PASS", help="print the summary, the options and the IR of a pass, and exit")
    add("--list-passes", action="store_true", help="list available passes and exit")
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
