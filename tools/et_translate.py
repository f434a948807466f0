"""et-translate: one translation between files and text, no passes.

examples:
  et-translate --pt2-to-mlir model.pt2 -o model.mlir     exported program to the aten dialect
  et-translate --mlir-to-pte planned.mlir -o model.pte   executorch dialect to a file
  et-translate --pte-to-mlir model.pte -o model.mlir     any .pte to the executorch dialect
  et-translate --pte-to-mlir - < model.pte               to standard output

Constants of more than 64 elements are not printed: with -o they go to a .safetensors next to the text.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from et_tools.arguments import ALIGNMENTS, ANY_DATA, CommandParser, add_alignments
from et_tools.exit_codes import UsageError, guarded
from et_tools.messages import print_message
from et_tools.output import check_output, check_text_name, store_of, write_stdout

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

__all__ = ["main"]


def _arguments(arguments: list[str]) -> argparse.Namespace:
    parser = CommandParser(
        "et-translate",
        "et-translate (--pt2-to-mlir | --mlir-to-pte | --pte-to-mlir) [options] [FILE]",
        __doc__ or "",
    )
    which = parser.add_mutually_exclusive_group(required=True)
    for flag, translation, summary in (
        (
            "--pt2-to-mlir",
            _pt2_to_mlir,
            "translate an exported program (a .pt2, which holds pickled objects: it can run code) to text",
        ),
        ("--mlir-to-pte", _mlir_to_pte, "translate text of the executorch dialect to a .pte"),
        ("--pte-to-mlir", _pte_to_mlir, "translate a .pte to text of the executorch dialect"),
    ):
        which.add_argument(flag, dest="translation", action="store_const", const=translation, help=summary)
    parser.add_argument(
        "input", nargs="?", default="-", metavar="FILE", help="input file; '-' is standard input"
    )
    parser.add_argument(
        "-o", "--output", default="-", metavar="FILE", help="output file; '-' is standard output"
    )
    parser.add_argument(
        "--weights", metavar="FILE", help="weight store of a .mlir (default: the .safetensors next to it)"
    )
    parser.add_argument(
        "--data",
        action="append",
        default=[],
        metavar="FILE",
        help="data file (.ptd) that belongs to the .pte; repeatable",
    )
    parser.add_argument("--any-data", **ANY_DATA)
    parser.add_argument(
        "--load",
        action="append",
        metavar="FILE",
        help="Python file or module that defines custom operators, for --pt2-to-mlir; repeatable",
    )
    add_alignments(parser.add_argument)
    parser.add_argument("--no-debuginfo", action="store_true", help="omit source locations from the text")
    parser.add_version()
    return parser.parse_args(arguments)


def _write_text(module: ModuleOp, args: argparse.Namespace) -> None:
    from et_ir.text import module_text, save_text, stored_constants

    text = module_text(module, debuginfo=not args.no_debuginfo and _has_locations(module))
    if args.output == "-":
        write_stdout(text)
    else:
        save_text(Path(args.output), text, stored_constants(module))


def _has_locations(module: ModuleOp) -> bool:
    """Whether any op says where it comes from: a file without stack traces does not."""
    from xdsl.dialects.builtin import UNKNOWN_LOC

    return any(op.location != UNKNOWN_LOC for op in module.walk())


def _pt2_to_mlir(args: argparse.Namespace) -> None:
    from et_tools.loading import load_pt2
    from et_tools.vm_kernels import load_files

    if args.input == "-":
        raise UsageError("--pt2-to-mlir cannot read standard input: give the path of the .pt2")
    load_files(args.load)
    program = load_pt2(Path(args.input))
    from et_ir.frontend import import_program

    _write_text(import_program(program), args)


def _mlir_to_pte(args: argparse.Namespace) -> None:
    from et_ir.emit import EmitOptions
    from et_ir.verification import verify_module
    from et_tools.program_files import alignments_of, write_program
    from et_tools.reading import read_text_module, require_weights

    module = read_text_module(args.input, args.weights)
    verify_module(module)
    require_weights(module, args.input)
    for file in write_program(module, args.output, EmitOptions(**alignments_of(args)))[1:]:
        print_message("et-translate", f"wrote {file}", "note")


def _pte_to_mlir(args: argparse.Namespace) -> None:
    from et_ir.emit import attach_data_file, disassemble
    from et_schema.ptd import open_ptd
    from et_schema.pte import open_pte, read_pte

    file = read_pte(sys.stdin.buffer.read()) if args.input == "-" else open_pte(args.input)
    module = disassemble(file)
    for data in args.data:
        attach_data_file(module, Path(data).name, open_ptd(data), any_data=args.any_data)
    _write_text(module, args)


def run(arguments: list[str]) -> int:
    """The command; returns its exit code."""
    args: Any = _arguments(arguments)
    if (args.data or args.any_data) and args.translation is not _pte_to_mlir:
        raise UsageError("--data and --any-data apply to --pte-to-mlir only")
    if args.load and args.translation is not _pt2_to_mlir:
        raise UsageError("--load applies to --pt2-to-mlir only")
    if args.translation is not _mlir_to_pte and any(getattr(args, name) is not None for name in ALIGNMENTS):
        raise UsageError("alignment options apply to --mlir-to-pte only")
    stores = [store_of(args.input, args.weights)] if args.translation is _mlir_to_pte else []
    check_output(args.output, [args.input, *args.data, *stores])
    if args.translation is not _mlir_to_pte:
        check_text_name(args.output)
    from et_tools.failures import report_failures

    with report_failures("et-translate", "<stdin>" if args.input == "-" else args.input) as outcome:
        args.translation(args)
    return outcome.exit_code


def main(arguments: list[str] | None = None) -> int:
    """Entry point of `et-translate`."""
    return guarded(run, sys.argv[1:] if arguments is None else arguments, "et-translate")


if __name__ == "__main__":
    sys.exit(main())
