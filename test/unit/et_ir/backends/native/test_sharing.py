"""What threads share of a product: blocks of rows where there are many, else tiles of the result."""

from __future__ import annotations

import pytest
import torch
from native_modules import check, compiled
from torch import nn
from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp

from et_ir.codegen.object_code import InstructionSet
from et_ir.codegen.pipeline import observed


def shared(module: nn.Module, *arguments: torch.Tensor) -> int:
    """The largest step of the parallel loops of a module."""
    steps: list[int] = []

    def listen(level: str, target: InstructionSet, code: ModuleOp) -> None:
        for op in code.walk() if level == "loops" else ():
            if isinstance(op, scf.ParallelOp):
                value = op.step[0].owner.value  # type: ignore[union-attr]
                assert isinstance(value, IntegerAttr)
                steps.append(value.value.data)

    with observed(listen):
        compiled(module, arguments, "x86-64-v3")
    return max(steps)


@pytest.mark.parametrize("size", [14, 40])
def test_convolutions_of_points(size: int) -> None:
    """As products of pixels by channels: in blocks, as their rows of the image are to stay in a cache."""
    assert shared(nn.Conv2d(8, 24, 1).eval(), torch.ones(1, 8, size, size)) > 90


@pytest.mark.parametrize("rows", [7, 50, 64, 191])
@pytest.mark.parametrize("columns", [8, 16, 40, 104, 160])
def test_few_rows(rows: int, columns: int) -> None:
    """Tiles of rows, and of columns that are a whole group, panels, or less than one."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(24, columns), nn.ReLU()).eval()
    assert shared(module, torch.randn(rows, 24)) < 90
    check(module, torch.randn(rows, 24))
