"""Sharing of products by threads: rows where there are many, else tiles of the result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from native_modules import SETS, check, compiled, lowered, run
from support.accuracy import assert_accurate, in_double
from torch import nn
from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from et_backends.codegen.dialect import PartOp
from et_backends.codegen.loop_builder import LoopBuilder
from et_backends.codegen.object_code import InstructionSet
from et_backends.codegen.pipeline import observed


def loops(module: nn.Module, *arguments: torch.Tensor, dynamic_shapes: Any = None) -> list[Operation]:
    """The ops of a module as loops."""
    found: list[Operation] = []

    def listen(level: str, target: InstructionSet, code: ModuleOp) -> None:
        if level == "loops":
            found.extend(code.clone().walk())

    with observed(listen):
        lowered(torch.export.export(module, arguments, dynamic_shapes=dynamic_shapes), "x86-64-v3")
    return found


def number(value: SSAValue) -> int:
    """A constant."""
    found = value.owner.value  # type: ignore[union-attr]
    assert isinstance(found, IntegerAttr)
    return found.value.data


@pytest.mark.parametrize("size", [14, 40])
def test_convolutions_of_points(size: int) -> None:
    """As products of pixels by channels: in blocks, as their rows of the image are to stay in a cache."""
    ops = loops(nn.Conv2d(8, 24, 1).eval(), torch.ones(1, 8, size, size))
    assert any(isinstance(op, PartOp) for op in ops)
    assert max(number(op.step) for op in ops if isinstance(op, scf.ForOp)) > 90


@pytest.mark.parametrize("rows", [192, 256, 500])
def test_many_rows(rows: int) -> None:
    """Threads share tiles of six rows, not blocks of 96, of which one might have a whole one more than another."""
    block = Block(arg_types=[])
    with LoopBuilder(block).parallel_ranges(rows, 6, 96):
        pass
    (part,) = (op for op in block.ops if isinstance(op, PartOp))
    (loop,) = (op for op in block.ops if isinstance(op, scf.ForOp))
    assert (number(part.count), number(loop.step)) == (-(-rows // 6), 96)


@pytest.mark.parametrize("inner", [20, 300])
def test_products_of_many_rows(inner: int) -> None:
    """With rows that are left after whole tiles, and a shared dimension in one and in several blocks."""
    torch.manual_seed(0)
    module, x = nn.Linear(inner, 40).eval(), torch.randn(211, inner)
    check(module, x)
    file = compiled(module, (x,), SETS[0])
    one = run(file, (x,))
    for threads in (3, 5, 50):
        np.testing.assert_array_equal(run(file, (x,), threads), one)


@pytest.mark.parametrize("instruction_set", SETS)
@pytest.mark.parametrize("inner", [20, 300, 700])
def test_number_of_rows_known_at_run_time(inner: int, instruction_set: str) -> None:
    """Less than a block of rows is shared by columns; more by rows, with tiles of several heights at the end."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(inner, 40), nn.ReLU()).eval()
    size = torch.export.Dim("rows", min=1, max=300)
    program = torch.export.export(module, (torch.randn(100, inner),), dynamic_shapes=({0: size},))
    file = lowered(program, instruction_set)
    for rows in (1, 5, 11, 12, 95, 96, 97, 111, 191, 211, 300):
        x = torch.randn(rows, inner)
        one = run(file, (x,))
        assert_accurate(one, in_double(module, x))
        for threads in (2, 3, 50):
            np.testing.assert_array_equal(run(file, (x,), threads), one)


@pytest.mark.parametrize("inner", [20, 300])
def test_parts_of_few_rows(inner: int) -> None:
    """Where the number of rows is known at run time, threads have a part of the rows, or one of the columns."""
    size = torch.export.Dim("rows", min=1, max=300)
    ops = loops(nn.Linear(inner, 80).eval(), torch.randn(100, inner), dynamic_shapes=({0: size},))
    parts = [op for op in ops if isinstance(op, PartOp)]
    chosen = [[use.operation for use in part.first.uses] for part in parts]
    assert [[op.name for op in one] for one in chosen] == [["arith.select"], ["arith.select"]]


@pytest.mark.parametrize("rows", [7, 50, 64, 191])
@pytest.mark.parametrize("columns", [8, 16, 40, 104, 160])
def test_few_rows(rows: int, columns: int) -> None:
    """Tiles of rows, and of columns that are a whole group, panels, or less than one."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(24, columns), nn.ReLU()).eval()
    ops = loops(module, torch.randn(rows, 24))
    assert max(number(op.step[0]) for op in ops if isinstance(op, scf.ParallelOp)) < 90
    check(module, torch.randn(rows, 24))
