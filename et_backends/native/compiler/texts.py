"""Text of partitions at the levels of machine code."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from et_backends.codegen.object_code import assembly
from et_backends.codegen.pipeline import observed
from et_ir.text import module_text

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from et_backends.codegen.object_code import InstructionSet

__all__ = ["asm_texts", "llvm_texts", "loops_texts", "vector_texts"]


def _texts(
    level: str, write: Callable[[str], None], text: Callable[[ModuleOp, InstructionSet], str]
) -> AbstractContextManager[None]:
    def reached(at: str, target: InstructionSet, module: ModuleOp) -> None:
        if at == level:
            write(text(module, target))

    return observed(reached)


def _ir(module: ModuleOp, target: InstructionSet) -> str:
    return f"// {target.name}\n{module_text(module)}"


def loops_texts(write: Callable[[str], None]) -> AbstractContextManager[None]:
    """Loops over buffers, for each instruction set."""
    return _texts("loops", write, _ir)


def vector_texts(write: Callable[[str], None]) -> AbstractContextManager[None]:
    """Loops with vectors."""
    return _texts("vector", write, _ir)


def llvm_texts(write: Callable[[str], None]) -> AbstractContextManager[None]:
    """The llvm dialect."""
    return _texts("llvm", write, _ir)


def asm_texts(write: Callable[[str], None]) -> AbstractContextManager[None]:
    """Assembly, which LLVM makes of the llvm dialect."""
    return _texts("llvm", write, lambda module, target: f"# {target.name}\n{assembly(module, target)}")
