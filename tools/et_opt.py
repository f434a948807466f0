"""et-opt: run passes over a module in text form.

examples:
  et-opt model.mlir                                        parse, verify, print
  et-opt -p decompose,cse,dce model.mlir -o core.mlir      run passes
  et-opt -p 'plan-memory{algorithm=naive}' model.mlir      a pass with options
  et-opt --pass-pipeline='builtin.module(cse,dce)' x.mlir  in mlir-opt's syntax
  et-opt --cse --plan-memory='algorithm=naive' model.mlir  passes as options, in their order
  et-opt -p 'O2-executorch{target="et-vm"}' edge.mlir      the standard pipeline of et-compile -O2
  et-opt --list-passes                                     names and summaries of all passes
  et-opt --help-pass plan-memory                           what a pass does, and its options
  et-opt -p cse --print-ir-after-all --mlir-timing - <x    read standard input
  et-opt --load fma.py -p fuse-fma model.mlir              dialects and passes of a file
  et-opt -p canonicalize --rewrite-limit 12 model.mlir     the first 12 rewrites only, for bisection
  et-opt --split-input-file --verify-diagnostics bad.mlir  check errors against 'expected-error' comments
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Container, Sequence
from typing import Final

from et_schema.diagnostics import near_names
from et_tools.arguments import CommandParser
from et_tools.exit_codes import UsageError, guarded
from et_tools.pass_options import add_pass_options

__all__ = ["main"]

_ELSEWHERE: Final = {
    "emit": "et-opt runs passes on text; et-compile --emit lowers a model or a text to a level",
    "to": "et-opt runs passes on text; et-compile --emit lowers a model or a text to a level",
}
"""Options of et-compile's meaning."""


def _parser() -> CommandParser:
    parser = CommandParser("et-opt", "et-opt [-p PIPELINE] [options] [FILE]", __doc__ or "")
    add = parser.add_argument
    add("input_file", nargs="?", metavar="FILE", help="input file; standard input if '-' or omitted")
    add(
        "-p",
        "--pass-pipeline",
        "--passes",
        default="",
        metavar="PIPELINE",
        help="pass pipeline: 'a{option=value},b'",
    )
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
    add(
        "--verify-roundtrip",
        action="store_true",
        help="check that the input, printed and parsed again, is the same module",
    )
    add(
        "--pass-statistics",
        "--mlir-pass-statistics",
        action="store_true",
        help="print on stderr how many ops each pass left, and the rewrites of its patterns",
    )
    add(
        "--crash-reproducer",
        "--mlir-pass-pipeline-crash-reproducer",
        metavar="FILE",
        help="where a pass fails, write the module before it and the command that runs it to this file",
    )
    add(
        "--mlir-disable-threading",
        action="store_true",
        help="accepted for mlir-opt's users: passes run one after another",
    )
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
    return parser


def _split_off_passes(
    arguments: Sequence[str], options: Container[str]
) -> tuple[list[tuple[str, str]], list[str]]:
    """What may be passes given as options, as mlir-opt takes them, with their own options: `--cse`,
    `--plan-memory="algorithm=naive slack=4"`. The rest is the command line without them.
    """
    passes: list[tuple[str, str]] = []
    rest: list[str] = []
    for number, argument in enumerate(arguments):
        if argument == "--":
            return passes, [*rest, *arguments[number:]]
        option, _, value = argument.partition("=")
        # LLVM's options have one dash or two; `-p…` and `-o…` have a value.
        is_long = option.startswith("--") or (
            len(option) > 2 and option[0] == "-" and option[:2] not in options
        )
        if is_long and option not in options:
            passes.append((option.lstrip("-"), value))
        else:
            rest.append(argument)
    return passes, rest


def run(arguments: list[str]) -> int:
    """The command; returns its exit code."""
    parser = _parser()
    passes, rest = _split_off_passes(arguments, parser.option_names)
    parser.elsewhere = _ELSEWHERE
    try:
        args = parser.parse_args(rest)
    except UsageError:
        from et_ir.passes import PASSES

        if any(name not in PASSES for name, _ in passes):
            parser.parse_args(arguments)  # which says more: an unknown option leaves its value behind
        raise
    from et_tools.opt_driver import EtOptMain

    # A module is one large web of live objects: collecting it again and again finds nothing.
    gc.set_threshold(200_000, 50, 100)
    driver = EtOptMain(args)
    for name, _ in passes:
        if not driver.has_pass(name):
            given = next(one for one in arguments if one.partition("=")[0].lstrip("-") == name)
            options = [one.lstrip("-") for one in parser.option_names]
            near = near_names(name, [*driver.available_passes, *options])
            is_begun = any(one.startswith(name) for one in options)
            if near and near[0] in driver.available_passes and not is_begun:
                raise UsageError(f"{given} is neither an option nor a pass, did you mean '{near[0]}'?")
            parser.parse_args([given])  # which is refused like any other option
    if passes and args.pass_pipeline:
        raise UsageError(f"--{passes[0][0]}: give all passes by --pass-pipeline, or none")
    args.pass_pipeline = args.pass_pipeline or ",".join(
        f"{name}{{{options}}}" if options else name for name, options in passes
    )
    return driver.main()


def main(arguments: list[str] | None = None) -> int:
    """Entry point of `et-opt`."""
    return guarded(run, sys.argv[1:] if arguments is None else arguments, "et-opt")


if __name__ == "__main__":
    sys.exit(main())
