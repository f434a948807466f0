"""A plan depends on the program alone: not on the hash seed of the interpreter, nor on the order of sets."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PLANNERS = """
from et_ir.planning import PLANNERS, Buffer, Plan
from et_ir.planning.banks import parse_banks
from et_ir.planning.hierarchy import assign_banks
from et_ir.planning.infeasible import conflict_of
from et_ir.planning.sweep import plan_sweep

buffers = [
    Buffer(16 + i * 7919 % 3001, i * 31 % 40, i * 31 % 40 + i * 17 % 12, 16 << i % 3) for i in range(60)
]
for name, planner in sorted(PLANNERS.items()):
    made = planner(buffers)
    print(name, made.layout if isinstance(made, Plan) else made)
print(plan_sweep(buffers), plan_sweep(buffers, backwards=True))
banks = parse_banks("near:id=1,size=6K;far:id=2,size=9K;last:id=3")
print(assign_banks(buffers, [i % 5 for i in range(60)], banks))
print(conflict_of(buffers, 12_000, budget=2000))
"""

PROGRAM = """
import sys
from et_tools.et_opt import main

text = ["program.buffer mutable @s : tensor<5xf32>", "executorch.plan @forward {"]
text += [f"  %r{i} = executorch.alloc : tensor<{1 + i * 37 % 61}xf32>" for i in range(40)]
text += ["  %x = executorch.input : tensor<7xf32>", "  %s = executorch.state @s : tensor<5xf32>"]
text += ['  executorch.kernel_call "aten::relu.out"(%x) outs(%r0)']
text += [
    f'  executorch.kernel_call "aten::cat.out"([%r{i}, %r{i * 7 % (i + 1)}, %s], 0) outs(%r{i + 1})' for i in range(39)
]
text += ["  executorch.return %r39", "}"]
with open(sys.argv[1], "w") as stream:
    stream.write("\\n".join(text))
main(["-p", 'plan-memory{check=true memory="sram:id=1,size=1K;dram:id=2"}', sys.argv[1]])
"""


def _output(script: str, seed: str, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
def test_planners() -> None:
    output = _output(PLANNERS, "1")
    assert output.count("Layout") > 8
    assert output == _output(PLANNERS, "2")


def test_a_program(tmp_path: object) -> None:
    output = _output(PROGRAM, "1", f"{tmp_path}/program.mlir")
    assert output.count("memory_id = 1") > 5
    assert output.count("memory_id = 2") > 2
    assert output == _output(PROGRAM, "2", f"{tmp_path}/program.mlir")
