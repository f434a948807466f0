"""Which kernels are one function: those with the same code, whatever their sizes and the names of values."""

from __future__ import annotations

import torch
from support.native_modules import compiled
from torch import Tensor, nn
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from et_backends.codegen.object_code import InstructionSet
from et_backends.codegen.pipeline import observed


class Factors(nn.Module):
    """A product of matrices that each have been multiplied by a number, by a kernel of its own."""

    def __init__(self, left: float, right: float) -> None:
        super().__init__()
        self.left, self.right = left, right

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return (x * self.left) @ (y * self.right)


def kernels(left: float, right: float) -> list[str]:
    """The functions of pointwise kernels in the code of a product with factors."""
    names: list[str] = []

    def listen(level: str, target: InstructionSet, code: ModuleOp) -> None:
        if level == "loops":
            functions = [op for op in code.body.block.ops if isinstance(op, FuncOp)]
            names.extend(op.sym_name.data for op in functions if op.sym_name.data.startswith("pointwise"))

    with observed(listen):
        compiled(Factors(left, right), (torch.ones(5, 40), torch.ones(40, 70)), "x86-64-v3")
    return names


def test_the_same_code_of_other_sizes_is_shared() -> None:
    assert kernels(3.0, 3.0) == ["pointwise_0"]


def test_other_constants_are_other_code() -> None:
    assert kernels(3.0, 5.0) == ["pointwise_0", "pointwise_1"]


def test_zeros_of_both_signs_are_other_code() -> None:
    """They are equal as numbers, and are not the same code."""
    assert kernels(0.0, -0.0) == ["pointwise_0", "pointwise_1"]
