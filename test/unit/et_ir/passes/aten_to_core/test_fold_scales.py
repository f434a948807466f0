"""Factors and sums in front of which there is a layer compute what eager computes, whatever the number."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from support.aten_interpreter import Interpreter
from support.modules import run
from torch import Tensor, nn

from et_ir.frontend import import_program


class Scaled(nn.Module):
    def __init__(self, scaled: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.layer = nn.Conv2d(2, 3, 1)
        self.scaled = scaled

    def forward(self, x: Tensor) -> Tensor:
        return self.scaled(self.layer(x))


@pytest.mark.parametrize("number", [0.0, -0.0, 2.5, -1e-30])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
def test_numbers(name: str, number: float) -> None:
    torch.manual_seed(0)
    model, x = Scaled(lambda y: getattr(torch, name)(y, number)).eval(), torch.randn(1, 2, 4, 4)
    module = import_program(torch.export.export(model, (x,)))
    run(module, "decompose,decompose-traced,fold-scales,dce")
    divides_by_nothing = name == "div" and number == 0
    assert any(op.name.startswith(f"aten.{name}") for op in module.walk()) == divides_by_nothing
    (found,) = Interpreter(module).run(x)
    torch.testing.assert_close(found, model(x), equal_nan=True)
