"""Constants that programs write: their values last from one call to the next."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from xdsl.dialects.builtin import ModuleOp

from et_ir import ExecutorchBackendConfig, to_edge
from et_ir.dialects.program import BufferOp, ConstantOp
from et_ir.frontend import import_program
from et_vm.runtime import Runtime


class Held(nn.Module):
    """A module with tensors in a list, which is no attribute that torch knows of."""

    def __init__(
        self, function: Callable[[list[Tensor], Tensor], Tensor], *, registered: bool = False
    ) -> None:
        super().__init__()
        self.function = function
        self.held = [torch.zeros(2, 3), torch.full((3,), 2.0)]
        if registered:
            self.register_buffer("cache", self.held[0], persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.function(self.held, x)


def _write(held: list[Tensor], x: Tensor) -> Tensor:
    held[0].add_(x)
    return held[0] * 2


def _write_a_row(held: list[Tensor], x: Tensor) -> Tensor:
    held[0][1].copy_(held[0][1] + x[0])
    return held[0] + 1


def _write_both(held: list[Tensor], x: Tensor) -> Tensor:
    held[1].add_(x[0])  # torch executes what is computed of constants alone when it exports
    held[0].index_copy_(0, torch.tensor([1]), x[:1] + held[1])
    return held[0].clone()


def _branch(held: list[Tensor], x: Tensor) -> Tensor:
    held[0].add_(torch.where(x.sum() > 0, x, -x))
    return held[0] + held[1]


FUNCTIONS = [_write, _write_a_row, _write_both, _branch]


def symbols(module: ModuleOp) -> dict[str, bool]:
    """The buffers and constants of a program, and whether they are mutable."""
    return {
        op.key: isinstance(op, BufferOp) and op.mutable is not None
        for op in module.body.block.ops
        if isinstance(op, BufferOp | ConstantOp)
    }


@pytest.mark.parametrize("registered", [False, True])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_values_last(function: Callable[[list[Tensor], Tensor], Tensor], registered: bool) -> None:
    module = Held(function, registered=registered)
    x = torch.randn(2, 3)
    exported = torch.export.export(copy.deepcopy(module), (x,))
    file = to_edge(exported).to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    method = Runtime().load_program(file, poison=True).load_method("forward")
    with torch.no_grad():
        for step in (x, x - 1, torch.randn(2, 3)):
            np.testing.assert_allclose(method.execute([step])[0], module(step), rtol=1e-6)


def test_a_registered_tensor_is_one_buffer() -> None:
    module = import_program(torch.export.export(Held(_write, registered=True), (torch.randn(2, 3),)))
    assert symbols(module) == {"cache": True}


def test_constants_that_are_read_stay_constants() -> None:
    def read(held: list[Tensor], x: Tensor) -> Tensor:
        return (x + held[0]).relu_() + torch.tensor([1.0, 2.0, 3.0]).add_(held[1])

    module = import_program(torch.export.export(Held(read), (torch.randn(2, 3),)))
    assert not any(symbols(module).values())
