"""Pass pipeline from a partition to shaders."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, IntegerAttr, MemRefType, ModuleOp, f16, f32, i64
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from et_backends.codegen.dialect import KERNEL
from et_backends.codegen.dialect.types import memref_type
from et_backends.codegen.object_code import InstructionSet
from et_backends.codegen.passes.convert_to_loops import Loops, loops_of
from et_backends.codegen.passes.expand_math import ExpandMathPass
from et_backends.codegen.passes.lower_vectors import LowerVectorsPass
from et_backends.codegen.passes.plan_buffers import plan_buffers
from et_backends.codegen.pipeline import make_kernels
from et_backends.vulkan.format.blob import ALIGNMENT
from et_backends.vulkan.passes.convert_to_spirv import ConvertToSpirvPass
from et_backends.vulkan.passes.split_parallel_loops import SplitParallelLoopsPass

__all__ = ["SPIRV", "Shaders", "observed", "shaders_of", "spirv_passes"]

SPIRV: Final = InstructionSet(
    "spirv",
    "",
    "",
    "",
    lanes=1,
    registers=0,
    cpu_flags=(),
    index_bits=32,
    small=True,
    fine=True,
    large_stack=False,
)
"""Target description for loops on a GPU: scalar code, and many short iterations of parallel loops."""

_LISTENER: Final[ContextVar[Callable[[ModuleOp], None] | None]] = ContextVar("spirv_listener", default=None)


@contextmanager
def observed(listener: Callable[[ModuleOp], None]) -> Generator[None]:
    """A context in which `listener` is called with each partition after its lowering to shaders."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


@dataclass(frozen=True)
class Shaders:
    """A partition as shaders and a function that dispatches them."""

    module: ModuleOp
    arena_size: int
    loops: Loops
    """The loops that they are made of: constants, messages, and the kernels of calls."""


def spirv_passes(*, halves: bool = False) -> list[ModulePass]:
    """The passes from loops over buffers to shaders. With `halves`, these store floats as 16-bit floats."""
    return [ExpandMathPass(), LowerVectorsPass(1), SplitParallelLoopsPass(), ConvertToSpirvPass(halves)]


def _store_as_halves(function: FuncOp) -> None:
    """Let the buffers of floats that the function of a partition passes to kernels have 16-bit floats."""
    block = function.body.block
    for value in (*block.args, *(result for op in block.ops for result in op.results)):
        if isinstance(value.type, MemRefType) and memref_type(value).element_type == f32:
            type = memref_type(value)
            made = MemRefType(f16, type.shape, type.layout, type.memory_space)
            Rewriter.replace_value_with_new_type(value, made)
    function.function_type = FunctionType.from_lists(block.arg_types, function.function_type.outputs.data)


def shaders_of(module: ModuleOp, *, halves: bool = False) -> Shaders:
    """Compile a module of edge ops with one method, which becomes kernels. `halves`: floats have 16 bits in memory."""
    context = Context()
    # Transformed filters of Winograd's algorithms would have to be computed at load, and bands need threads.
    make_kernels(context, module, bands=None, algorithm="direct", concatenations=False)
    loops = loops_of(module, SPIRV)
    (function,) = (
        op for op in loops.module.body.block.ops if isinstance(op, FuncOp) and op.sym_visibility is None
    )
    calls = [op for op in function.body.block.ops if isinstance(op, CallOp)]
    for call, (_, number) in zip(calls, loops.calls, strict=True):
        call.attributes[KERNEL] = IntegerAttr(number, i64)
    if halves:
        _store_as_halves(function)
    arena = plan_buffers(function, ALIGNMENT).size
    for one in spirv_passes(halves=halves):
        one.apply(context, loops.module)
    listener = _LISTENER.get()
    if listener is not None:
        listener(loops.module)
    return Shaders(loops.module, arena, loops)
