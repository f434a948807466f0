"""Random quantized programs, delegated: what they say of real numbers, but for ties.

Backends round biases to the grid of the sums, and compute in f32 what they have no integer kernels for.
"""

from __future__ import annotations

import numpy as np
import pytest
from support.random_quantized import Array, Values, check, random_program

from et_backends.codegen.object_code import INSTRUCTION_SETS
from et_backends.native.compiler import NativePartitioner
from et_backends.openvino.compiler import OpenvinoPartitioner, blob, export_model
from et_backends.tosa.compiler import TOSAPartitioner
from et_backends.xnnpack.compiler.partitioner import XnnpackPartitioner
from et_ir.delegation.partitioner import Partitioner
from et_ir.driver.configs import ExecutorchBackendConfig
from et_ir.driver.managers import EdgeProgramManager
from et_vm.backends.cpu import cpu_features
from et_vm.runtime import Runtime

PROGRAMS = {"native": 24, "xnnpack": 60, "openvino": 40, "tosa": 60}
"""By backend: machine code takes longer to make."""


@pytest.fixture(autouse=True)
def _compiled_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """No process for each model of OpenVINO's: that changes the names of nodes alone."""
    monkeypatch.setattr(blob, "export_apart", export_model.export)


def partitioner(backend: str) -> Partitioner:
    if backend == "xnnpack":
        return XnnpackPartitioner()
    if backend == "tosa":
        return TOSAPartitioner()
    if backend == "openvino":
        return OpenvinoPartitioner()
    features = cpu_features()
    best = next(
        name
        for name, one in INSTRUCTION_SETS.items()
        if features.issuperset(one.with_dot_products().cpu_flags)
    )
    return NativePartitioner(instruction_sets=[best])


@pytest.mark.parametrize("seeds", np.array_split(np.arange(60), 5), ids=str)
@pytest.mark.parametrize("backend", PROGRAMS)
def test_random_programs(backend: str, seeds: Array) -> None:
    delegated = 0
    seeds = seeds[: PROGRAMS[backend] // 5]
    for seed in map(int, seeds):
        program = random_program(seed)
        edge = EdgeProgramManager(program.module).to_backend(partitioner(backend))
        delegated += "backend.call" in {op.name for op in edge.module.walk()}
        file = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
        method = Runtime.get().load_program(file, allow_native=True, poison=True).load_method("forward")
        arrays: Values = dict(zip(program.block.args, program.inputs, strict=True))
        for stage, got in zip(program.stages, method.execute(program.inputs), strict=True):
            check(stage, got, arrays, seed, in_single=True)
            arrays[stage.result] = got
    assert delegated >= len(seeds) / 2
