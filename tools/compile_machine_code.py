"""Text of the partitions of a backend, for `et-compile --emit loops|vector|llvm|asm|tosa|spirv`."""

from __future__ import annotations

import argparse
import io
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from et_tools.compile_parser import MACHINE_LEVELS
from et_tools.exit_codes import UsageError
from et_tools.output import write_stdout

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from et_backends.codegen.object_code import InstructionSet

__all__ = ["MachineCode", "chosen_machine_code"]


@dataclass
class MachineCode:
    """The level that is asked for, None for none, and what has reached it."""

    level: str | None
    texts: list[str] = field(default_factory=list[str])

    @contextmanager
    def observed(self) -> Generator[None]:
        """Within, partitions that are compiled are written down."""
        if self.level is None:
            yield
            return
        if self.level == "tosa":
            from et_backends.tosa.compiler.backend import observed as observed_tosa

            with observed_tosa(self._legalized):
                yield
            return
        if self.level == "spirv":
            from et_backends.vulkan.compiler.pipeline import observed as observed_shaders

            with observed_shaders(self._printed):
                yield
            return
        from et_backends.codegen.pipeline import observed

        with observed(self._reached):
            yield

    def _legalized(self, module: ModuleOp) -> None:
        from xdsl.context import Context

        from et_backends.tosa.passes.inline_tosa_constants import InlineTosaConstantsPass

        shown = module.clone()
        InlineTosaConstantsPass().apply(Context(), shown)
        self._printed(shown)

    def _printed(self, module: ModuleOp) -> None:
        from et_ir.text import print_module

        text = io.StringIO()
        print_module(module, text)
        self.texts.append(text.getvalue())

    def _reached(self, level: str, target: InstructionSet, module: ModuleOp) -> None:
        if level == "llvm" and self.level == "asm":
            from et_backends.codegen.object_code import assembly

            self.texts.append(f"# {target.name}\n{assembly(module, target)}")
        elif level == self.level:
            from et_ir.text import print_module

            text = io.StringIO()
            print_module(module, text)
            self.texts.append(f"// {target.name}\n{text.getvalue()}")

    def write(self, args: argparse.Namespace) -> None:
        """Write the partitions to the output. Raises UsageError where there are none."""
        if not self.texts:
            raise UsageError(
                f"--emit {self.level}: no partition is compiled by --backend {backends_of(self.level)[0]}"
            )
        text = ("\n" if self.level == "asm" else "\n// -----\n\n").join(self.texts)
        if args.output in (None, "-"):
            write_stdout(text)
        else:
            from et_schema.files import atomic_writer

            with atomic_writer(Path(args.output)) as stream:
                stream.write(text.encode())


def backends_of(level: str | None) -> tuple[str, ...]:
    """The backends whose partitions reach a level."""
    return {"tosa": ("tosa", "ethos-u"), "spirv": ("vulkan",)}.get(level or "", ("native",))


def chosen_machine_code(args: argparse.Namespace) -> MachineCode:
    """The level of partitions that a command line asks for; the program then stops at the level `backend`.

    Raises UsageError where the backend is not asked for.
    """
    if args.emit not in MACHINE_LEVELS:
        return MachineCode(None)
    needed = backends_of(args.emit)
    if not any(text.partition(":")[0] in needed for text in args.backend or ()):
        raise UsageError(f"--emit {args.emit} needs --backend {' or '.join(needed)}")
    code = MachineCode(args.emit)
    args.emit = "backend"
    return code
