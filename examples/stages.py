"""From a module to a ``.pte``, with a progress line per stage and the ops of every level."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from examples.artefacts import digest, keep, package
from et_schema.pte import read_pte

Ops = Mapping[str, int]
Progress = Callable[[str, float, int], None]


def compiler_key() -> str:
    """Changes whenever recompiling could give another file."""
    return digest(package("et_ir"), package("et_schema"), torch.__version__)


def exported_ops(program: torch.export.ExportedProgram) -> Ops:
    """How often each ATen op is called in a program as exported."""
    calls = (node.target for node in program.graph.nodes if node.op == "call_function")
    return Counter(str(target).removesuffix(".default") for target in calls)


def dialect_ops(module: Any, dialect: str) -> Ops:
    """How often each op of ``dialect`` occurs in an xDSL module; reads of weights do not count."""
    names = (op.name for op in module.walk() if op.name.startswith(f"{dialect}."))
    return Counter(name.removesuffix(".default") for name in names if name != f"{dialect}.get")


def kernel_ops(path: Path) -> Ops:
    """How often each kernel is called by the first method of a ``.pte``."""
    plan = read_pte(path.read_bytes()).program.execution_plan[0]
    names = [f"{op.name}.{op.overload}" if op.overload else op.name for op in plan.operators]
    instructions = (step.instr_args for chain in plan.chains for step in chain.instructions)
    return Counter(names[call.op_index] for call in instructions if hasattr(call, "op_index"))


def arena_bytes(path: Path) -> int:
    """Bytes of planned memory that the first method of a ``.pte`` asks its caller for."""
    return sum(read_pte(path.read_bytes()).program.execution_plan[0].non_const_buffer_sizes)


def compile_to(
    path: Path, module: nn.Module, arguments: tuple[Any, ...], progress: Progress
) -> dict[str, Ops]:
    """Compile ``module`` to the file ``path``; ``progress(stage, seconds, ops)`` is called after each stage.

    Returns the ops of each level, in the order of lowering.
    """
    from et_ir import to_edge

    levels: dict[str, Ops] = {}
    start = time.perf_counter()

    def done(stage: str, ops: Ops) -> None:
        nonlocal start
        levels[stage] = ops
        progress(stage, time.perf_counter() - start, sum(ops.values()))
        start = time.perf_counter()

    program = torch.export.export(module, arguments)
    done("aten", exported_ops(program))
    edge = to_edge(program)
    done("edge", dialect_ops(edge.module, "edge"))
    edge.to_executorch().save(path)
    done("executorch", kernel_ops(path))
    return levels


def compile_once(
    path: Path, key: str, module: nn.Module, arguments: tuple[Any, ...], progress: Progress
) -> tuple[dict[str, Ops], bool]:
    """``compile_to``, unless ``path`` was compiled under the same ``key`` by the same compiler.

    Returns the ops of each level and whether the file had to be compiled.
    """
    return keep(
        path, digest(key, compiler_key()), lambda draft: compile_to(draft, module, arguments, progress)
    )


def table(levels: Mapping[str, Ops]) -> list[str]:
    """Lines of a table with a column per level: its number of ops, then each op with its count."""
    columns: list[Sequence[str]] = []
    for level, ops in levels.items():
        names = [f"{count:4} {name.removeprefix(f'{level}.')}" for name, count in ops.items()]
        columns.append([f"{level} ({sum(ops.values())} ops)", *names])
    widths = [max(map(len, column)) for column in columns]
    lines: list[str] = []
    for row in range(max(map(len, columns))):
        cells = [column[row] if row < len(column) else "" for column in columns]
        lines.append(
            "   ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
        )
    rule = "   ".join("─" * width for width in widths)
    return [lines[0], rule, *lines[1:]]
