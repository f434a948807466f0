"""Random programs as objects for a processor, called in an emulator: f32, and quantized ones."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import freestanding_machines as machines
import numpy as np
from support.random_quantized import Values, check, random_program
from torch import Tensor
from xdsl.dialects.builtin import ModuleOp

from et_backends.freestanding.compiler.programs import (
    FreestandingObject,
    compile_freestanding,
    compile_program,
)
from et_backends.freestanding.compiler.targets import FREESTANDING_TARGETS
from et_backends.freestanding.compiler.whole_program import UnsupportedProgram
from et_ir.planning.banks import Bank
from property.eager import Run

__all__ = ["TOLERANCE", "run_object", "run_quantized"]

TOLERANCE = 1e-5
"""Of floats, in absolute terms and of the larger number."""

Compare = Callable[[Sequence[np.ndarray], Sequence[Tensor], str], None]


def run_object(
    module: ModuleOp, runs: Sequence[Run], target: str, compare: Compare, *, in_banks: bool = False
) -> bool:
    """Compile a module of the aten level, which changes, and compare its results with those of the runs.

    With `in_banks`, half of the arena is in a bank of its own, where buffers are that small. False if the program needs
    a runtime. Raises AssertionError where a call accesses what is not its own.
    """
    again = module.clone()
    try:
        made = compile_program(module, target, "net")
    except UnsupportedProgram:
        return False
    if in_banks and made.arena_bytes and target not in machines.EMULATED:
        banks = Bank("fast", 1, made.arena_bytes // 2, 2), Bank("slow", 2)
        made = compile_program(again, target, "net", banks=banks)
    with tempfile.TemporaryDirectory() as folder:
        state = machines.reset(target, Path(folder), made) if made.state else b""
        for at, run in enumerate(runs):
            inputs = [each.contiguous().numpy() for each in run.inputs]
            found = _called(made, target, Path(folder), inputs, state)
            compare(found.outputs, run.outputs, f"run {at}")
            state = found.state
    return True


def run_quantized(seed: int, target: str) -> bool:
    """Compile the quantized program of a seed, and check its results; False if it needs a runtime."""
    program = random_program(seed)
    try:
        made = compile_freestanding(program.module, FREESTANDING_TARGETS[target], "net")
    except UnsupportedProgram:
        return False
    with tempfile.TemporaryDirectory() as folder:
        found = _called(made, target, Path(folder), program.inputs, b"")
    arrays: Values = dict(zip(program.block.args, program.inputs, strict=True))
    for stage, got in zip(program.stages, found.outputs, strict=True):
        check(stage, got, arrays, seed, in_single=True)
        arrays[stage.result] = got
    return True


def _called(
    made: FreestandingObject, target: str, folder: Path, inputs: Sequence[np.ndarray], state: bytes
) -> machines.Run:
    found = machines.run(target, folder, made, inputs, state=state)
    if found.status:
        raise ValueError(f"the object returns {found.status}: {made.interface.messages[found.status - 1]}")
    if found.stack > made.stack_bytes:
        raise ValueError(f"{found.stack} bytes of the stack are used, the header says {made.stack_bytes}")
    return found
