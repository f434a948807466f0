"""Programs that write their inputs, in part or through views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import torch
from torch import nn

__all__ = ["PROGRAMS", "program"]


def first_row(x: torch.Tensor) -> Any:
    x[0] += 1
    return x.sum()


def flat_and_row(x: torch.Tensor) -> Any:
    flat, row = x.view(-1), x[1]
    flat[0] = 100
    row += 1
    return x * 1


def one_of_a_split(x: torch.Tensor) -> Any:
    first, second = x.split([1, 1])
    first.mul_(2)
    return second + 1


def rows_of_another_shape(x: torch.Tensor) -> Any:
    y = x.view(3, 2)
    y[0].add_(1)
    y[:, 1].mul_(2)
    x[1].neg_()
    return y.sum(0), x[0]


def column(x: torch.Tensor) -> Any:
    transposed = x.t()
    transposed[0] += 1
    return transposed.reshape(-1)


def columns_by_each_other(x: torch.Tensor) -> Any:
    first, second, third = x.unbind(1)
    first += second
    third.copy_(first)
    return x


def range_across_rows(x: torch.Tensor) -> Any:
    x.view(-1)[1:4].zero_()
    return x[1:], x[:1]


def row_by_another(x: torch.Tensor) -> Any:
    x[:1] = x[1:]
    return x[0]


def all_of_it(x: torch.Tensor) -> Any:
    x.clamp_(max=2)
    return x[0].clone()


def nothing(x: torch.Tensor) -> Any:
    """Reads the leading part and another one."""
    return x[0] * 2 + x[1]


def bits(x: torch.Tensor) -> Any:
    """Writes the input as integers."""
    shown = x.view(torch.int32)
    shown[0].add_(1)
    return x * 2, shown


PROGRAMS: Final[dict[str, Callable[[torch.Tensor], Any]]] = {
    one.__name__.replace("_", " "): one
    for one in (
        first_row,
        flat_and_row,
        one_of_a_split,
        rows_of_another_shape,
        column,
        columns_by_each_other,
        range_across_rows,
        row_by_another,
        all_of_it,
        nothing,
        bits,
    )
}


class _Function(nn.Module):
    def __init__(self, function: Callable[[torch.Tensor], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(x)


def program(name: str) -> tuple[nn.Module, list[tuple[torch.Tensor]]]:
    """The module of this name, and the inputs of two executions."""
    inputs = torch.arange(6.0).view(2, 3)
    return _Function(PROGRAMS[name]), [(inputs,), (inputs - 5,)]
