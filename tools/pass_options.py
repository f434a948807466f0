"""Options about passes that et-opt and et-compile share."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from et_schema.whole_numbers import shortened, whole_number
from et_tools.arguments import also_called, natural_number

__all__ = ["add_pass_options", "inline_elements"]


def _limit(text: str) -> int:
    number = -1 if text == "-1" else whole_number(text)
    if number is None:
        raise argparse.ArgumentTypeError(f"{shortened(text)!r} is not a number of rewrites, or -1")
    return number


def inline_elements(args: argparse.Namespace) -> int:
    """The most elements of a constant that is printed with its elements."""
    from et_ir.printing import INLINE_ELEMENTS

    given: int | None = args.elide_constants_larger
    return INLINE_ELEMENTS if given is None else given


def add_pass_options(add: Callable[..., argparse.Action], *, verify_each: bool) -> None:
    """Add the options that print and verify the module between passes, stop after one, and limit rewrites. `add` is
    the `add_argument` of a parser, or of a group of its options.
    """
    for when in ("before", "after"):
        add(
            f"--print-ir-{when}",
            f"--mlir-print-ir-{when}",
            action="append",
            default=[],
            metavar="PASSES",
            help=f"print the module on stderr {when} these passes: 'cse,dce'",
        )
        add(
            f"--print-ir-{when}-all",
            f"--mlir-print-ir-{when}-all",
            action="store_true",
            help=f"print the module on stderr {when} each pass",
        )
    add(
        "--print-ir-after-change",
        "--mlir-print-ir-after-change",
        action="store_true",
        help="print the module on stderr after each pass that changes it",
    )
    add(
        "--print-ir-after-failure",
        "--mlir-print-ir-after-failure",
        action="store_true",
        help="print the module on stderr as a pass that fails leaves it",
    )
    add(
        "--print-ir-diff",
        action="store_true",
        help="print what a pass changed, as a diff, in the place of the module after it; alone, after each pass that "
        "changes the module",
    )
    add(
        "--elide-constants-larger",
        "--mlir-elide-elementsattrs-if-larger",
        type=natural_number,
        metavar="N",
        help="print constants of more than N elements by name and hash (default: 64); with -o FILE their elements go "
        "to the .safetensors next to it",
    )
    add(
        "--verify-each",
        action=argparse.BooleanOptionalAction,
        default=verify_each,
        help="verify the module after each pass, or after those of users only, and name the pass that broke it "
        f"(default: {'each' if verify_each else 'of users'})",
    )
    pipeline = add("--print-pipeline", action="store_true", help="print the pass pipeline and exit")
    also_called(pipeline, "list-passes")
    add(
        "--stop-after",
        metavar="PASS[,N]",
        help="stop after this pass, the Nth of its name, and print the module",
    )
    add(
        "--rewrite-limit",
        type=_limit,
        metavar="N",
        help="apply the first N rewrites only, and print the last: bisection finds the one that breaks a program "
        "(-1: all); et-compile counts the passes that -O0 does not have",
    )
