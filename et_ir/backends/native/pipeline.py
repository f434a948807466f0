"""Lowering of a partition to machine code: the passes, in order."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from et_ir.backends.native.object_code import (
    INSTRUCTION_SETS,
    InstructionSet,
    data_layout,
    llvm_text,
    object_code,
)
from et_ir.backends.native.passes.assign_layouts import AssignLayoutsPass
from et_ir.backends.native.passes.convert_to_llvm import ConvertToLlvmPass
from et_ir.backends.native.passes.convert_to_loops import loops_of
from et_ir.backends.native.passes.distribute_loops import DistributeLoopsPass
from et_ir.backends.native.passes.expand_math import ExpandMathPass
from et_ir.backends.native.passes.form_kernels import FormKernelsPass
from et_ir.backends.native.passes.lower_vectors import LowerVectorsPass
from et_ir.backends.native.passes.plan_buffers import plan_buffers
from et_ir.data import Blob

__all__ = ["MACHINE_LEVELS", "Compiled", "compile_partition", "machine_passes", "observed"]

MACHINE_LEVELS: Final = ("loops", "vector", "llvm")
"""The levels of a partition below `edge`: loops over buffers, vectors of the machine, the `llvm` dialect."""

Listener: TypeAlias = Callable[[str, InstructionSet, ModuleOp], None]
_LISTENER: Final[ContextVar[Listener | None]] = ContextVar("listener", default=None)


@contextmanager
def observed(listener: Listener) -> Generator[None]:
    """Within, `listener` is called with each level that a partition reaches, what it is for, and the module there."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def _reached(level: str, target: InstructionSet, module: ModuleOp) -> None:
    listener = _LISTENER.get()
    if listener is not None:
        listener(level, target, module)


@dataclass(frozen=True)
class Compiled:
    """Object code of a partition, for each instruction set."""

    objects: dict[str, bytes]
    arena_size: int
    constants: list[tuple[str, Blob]]
    """Keys and bytes in the order of the arguments."""
    messages: list[str]
    """What the code reports, by number."""


def machine_passes(lanes: int) -> list[ModulePass]:
    """From loops over buffers to the `llvm` dialect, for vectors of `lanes` elements."""
    return [DistributeLoopsPass(), ExpandMathPass(), LowerVectorsPass(lanes), ConvertToLlvmPass()]


def compile_partition(module: ModuleOp, instruction_sets: tuple[str, ...]) -> Compiled:
    """Compile a module of edge ops with one method, which becomes kernels."""
    context = Context()
    FormKernelsPass().apply(context, module)
    AssignLayoutsPass().apply(context, module)
    for name in instruction_sets:
        data_layout(
            INSTRUCTION_SETS[name]
        )  # LLVM, which serves one thread at a time, is not asked for it later
    with ThreadPoolExecutor(1) as executor:
        return _compiled(context, module, instruction_sets, executor)


def _compiled(
    context: Context, module: ModuleOp, instruction_sets: tuple[str, ...], executor: Executor
) -> Compiled:
    """Lower kernels for each instruction set. LLVM compiles one in a thread while passes lower the next."""
    objects: dict[str, Future[bytes]] = {}
    arena = 0
    constants: list[tuple[str, Blob]] = []
    messages: list[str] = []
    for name in instruction_sets:
        loops = loops_of(module, name)
        for function in loops.module.body.block.ops:
            if isinstance(function, FuncOp) and function.sym_visibility is None:
                arena = max(arena, plan_buffers(function))
        if constants and [key for key, _ in constants] != [key for key, _ in loops.host.constants]:
            raise AssertionError(f"{name} packs constants unlike the instruction sets before it")
        constants, messages = loops.host.constants, loops.host.messages
        target = INSTRUCTION_SETS[name]
        _reached("loops", target, loops.module)
        for one in machine_passes(target.lanes):
            one.apply(context, loops.module)
            if isinstance(one, LowerVectorsPass):
                _reached("vector", target, loops.module)
        _reached("llvm", target, loops.module)
        objects[name] = executor.submit(object_code, llvm_text(loops.module, target), target)
    return Compiled({name: made.result() for name, made in objects.items()}, arena, constants, messages)
