"""Sizes known at run time only have the expressions of export, and their symbols its ranges."""

import re
from collections.abc import Callable
from typing import Any, cast

import pytest
import torch
from support.programs import Calls
from torch import Tensor
from torch.export import Dim
from xdsl.context import Context
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from et_ir.dialects.program import RangeOp
from et_ir.dialects.schema.tensors import sizes_of
from et_ir.frontend import import_program
from et_ir.passes.verify.verify_aten import VerifyAtenPass


def ranges(function: Callable[..., Any], *args: Tensor, **options: Any) -> list[str]:
    """The ranges of a program's symbols, in their order, without the symbols' names."""
    found = method(function, *args, **options).attributes.get("program.ranges")
    if found is None:
        return []
    return [entry.partition(" ")[2] for entry in str(found).partition("<")[2].removesuffix(">").split(", ")]


def method(function: Callable[..., Any], *args: Tensor, **options: Any) -> FuncOp:
    module = import_program(torch.export.export(Calls(function), args, **options))
    module.verify()
    VerifyAtenPass().apply(Context(), module)
    (found,) = (op for op in module.body.block.ops if isinstance(op, FuncOp))
    return found


def sizes(function: Callable[..., Any], *args: Tensor, **options: Any) -> list[str]:
    """The sizes of the results of a program's method, with the number of the program's only symbol left out."""
    types = method(function, *args, **options).function_type.outputs
    return [
        ", ".join(re.sub(r"\bs\d+", "s", str(size)) for size in sizes_of(cast("TensorType[Attribute]", type)))
        for type in types
    ]


def repeated(x: Tensor, repeats: Tensor) -> Tensor:
    y = torch.repeat_interleave(x, repeats, dim=0)
    torch._check(y.shape[0] <= 10)
    return y


def shortened(x: Tensor, n: Tensor) -> Tensor:
    length = n.item()
    torch._check(length >= 1)
    torch._check(length <= 4)
    return torch.narrow(x, 1, 0, length)


X = torch.tensor([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])


@pytest.mark.parametrize(
    ("function", "args", "expected"),
    [
        (torch.nonzero, (X,), ["from 0 to 6"]),
        (lambda x: torch.nonzero(x, as_tuple=True), (X,), ["from 0 to 6"]),
        (lambda x: torch.unique(x, return_counts=True), (X,), ["from 0 to 6"]),
        (lambda x: x[x[:, 0] > 0], (X,), ["from 0 to 2"]),
        (repeated, (X, torch.tensor([1, 3])), ["from 0 to 10"]),
        (shortened, (torch.ones(2, 4), torch.tensor(2)), ["from 1 to 4"]),
        (torch.bincount, (torch.tensor([1, 2, 2]),), ["from 0"]),
        (torch.relu, (X,), []),
    ],
)
def test_what_operators_and_checks_state(
    function: Callable[..., Any], args: tuple[Tensor, ...], expected: list[str]
):
    assert ranges(function, *args) == expected


def test_what_the_user_states_of_inputs():
    rows = Dim("rows", min=2, max=8)
    assert ranges(torch.relu, X, dynamic_shapes=(({0: rows},),)) == ["from 2 to 8"]
    assert ranges(torch.relu, torch.ones(4, 3), dynamic_shapes=(({0: 2 * rows},),)) == ["from 2 to 8"]
    assert ranges(torch.relu, X, dynamic_shapes=(({0: Dim("rows")},),)) == ["from 0"]


@pytest.mark.parametrize(("least", "most"), [(1, 4), (-7, 4), (None, 4), (None, None)])
def test_a_number_that_no_type_has(least: int | None, most: int | None):
    def counted(x: Tensor, n: Tensor) -> Tensor:
        length = n.item()
        if least is not None:
            torch._check(length >= least)
        if most is not None:
            torch._check(length <= most)
        return x * length

    found = method(counted, X, torch.tensor(2))
    stated = [] if most is None else [(least, most)]
    assert [(op.least, op.most) for op in found.walk() if isinstance(op, RangeOp)] == stated


def with_a_row(x: Tensor) -> Tensor:
    return torch.cat([x, x, x.new_zeros(1, 3)])


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (with_a_row, ["2*s + 1, 3"]),
        (lambda x: x.flatten(), ["3*s"]),
        (lambda x: (x[::2], x[1:]), ["(s + 1) floordiv 2, 3", "s - 1, 3"]),
        (lambda x: x @ x.T, ["s, s"]),
        (lambda x: (x.reshape(-1, 1) * x.reshape(-1)).flatten(), ["9*s*s"]),
        (lambda x: x[: x.shape[0] // 2].T, ["3, s floordiv 2"]),
    ],
)
def test_sizes_keep_their_expressions(function: Callable[..., Any], expected: list[str]):
    rows = Dim("rows", min=4, max=8)
    assert sizes(function, torch.ones(4, 3), dynamic_shapes=(({0: rows},),)) == expected
