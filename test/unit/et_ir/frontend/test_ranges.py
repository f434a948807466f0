"""Sizes and numbers known at run time only carry the range that export knows of them."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

from et_ir.frontend import import_program


class Calls(nn.Module):
    """A module that calls a function."""

    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        self.function = function

    def forward(self, *args: Tensor) -> Any:
        return self.function(*args)


def ranges(function: Callable[..., Any], *args: Tensor, **options: Any) -> list[str]:
    """The ranges in a program, in their order, without the names of the values."""
    module = import_program(torch.export.export(Calls(function), args, **options))
    module.verify()
    lines = [line.strip() for line in str(module).splitlines() if "program.range" in line]
    return [" ".join(line.split()[2:]) for line in lines]


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
        (torch.bincount, (torch.tensor([1, 2, 2]),), []),
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
    assert ranges(torch.relu, torch.ones(4, 3), dynamic_shapes=(({0: 2 * rows},),)) == ["from 4 to 16"]
    assert ranges(torch.relu, X, dynamic_shapes=(({0: Dim("rows")},),)) == []
