"""From a module to a `.pte`, with a progress line per stage and the ops of every level."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from et_ir.analysis.op_counts import count_ops
from et_ir.driver.observer import Observer
from et_schema.program import KernelCall
from et_schema.pte import read_pte
from examples.artefacts import digest, keep, package

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

Ops = Mapping[str, int]


def compiler_key() -> str:
    """Changes whenever recompiling could give another file."""
    return digest(*map(package, ("et_backends", "et_ir", "et_schema")), torch.__version__)


def exported_ops(program: torch.export.ExportedProgram) -> Ops:
    """Counts of the operators called in a program as exported."""
    calls = (node.target for node in program.graph.nodes if node.op == "call_function")
    return Counter(str(target).removesuffix(".default").removeprefix("aten.") for target in calls)


def kernel_ops(path: Path) -> Ops:
    """Counts of the kernels called by the first method of a `.pte`."""
    plan = read_pte(path.read_bytes()).program.execution_plan[0]
    names = [f"{op.name}.{op.overload}" if op.overload else op.name for op in plan.operators]
    calls = (step.instr_args for chain in plan.chains for step in chain.instructions)
    return Counter(names[call.op_index] for call in calls if isinstance(call, KernelCall))


def arena_bytes(path: Path) -> int:
    """Bytes of planned memory that the first method of a `.pte` asks its caller for."""
    return sum(read_pte(path.read_bytes()).program.execution_plan[0].non_const_buffer_sizes)


def compile_to(path: Path, module: nn.Module, arguments: tuple[Any, ...]) -> dict[str, Ops]:
    """Compile `module` to the file `path`, printing a line after each stage.

    Returns the ops of each level in the order of lowering, from the exported graph to the file's kernels.
    """
    from et_ir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge

    levels: dict[str, Ops] = {}
    start = time.perf_counter()

    def done(level: str, ops: Ops) -> None:
        nonlocal start
        levels[level] = ops
        print(f"{level:11} {time.perf_counter() - start:6.2f} s  {sum(ops.values())} ops", flush=True)
        start = time.perf_counter()

    class Levels(Observer):
        def reached(self, level: str, module: ModuleOp) -> None:
            done(level, count_ops(module))

    program = torch.export.export(module, arguments)
    done("export", exported_ops(program))
    edge = to_edge(program, compile_config=EdgeCompileConfig(observer=Levels()))
    edge.to_executorch(ExecutorchBackendConfig(observer=Levels())).save(path)
    done("pte", kernel_ops(path))
    return levels


def compile_once(path: Path, key: str, module: nn.Module, arguments: tuple[Any, ...]) -> dict[str, Ops]:
    """`compile_to`, unless `path` was compiled under the same `key` by the same compiler.

    Returns the ops of each level.
    """
    key = digest(key, compiler_key())
    levels, made = keep(path, key, lambda draft: compile_to(draft, module, arguments))
    if not made:
        print("compile     kept from an earlier run: neither the model nor the compiler has changed")
    print(f"wrote       {path}, {path.stat().st_size:,} bytes")
    return levels
