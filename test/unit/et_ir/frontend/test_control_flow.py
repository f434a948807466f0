"""Control flow of torch as ops with regions."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch._higher_order_ops.map import map as map_
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from et_ir.dialects.control import CondOp, MapOp, ScanOp, WhileOp
from et_ir.dialects.program import GetOp, LiteralOp
from et_ir.frontend.importer import import_program
from et_ir.frontend.unsupported import UnsupportedProgram
from et_ir.locations import source_line
from et_ir.verification import verify_module

X = torch.arange(12.0).reshape(3, 4)


class Function(nn.Module):
    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs)


def imported(
    module: nn.Module | Callable[..., Any], *inputs: Any, strict: bool = False, dynamic: Any = None
) -> ModuleOp:
    with warnings.catch_warnings(action="ignore"):
        program = torch.export.export(
            module if isinstance(module, nn.Module) else Function(module),
            inputs,
            strict=strict,
            dynamic_shapes=dynamic,
        )
    found = import_program(program)
    verify_module(found)
    return found


def only(module: ModuleOp, cls: type[Operation]) -> Any:
    (found,) = [op for op in module.walk() if isinstance(op, cls)]
    return found


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Any:
        return torch.cond(x.sum() > 0, lambda x: self.linear(x), lambda x: x + 1, (x,))


def test_branches_use_what_is_around_them():
    op = only(imported(Layer(), X), CondOp)
    assert len(op.operands) == 1
    assert [type(inner).name for inner in op.then_region.block.ops] == ["aten.linear", "control.yield"]
    (added,) = [inner for inner in op.else_region.block.ops if inner.name == "aten.add.Tensor"]
    assert added.operands[0] is op.parent_block().args[0]


def test_weights_are_read_outside_of_branches():
    module = imported(Layer(), X)
    assert {type(op.parent_op()).name for op in module.walk() if isinstance(op, GetOp)} == {"func.func"}


@pytest.mark.parametrize("strict", [False, True])
def test_what_is_in_a_branch_has_a_line_of_the_user(strict: bool):
    op = only(imported(Layer(), X, strict=strict), CondOp)
    for region in op.regions:
        assert "test_control_flow.py" in source_line(region.block.first_op.location)


def test_a_counter_that_is_a_number():
    def count(x: Tensor) -> Any:
        return while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, x * 2), (0, x))

    op = only(imported(count, X), WhileOp)
    assert isinstance(op.inits[0].owner, LiteralOp)
    assert [str(output.type) for output in op.outputs] == ["i64", "tensor<3x4xf32>"]
    assert [type(inner).name for inner in op.condition.block.ops] == [
        "program.literal",
        "program.compute",
        "control.yield",
    ]


def test_one_graph_for_two_calls():
    def branch(x: Tensor) -> Tensor:
        return x * torch.tensor([1.0, 2.0, 3.0, 4.0])

    def twice(x: Tensor) -> Any:
        a = torch.cond(x.sum() > 0, branch, lambda x: x + 1, (x,))
        return torch.cond(a.sum() > 0, branch, lambda x: x - 1, (a,))

    verify_module(imported(twice, X))


def test_sizes_that_branches_see_have_their_ranges_stated_around_them():
    def loop_and_branch(x: Tensor) -> Any:
        _, y = while_loop(
            lambda i, y: i < 2, lambda i, y: (i + 1, y * 2), (torch.zeros((), dtype=torch.int64), x)
        )
        return torch.cond(x.sum() > 0, lambda y: y + 1, lambda y: y - 1, (y,))

    rows = torch.export.Dim("rows", min=1, max=9)
    module = imported(loop_and_branch, X, dynamic=(({0: rows},),))
    there = set(module.walk())
    for op in there:
        assert {use.operation for result in op.results for use in result.uses} <= there


def test_map_and_scan_take_slices():
    op = only(imported(lambda xs, y: map_(lambda x, y: x + y, xs, y), X, torch.ones(4)), MapOp)
    assert [str(argument.type) for argument in op.body.block.args] == ["tensor<4xf32>"]
    op = only(imported(lambda h, xs: scan(lambda h, x: (h + x, h.sum()), h, xs), torch.ones(4), X), ScanOp)
    assert [str(argument.type) for argument in op.body.block.args] == ["tensor<4xf32>", "tensor<4xf32>"]
    assert [str(output.type) for output in op.stacked] == ["tensor<3xf32>"]


def test_what_a_branch_cannot_do_is_reported_with_what_else_is_wrong():
    def refused(x: Tensor) -> Any:
        return torch.cond(x.sum() > 0, lambda x: x.to(torch.complex32).real + 1, lambda x: x.half(), (x,))

    with pytest.raises(UnsupportedProgram) as caught:
        imported(refused, X)
    assert [reason.subject for reason in caught.value.diagnostics] == ["aten.to.dtype"]
    assert "test_control_flow.py" in caught.value.diagnostics[0].at.source
    assert "<eval_with_key>" not in str(caught.value)
