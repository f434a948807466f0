"""Programs with control flow against eager: on et-vm with both libraries, poisoned too, and on the stock runtime."""

from __future__ import annotations

import copy
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from control_flow_programs import PROGRAMS, Program
from stock import StockRuntime
from torch.export import ExportedProgram, export
from torch.utils import _pytree as pytree

from et_ir import to_edge
from et_vm.runtime import Runtime

TIMES = 4
"""Every input is run as often: registers keep what they held, and runs must not see it. From the third time at the same
sizes on, what these tell is not looked at again, and another input may go another way.
"""


def exported(program: Program) -> tuple[torch.nn.Module, ExportedProgram]:
    torch.manual_seed(0)
    module = program.make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return module, export(copy.deepcopy(module), program.inputs[0], dynamic_shapes=program.dynamic_shapes)


def expected(module: torch.nn.Module, inputs: tuple[Any, ...]) -> list[torch.Tensor]:
    with torch.no_grad():
        return [torch.as_tensor(leaf).clone() for leaf in pytree.tree_leaves(module(*inputs))]


def assert_equal(found: list[Any], wanted: list[torch.Tensor], what: str) -> None:
    assert len(found) == len(wanted), what
    for index, (value, b) in enumerate(zip(found, wanted, strict=True)):
        a = torch.as_tensor(value)
        assert a.shape == b.shape, f"{what}: result {index}"
        torch.testing.assert_close(
            a.to(b.dtype), b, rtol=1e-4, atol=1e-5, msg=lambda m, i=index: f"{what}: result {i}: {m}"
        )


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str, stock: StockRuntime, tmp_path: Path) -> None:
    program = PROGRAMS[name]
    module, found = exported(program)
    file = tmp_path / f"{name}.pte"
    to_edge(found).to_executorch().save(file)
    runs = [*(inputs for inputs in program.inputs for _ in range(TIMES)), *reversed(program.inputs)]
    eager = copy.deepcopy(module)
    wanted = [expected(eager, inputs) for inputs in runs]
    for kernels in ("portable", "aten"):
        for poison in (False, True):
            method = Runtime.get().load_program(file, kernels=kernels, poison=poison).load_method("forward")
            for inputs, values in zip(runs, wanted, strict=True):
                assert_equal(list(method.execute(list(inputs))), values, f"{kernels}{' poisoned' * poison}")
    for inputs in program.inputs:
        # Each run there is one of a program that has just been loaded.
        assert_equal(stock.run(file, inputs), expected(copy.deepcopy(module), inputs), "stock")
