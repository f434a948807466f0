"""Random quantized programs through XNNPACK and back: raised graphs compute what they did."""

from __future__ import annotations

import numpy as np
import pytest
from support.random_quantized import Array, Values, check, random_program

from et_backends.xnnpack.compiler.partitioner import XnnpackPartitioner
from et_ir import raise_program
from et_ir.driver.configs import ExecutorchBackendConfig
from et_ir.driver.managers import EdgeProgramManager
from et_vm.runtime import Runtime

CONFIG = ExecutorchBackendConfig(target="et-vm")


def outputs(file: bytes, inputs: list[Array]) -> list[Array]:
    method = Runtime.get().load_program(file, poison=True).load_method("forward")
    return [np.array(one) for one in method.execute(inputs)]


@pytest.mark.parametrize("seeds", np.array_split(np.arange(30), 3), ids=str)
def test_random_programs(seeds: Array) -> None:
    raised = 0
    for seed in map(int, seeds):
        program = random_program(seed)
        edge = EdgeProgramManager(program.module).to_backend(XnnpackPartitioner())
        if "backend.call" not in {op.name for op in edge.module.walk()}:
            continue
        raised += 1
        file = edge.to_executorch(CONFIG).buffer
        again = raise_program(file)
        assert "backend.call" not in {op.name for op in again.module.walk()}, seed
        expected = outputs(file, program.inputs)
        delegated = again.to_backend(XnnpackPartitioner()).to_executorch(CONFIG).buffer
        for one, other in zip(outputs(delegated, program.inputs), expected, strict=True):
            np.testing.assert_array_equal(one, other, str(seed))
        arrays: Values = dict(zip(program.block.args, program.inputs, strict=True))
        found = outputs(again.to_executorch(CONFIG).buffer, program.inputs)
        for stage, got in zip(program.stages, found, strict=True):
            check(stage, got, arrays, seed, in_single=True)
            arrays[stage.result] = got
    assert raised >= len(seeds) / 3
