"""Modules as machine code: all of their ops in one partition, on every instruction set of this machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
from et_ir.backends.native import NativePartitioner
from et_ir.codegen.object_code import INSTRUCTION_SETS
from et_vm.backends.native.cpu import cpu_features
from et_vm.runtime import Runtime

SETS = [name for name, one in INSTRUCTION_SETS.items() if cpu_features().issuperset(one.cpu_flags)]


class Function(nn.Module):
    """A module of a function."""

    def __init__(self, function: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *arguments: torch.Tensor) -> torch.Tensor:
        return self.function(*arguments)


def as_module(function: Callable[..., torch.Tensor]) -> nn.Module:
    return function.eval() if isinstance(function, nn.Module) else Function(function)


def compiled(module: nn.Module, arguments: tuple[torch.Tensor, ...], name: str, **options: Any) -> bytes:
    """A file with one partition, and nothing outside of it; `options` are the partitioner's."""
    return lowered(torch.export.export(module, arguments), name, **options)


def lowered(program: torch.export.ExportedProgram, name: str, **options: Any) -> bytes:
    """As `compiled`, of a program that was exported before."""
    edge = to_edge_transform_and_lower(
        program, partitioner=NativePartitioner(instruction_sets=[name], **options)
    )
    calls = [op.name for op in edge.module.walk() if op.name == "backend.call" or op.name.startswith("edge.")]
    assert calls == ["backend.call"]
    return edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer


def run(file: bytes, arguments: tuple[torch.Tensor, ...], threads: int = 1) -> np.ndarray:
    """The first output, with dead memory poisoned."""
    program = Runtime(threads=threads).load_program(file, allow_native=True, poison=True)
    return np.array(program.load_method("forward").execute([one.numpy() for one in arguments])[0])


def check(
    function: Callable[..., torch.Tensor],
    *arguments: torch.Tensor,
    tolerance: float = 2e-6,
    **options: Any,
) -> None:
    """What torch computes, within a tolerance relative to the largest number; NaN and infinities in their places."""
    module = as_module(function)
    with torch.no_grad():
        expected = module(*arguments).numpy()
    finite = np.abs(expected[np.isfinite(expected)])
    margin = tolerance * max(float(finite.max(initial=0.0)), 1e-6)
    program = torch.export.export(module, arguments)
    for name in SETS:
        file = lowered(program, name, **options)
        for threads in (1, 2):
            found = run(file, arguments, threads)
            assert found.shape == expected.shape
            np.testing.assert_allclose(found, expected, rtol=0, atol=margin, err_msg=f"{name}, {threads}")
