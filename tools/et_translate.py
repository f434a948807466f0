"""et-translate: one translation between files and text, no passes.

examples:
  et-translate --pt2-to-mlir model.pt2 -o model.mlir     exported program to the aten dialect
  et-translate --mlir-to-pte planned.mlir -o model.pte   executorch dialect to a file
  et-translate --pte-to-mlir model.pte -o model.mlir     any .pte to the executorch dialect
  et-translate --pte-to-mlir - < model.pte               to standard output

Constants of more than 64 elements are not in the text: with -o they go to a .safetensors beside it.
"""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from et_tools.exit_codes import UsageError, guarded

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

__all__ = ["main"]


class _ArgumentParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see et-translate --help)")


def _arguments(arguments: list[str]) -> argparse.Namespace:
    summary, _, examples = (__doc__ or "").partition("\n\n")
    parser = _ArgumentParser(
        prog="et-translate",
        usage="et-translate (--pt2-to-mlir | --mlir-to-pte | --pte-to-mlir) [options] [FILE]",
        description=f"{examples}\n{summary.partition(': ')[2]}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--pt2-to-mlir", dest="translation", action="store_const", const=_pt2_to_mlir)
    which.add_argument("--mlir-to-pte", dest="translation", action="store_const", const=_mlir_to_pte)
    which.add_argument("--pte-to-mlir", dest="translation", action="store_const", const=_pte_to_mlir)
    parser.add_argument("input", nargs="?", default="-", metavar="FILE", help="input; '-' is standard input")
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="output; '-' is standard output")
    parser.add_argument("--weights", metavar="FILE", help="weight store of a text; default its .safetensors")
    parser.add_argument("--no-debuginfo", action="store_true", help="leave source locations out of the text")
    return parser.parse_args(arguments)


def _read_bytes(name: str) -> bytes:
    return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()


def _write_text(module: ModuleOp, args: argparse.Namespace) -> None:
    from et_ir.text import print_module, store_path, write_weights

    stream = io.StringIO()
    print_module(module, stream, debuginfo=not args.no_debuginfo)
    _write(stream.getvalue().encode(), args.output)
    if args.output != "-":
        write_weights(module, store_path(Path(args.output)))


def _write(data: bytes, name: str) -> None:
    if name == "-":
        sys.stdout.buffer.write(data)
        return
    from et_schema.atomic import atomic_writer

    with atomic_writer(Path(name)) as stream:
        stream.write(data)


def _pt2_to_mlir(args: argparse.Namespace) -> None:
    from et_ir.frontend import import_program
    from et_tools.loading import load_pt2

    if args.input == "-":
        raise UsageError("--pt2-to-mlir needs a file: a .pt2 is an archive that is read by its path")
    _write_text(import_program(load_pt2(Path(args.input))), args)


def _mlir_to_pte(args: argparse.Namespace) -> None:
    from et_ir.emit import EmitOptions, write
    from et_ir.verification import verify_module
    from et_tools.reading import read_text_module

    module = read_text_module(args.input, args.weights)
    verify_module(module)
    if args.output == "-":
        write(module, sys.stdout.buffer, EmitOptions())
        return
    from et_schema.atomic import atomic_writer

    with atomic_writer(Path(args.output)) as stream:
        write(module, stream, EmitOptions())


def _pte_to_mlir(args: argparse.Namespace) -> None:
    from et_ir.emit import disassemble
    from et_schema.pte import read_pte

    _write_text(disassemble(read_pte(_read_bytes(args.input))), args)


def run(arguments: list[str]) -> int:
    """The command; returns its exit code."""
    from et_tools.failures import report_failures

    args: Any = _arguments(arguments)
    with report_failures() as outcome:
        args.translation(args)
    return outcome.exit_code


def main(arguments: list[str] | None = None) -> int:
    """Entry point of `et-translate`."""
    return guarded(run, sys.argv[1:] if arguments is None else arguments, "et-translate")


if __name__ == "__main__":
    sys.exit(main())
