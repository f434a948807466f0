"""Program opening and number formatting for the et-vm verbs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from et_schema.errors import ExecutorchError
from et_tools.exit_codes import UsageError

if TYPE_CHECKING:
    from et_vm.load.data_files import DataFiles
    from et_vm.platform import Platform
    from et_vm.program import Program


_WORDS: Final = frozenset({"by", "color", "format", "kernels", "method", "target", "verb"})
"""Arguments that name no file, but may be the name of a method, which an error in it says."""


class BadFile(Exception):
    """One of several files cannot be used; `error` says why."""

    def __init__(self, file: str, error: ExecutorchError) -> None:
        super().__init__(file, error)
        self.file = file
        self.error = error


def blamed(error: ExecutorchError, args: argparse.Namespace, file: str) -> BadFile:
    """An error with the file that it is about: the one that it says, if the command line has it, else `file`."""
    values = [value for name, value in vars(args).items() if name not in _WORDS]
    given = [one for value in values for one in (value if isinstance(value, list) else [value])]
    if error.where is not None and error.where in given:
        file, error.where = error.where, None
    return BadFile(file, error)


def open_programs(files: Sequence[str]) -> list[Program]:
    """Load and verify several files. Raises BadFile, or UsageError when two are standard input."""
    if files.count("-") > 1:
        raise UsageError("'-' can be given only once")
    programs: list[Program] = []
    for file in files:
        try:
            programs.append(open_program(file))
        except ExecutorchError as error:
            raise BadFile(file, error) from error
    return programs


def chosen_platform(args: argparse.Namespace) -> Platform:
    """The limits of the command line."""
    from et_vm.platform import Platform

    return Platform(memory_limit=args.memory_limit, work_limit=args.work_limit)


def open_program(file: str, platform: Platform | None = None) -> Program:
    """Load and verify a `.pte` file, or the program in a `.bpte` file; `-` is standard input.

    Raises InvalidFile, or ExecutorchError(AccessFailed).
    """
    from et_schema.bpte import is_bundled, read_bpte
    from et_vm.load.loader import BytesDataLoader, MmapDataLoader
    from et_vm.program import Program

    loader = BytesDataLoader(sys.stdin.buffer.read(), "<stdin>") if file == "-" else MmapDataLoader(file)
    data = loader.load_all()
    if is_bundled(data):
        loader = BytesDataLoader(read_bpte(data).program, loader.name)
    return Program(loader, platform=platform)


def open_data(args: argparse.Namespace) -> DataFiles | None:
    """The data files of the command line. Raises InvalidFile, or ExecutorchError(AccessFailed)."""
    from et_vm.load.data_files import DataFiles

    return DataFiles.load(*args.data, any_data=args.any_data) if args.data else None


def show_bytes(count: int) -> str:
    """A size with three significant digits: `9.72 MB`."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return f"{count / scale:.3g} {unit}"
    return f"{count} B"
