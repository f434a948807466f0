"""Writing a program: its file, and the data files beside it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from et_tools.arguments import ALIGNMENTS
from et_tools.exit_codes import UsageError
from et_tools.output import check_output

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from et_ir.emit import EmitOptions

__all__ = ["alignments_of", "write_program"]


def alignments_of(args: argparse.Namespace) -> dict[str, int]:
    """The alignments that a command line gives, as options of `et_ir.emit.EmitOptions`."""
    return {name: value for name in ALIGNMENTS if (value := getattr(args, name)) is not None}


def write_program(module: ModuleOp, output: str, options: EmitOptions | None = None) -> list[Path]:
    """Write the file of a program (`-`: to standard output) and its data files into the same folder: all or none.

    Returns their paths, that of the program first. Raises `UsageError` if a data file cannot be written there, and what
    `et_ir.emit.write` raises.
    """
    from et_ir.emit import data_files, write, write_data_file
    from et_schema.files import atomic_files
    from et_schema.ptd import is_ptd

    names = list(data_files(module))
    if output == "-":
        if names:
            raise UsageError(
                f"the program has constants in {', '.join(names)}: give -o FILE to write them next to it"
            )
        write(module, sys.stdout.buffer, options)
        return []
    path = Path(output)
    files = [path.parent / name for name in names]
    for file in files:
        check_output(str(file))
        if file.resolve() == path.resolve():
            raise UsageError(f"{file} is the program itself, not a data file")
    with atomic_files() as written:
        # Opened first, the program is the last to appear: a reader that finds it finds its data.
        stream = written.open(path)
        for name, file in zip(names, files, strict=True):
            write_data_file(module, name, written.open(file, is_ptd))
        write(module, stream, options)
    return [path, *files]
