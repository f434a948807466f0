"""Overloads of a number in the place of a tensor, which the dialect has as the operator of tensors."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from et_ir import ExecutorchBackendConfig, to_edge
from et_vm.runtime import Runtime

FUNCTIONS = [
    "zeta",
    *(f"chebyshev_polynomial_{kind}" for kind in "tuvw"),
    *(f"shifted_chebyshev_polynomial_{kind}" for kind in "tuvw"),
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
]


class Numbers(nn.Module):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor, n: Tensor) -> tuple[Tensor, ...]:
        return self.function(x, 3), self.function(2.5, x), self.function(n, 2.5), self.function(1.5, n)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_of_numbers(name: str) -> None:
    module = Numbers(getattr(torch.special, name))
    inputs = (torch.rand(3, 4, generator=torch.Generator().manual_seed(0)) + 1.5, torch.arange(2, 6))
    edge = to_edge(torch.export.export(module, inputs))
    file = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    found = Runtime.get().load_program(file).load_method("forward").execute(list(inputs))
    for each, expected in zip(found, module(*inputs), strict=True):
        assert each.dtype == expected.dtype
        torch.testing.assert_close(each, expected, rtol=2e-5, atol=1e-5)
