"""Modules as machine code: all of their ops in one partition, on every instruction set of this machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any
from zlib import crc32

import numpy as np
import torch
from torch import nn

from et_backends.codegen.object_code import INSTRUCTION_SETS
from et_backends.native.compiler import NativePartitioner
from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
from et_vm.backends.cpu import cpu_features
from et_vm.runtime import Runtime
from support.accuracy import assert_accurate, largest, truth_of
from support.selection import TURN

SETS = [name for name, one in INSTRUCTION_SETS.items() if cpu_features().issuperset(one.cpu_flags)]


def sets(among: Sequence[str] = SETS) -> Sequence[str]:
    """The instruction sets that a test runs on: all, in a quick run one, which depends on the test and the commit."""
    if TURN not in os.environ or not among:
        return among
    test = os.environ["PYTEST_CURRENT_TEST"].partition(" ")[0]
    return [among[(crc32(test.encode()) + int(os.environ[TURN])) % len(among)]]


WINOGRAD_GROWTH = {"winograd_2": 1.7, "winograd_4": 10.8}
"""The rms size of the terms of a result beside that of a convolution's, with independent random filters and pixels.

It is `sum(A² (G² 1) * (B² 1)) / 3` on average over the rows of `A`, where `A`, `G` and `B` transform products, filters
and pixels (Lavin and Gray, "Fast algorithms for convolutional neural networks", 2016), squared element by element: the
mean square in one dimension, and its root in two.
"""


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
    exact: bool = False,
    terms: int | None = None,
    growth: float = 1.0,
    **options: Any,
) -> None:
    """What the module computes in f64, within the error of f32, or if `exact`, each bit of what torch computes.

    NaN and infinities are in torch's places. `terms` is less than a sum has where it is computed in blocks, and
    `growth` the rms size of the terms that an algorithm adds beside that of the definition's.
    """
    module = as_module(function)
    truth = None if exact else truth_of(module, *arguments)
    is_real = truth is not None and truth.values[0].is_floating_point()
    scale = growth * largest(truth.values[0]) if truth is not None and is_real else None
    with torch.no_grad():
        expected = module(*arguments)
    program = torch.export.export(module, arguments)
    for name in sets():
        file = lowered(program, name, **options)
        for threads in (1, 2):
            found = run(file, arguments, threads)
            assert found.shape == expected.shape
            if truth is None:
                np.testing.assert_array_equal(found, expected.numpy(), err_msg=f"{name}, {threads}")
            else:
                assert_accurate(found, truth, terms, scale=scale, what=f"{name}, {threads}")
