"""Objects without a runtime, for `et-compile --target cortex-m4 --emit object|asm|c-header`."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from et_ir.planning.banks import Bank, BankError, parse_banks
from et_ir.targets.lookup import DEFAULT as DEFAULT_TARGET
from et_ir.targets.lookup import TARGETS
from et_schema.diagnostics import did_you_mean, same_numbers
from et_tools.compile_options import is_file, is_text
from et_tools.compile_parser import FREESTANDING_FORMS
from et_tools.exit_codes import ExitCode, UsageError
from et_tools.output import write_stdout

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from et_backends.codegen.object_code import InstructionSet
    from et_backends.freestanding.compiler.programs import FreestandingObject
    from et_ir.driver.kept import KeptOperators

__all__ = ["Freestanding", "chosen_freestanding"]


@dataclass
class Freestanding:
    """The processor that is compiled for, None for a runtime, and what is written."""

    target: InstructionSet | None = None
    form: str = ""
    name: str = ""
    """The prefix of names in C."""
    banks: tuple[Bank, ...] = ()
    """Memory of the device, where it has to fit."""

    def write(self, module: ModuleOp, args: argparse.Namespace, kept: KeptOperators | None) -> None:
        """Compile a program at the edge level, and write the object, its assembly, or its header.

        The header of an object or archive is written beside it.
        """
        from et_backends.freestanding.compiler.fit import fitted, usage
        from et_backends.freestanding.compiler.header import is_header
        from et_backends.freestanding.compiler.programs import compile_freestanding
        from et_schema.files import atomic_files

        assert self.target is not None
        places: dict[str, str] = {}
        target = self.target

        def make(banks: Sequence[Bank]) -> FreestandingObject:
            try:
                return compile_freestanding(module, target, self.name, kept, pic=args.pic, banks=banks)
            except ValueError as error:
                raise UsageError(f"--target {error}") from None

        if not self.banks:
            made = make(())
        else:
            try:
                made, places = fitted(make, self.banks)
            except ValueError as error:
                raise UsageError(f"--memory: {error}", ExitCode.INFEASIBLE_MEMORY) from None
        text = {"asm": made.assembly, "c-header": made.header}.get(self.form)
        if text is not None and args.output in (None, "-"):
            write_stdout(text)
        else:
            path = Path(args.output)
            content = made.archive if self.form == "archive" else made.code
            with atomic_files() as files:
                files.open(path).write(content if text is None else text.encode())
                if text is None:
                    files.open(path.with_suffix(".h"), is_header).write(made.header.encode())
        if not args.quiet:
            print(made.summary() + usage(made, self.banks, places), end="", file=sys.stderr)


def _name(args: argparse.Namespace) -> str:
    """The prefix of names in the object: as it is given, or the name of the output file, of the factory, or of the
    input file.

    Raises UsageError for a prefix that is no name in C.
    """
    if args.prefix is not None:
        if re.fullmatch(r"[A-Za-z_]\w*", args.prefix, re.ASCII) is None:
            from et_backends.freestanding.compiler.interface import c_name

            raise UsageError(f"--prefix {args.prefix}: expected a name in C, such as {c_name(args.prefix)}")
        return args.prefix
    if args.output not in (None, "-"):
        return Path(args.output).stem
    if is_file(args.model) or is_text(args.model) or args.model.endswith(".pt2"):
        return Path(args.model).stem if args.model != "-" else "net"
    return args.model.rpartition(":")[2]


def chosen_freestanding(args: argparse.Namespace) -> Freestanding:
    """The processor that a command line asks for; the program then stops at the level `edge`.

    Raises UsageError for what goes with a runtime, and for an object that has no file.
    """
    only = [option for option, given in (("--pic", args.pic), ("--prefix", args.prefix)) if given]
    if args.target in (None, *TARGETS) and args.emit not in FREESTANDING_FORMS and not only:
        return Freestanding()
    from et_backends.freestanding.compiler.targets import FREESTANDING_TARGETS

    target = FREESTANDING_TARGETS.get(args.target or DEFAULT_TARGET)
    if target is None:
        if args.emit in FREESTANDING_FORMS:
            names = ", ".join(FREESTANDING_TARGETS)
            near = did_you_mean(args.target, same_numbers(args.target, FREESTANDING_TARGETS))
            raise UsageError(
                f"--emit {args.emit} needs a processor as --target, not {args.target}: {names}{near}"
                if args.target
                else f"--emit {args.emit} needs a processor as --target: {names}"
            )
        if only:
            raise UsageError(
                f"{only[0]} applies to objects only: give a processor as --target, and -o FILE.o"
            )
        return Freestanding()
    if args.output is not None and Path(args.output).suffix == ".pte":
        raise UsageError(
            f"-o {args.output}: --target {args.target} is a processor, for which an object is made, and no .pte: "
            "give -o FILE.o, or a runtime as --target"
        )
    if args.emit == "pte":
        args.emit = "object"
    if args.emit not in (*FREESTANDING_FORMS, "asm"):
        expected = ", ".join((*FREESTANDING_FORMS, "asm"))
        raise UsageError(
            f"--target {args.target} is a processor: expected --emit {expected}, got {args.emit}"
        )
    if args.backend:
        raise UsageError(f"--target {args.target} has no delegates: leave out --backend")
    if args.emit in ("object", "archive") and args.output in (None, "-"):
        raise UsageError("no output file: give -o FILE; its header is written beside it")
    if args.emit in ("object", "archive") and Path(args.output).suffix == ".h":
        raise UsageError(f"-o {args.output} is the file of the header: give the {args.emit} another name")
    try:
        banks = parse_banks(args.memory) if args.memory else ()
    except BankError as error:
        raise UsageError(f"--memory: {error}") from None
    made = Freestanding(target, args.emit, _name(args), banks)
    args.memory = ""
    args.emit, args.target, args.backend = "edge", DEFAULT_TARGET, ["native"]
    return made
