"""Random quantized programs compute in integers what they say of real numbers.

The reference evaluates the program as it was before, `dequantize`, operators and `quantize`, in double precision. The
results of each operator are equal where the real number is not a tie but for the rounding of double precision itself;
scales that are powers of two have exact ties, and there results are equal everywhere.
"""

from __future__ import annotations

import numpy as np
import pytest
from support.random_quantized import Array, Values, check, random_program

from et_ir.driver.configs import ExecutorchBackendConfig
from et_ir.driver.managers import EdgeProgramManager
from et_vm.runtime import Runtime

PROGRAMS = 150
"""Random programs, of a few operators each."""


@pytest.mark.parametrize("seeds", np.array_split(np.arange(PROGRAMS), 10), ids=str)
def test_random_programs(seeds: Array) -> None:
    formed = 0
    for seed in map(int, seeds):
        program = random_program(seed)
        lowered = EdgeProgramManager(program.module).to_executorch(ExecutorchBackendConfig(target="et-vm"))
        found = Runtime.get().load_program(lowered.buffer).load_method("forward").execute(program.inputs)
        formed += str(lowered.module).count("integer::")
        arrays: Values = dict(zip(program.block.args, program.inputs, strict=True))
        for stage, got in zip(program.stages, found, strict=True):
            check(stage, got, arrays, seed)
            arrays[stage.result] = got
    assert formed >= len(seeds)
